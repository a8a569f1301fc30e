//! Wait, service and response times as a table of percentiles.

use crate::recorded::percentiles::Sample;
use std::fmt::{self, Display, Formatter};

/// The percentiles of a table.
pub(crate) const POINTS: [(&str, f64); 6] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999), ("max", 1.0)];

/// What a text shows before a lower bound, and where there is no time.
pub(crate) const AT_LEAST: &str = ">=";
pub(crate) const NONE: &str = "-";

/// Shows the three side by side.
#[derive(Debug)]
pub(crate) struct TimesTable<'run> {
    pub(crate) wait: Sample<'run>,
    pub(crate) service: Sample<'run>,
    pub(crate) response: Sample<'run>,
}

impl Display for TimesTable<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let columns = [self.wait, self.service, self.response];
        writeln!(f, "\n{:>18} {:>12} {:>12}", "wait", "service", "response")?;
        writeln!(f, "{:>18} {:>12} {:>12}", "", "uncorrected", "corrected")?;
        row(f, "count", columns.map(|sample| Some(sample.times.len().to_string())))?;
        let at_least = self.response.at_least();
        if at_least > 0 {
            row(f, "at least", ["", "", &at_least.to_string()].map(|cell| Some(cell.to_owned())))?;
        }
        row(f, "mean", columns.map(|sample| sample.shown_mean(AT_LEAST)))?;
        for (name, quantile) in POINTS {
            row(f, name, columns.map(|sample| sample.shown(quantile, AT_LEAST)))?;
        }
        Ok(())
    }
}

fn row(f: &mut Formatter<'_>, name: &str, cells: [Option<String>; 3]) -> fmt::Result {
    let [wait, service, response] = cells.map(|cell| cell.unwrap_or_else(|| NONE.to_owned()));
    writeln!(f, "{name:<8}{wait:>10} {service:>12} {response:>12}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;

    #[test]
    fn what_is_a_lower_bound_or_was_not_measured_is_not_shown_as_a_time() {
        let mut response = Histogram::new(3).unwrap();
        response.record_n(6_000_000, 4).unwrap();
        let none = Histogram::new(3).unwrap();
        let [wait, service] = [Sample::exact(&response), Sample::exact(&none)];
        let table = TimesTable { wait, service, response: Sample::bounded(&response, &response) };
        let shown = table.to_string();
        assert!(shown.contains("max         6.00ms            -     >=6.00ms\n"), "{shown}");
        assert!(shown.contains("mean        6.00ms            -     >=6.00ms\n"), "{shown}");
        assert!(shown.contains("at least                                   4\n"), "{shown}");
    }
}
