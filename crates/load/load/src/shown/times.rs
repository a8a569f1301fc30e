//! Wait, service and response times as a table of percentiles.

use crate::console::human;
use crate::recorded::confidence::{Batched, Confidence};
use crate::recorded::percentiles;
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

/// The percentiles of a table.
pub(crate) const POINTS: [(&str, f64); 6] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999), ("max", 1.0)];

/// What a text shows before a lower bound, and where there is no time.
pub(crate) const AT_LEAST: &str = ">=";
pub(crate) const NONE: &str = "-";

/// What the brackets are.
const NOTE: &str = "(in brackets: 95 % confidence intervals; ~: too few requests to be sure)";

/// What a text shows before a time that too few requests tell.
const ABOUT: &str = "~";

/// Shows the three side by side; service and response times with their intervals.
#[derive(Debug)]
pub(crate) struct TimesTable<'run>(pub(crate) Confidence<'run>);

/// A time, and the interval in which it lies, if that is known.
#[derive(Debug, Default)]
pub(crate) struct Cell {
    pub(crate) time: String,
    pub(crate) range: String,
}

impl Cell {
    fn new(time: Option<String>) -> Cell {
        Cell { time: time.unwrap_or_else(|| NONE.to_owned()), range: String::new() }
    }

    /// A percentile, with `sign` before it if it is a lower bound.
    pub(crate) fn percentile(times: &Batched<'_>, quantile: f64, sign: &str) -> Cell {
        let exact = Cell::new(times.sample.shown(quantile, sign));
        let Some(range) = times.range(quantile) else { return exact };
        let show = if range.is_rough { human::rough_time } else { human::time };
        let [low, high] = [Some(range.low), range.high].map(|ns| ns.map(Duration::from_nanos));
        let about = match () {
            () if times.sample.is_at_least(quantile) => sign,
            () if range.is_rough => ABOUT,
            () => "",
        };
        let time = about.to_owned() + &show(percentiles::at(times.sample.times, quantile));
        Cell { time, range: human::range(low.unwrap_or_default(), high, show) }
    }
}

impl Display for TimesTable<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let columns = [self.0.wait(), self.0.service(), self.0.response()];
        let percentile =
            |quantile| columns.each_ref().map(|times| Cell::percentile(times, quantile, AT_LEAST));
        let percentiles = POINTS.map(|(name, quantile)| (name, percentile(quantile)));
        let width = percentiles.iter().map(|(_, [_, cell, _])| cell.range.len()).max().unwrap_or(0);
        let row = |f: &mut Formatter<'_>, name: &str, [wait, service, response]: [Cell; 3]| {
            let service = format!("{:>12} {:<width$}", service.time, service.range);
            let response = format!("{:>12} {}", response.time, response.range);
            let line = format!("{name:<8}{:>10} {service}{response}", wait.time);
            writeln!(f, "{}", line.trim_end())
        };
        let titles = |titles: [&str; 3]| titles.map(|title| Cell::new(Some(title.to_owned())));
        let samples = columns.each_ref().map(|times| times.sample);
        writeln!(f)?;
        row(f, "", titles(["wait", "service", "response"]))?;
        row(f, "", titles(["", "uncorrected", "corrected"]))?;
        row(f, "count", samples.map(|sample| Cell::new(Some(sample.times.len().to_string()))))?;
        let at_least = self.0.response().sample.at_least();
        if at_least > 0 {
            row(f, "at least", titles(["", "", &at_least.to_string()]))?;
        }
        row(f, "mean", samples.map(|sample| Cell::new(sample.shown_mean(AT_LEAST))))?;
        percentiles.into_iter().try_for_each(|(name, cells)| row(f, name, cells))?;
        if width > 0 { writeln!(f, "{NOTE}") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorded::over_time::OverTime;
    use crate::recorded::stats::OperationStats;
    use crate::shown::fixture::long;

    #[test]
    fn what_is_a_lower_bound_or_was_not_measured_is_not_shown_as_a_time() {
        let mut stats = OperationStats::new();
        for times in [&mut stats.wait, &mut stats.response, &mut stats.bounds] {
            times.record_n(6_000_000, 4).unwrap();
        }
        let shown = TimesTable(Confidence::new(&stats, &OverTime::new())).to_string();
        assert!(shown.contains("max         6.00ms            -     >=6.00ms\n"), "{shown}");
        assert!(shown.contains("mean        6.00ms            -     >=6.00ms\n"), "{shown}");
        assert!(shown.contains("at least                                   4\n"), "{shown}");
    }

    #[test]
    fn a_percentile_has_its_interval_and_a_rough_one_fewer_digits() {
        let summary = long(40, 500);
        let shown = TimesTable(Confidence::new(&summary.stats, &summary.over_time)).to_string();
        let line = |name: &str| shown.lines().find(|line| line.starts_with(name)).unwrap();
        assert!(line("p50").ends_with("ms)"), "{shown}");
        assert!(line("p99.99").contains(" or more)"), "{shown}");
        assert!(line("p99.99").contains('~'), "{shown}");
        assert!(!line("max").contains('('), "{shown}");
        assert!(shown.ends_with(")\n") && !shown.contains(" \n"), "{shown}");
    }
}
