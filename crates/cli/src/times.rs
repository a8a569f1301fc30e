//! Wait, service and response times as a table of percentiles.

use crate::percentiles;
use hdrhistogram::Histogram;
use nanopace_console::human;
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

/// The percentiles of a table.
pub(crate) const POINTS: [(&str, f64); 6] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999), ("max", 1.0)];

/// Shows the three side by side.
#[derive(Debug)]
pub(crate) struct TimesTable<'run> {
    pub(crate) wait: &'run Histogram<u64>,
    pub(crate) service: &'run Histogram<u64>,
    pub(crate) response: &'run Histogram<u64>,
    /// How many of the response times are lower bounds.
    pub(crate) at_least: u64,
}

impl Display for TimesTable<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let columns = [self.wait, self.service, self.response];
        writeln!(f, "\n{:>18} {:>12} {:>12}", "wait", "service", "response")?;
        writeln!(f, "{:>18} {:>12} {:>12}", "", "uncorrected", "corrected")?;
        row(f, "count", columns.map(|times| times.len().to_string()))?;
        if self.at_least > 0 {
            row(f, "at least", ["", "", &self.at_least.to_string()].map(str::to_owned))?;
        }
        row(f, "mean", columns.map(mean))?;
        for (name, quantile) in POINTS {
            row(f, name, columns.map(|times| human::time(percentiles::at(times, quantile))))?;
        }
        Ok(())
    }
}

fn row(f: &mut Formatter<'_>, name: &str, [wait, service, response]: [String; 3]) -> fmt::Result {
    writeln!(f, "{name:<8}{wait:>10} {service:>12} {response:>12}")
}

fn mean(times: &Histogram<u64>) -> String {
    human::time(Duration::from_secs_f64(times.mean() * 1e-9))
}
