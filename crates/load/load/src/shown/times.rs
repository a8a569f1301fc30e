//! Writes a brief table of percentiles, and one with confidence intervals.

use crate::console::human::{self, float};
use crate::judged::criteria::Required;
use crate::judged::summary::Summary;
use crate::load::own_times::{OwnTimes, timed};
use crate::results::confidence::{Batched, Confidence};
use crate::results::percentiles::{self, Sample};
use crate::results::stats::OperationStats;
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

pub(crate) const POINTS: [(&str, f64); 6] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999), ("max", 1.0)];

pub(crate) const AT_LEAST: &str = ">=";
pub(crate) const NONE: &str = "-";

const NOTE: &str =
    "(in brackets: 95 % confidence intervals; ~: too few requests for a reliable interval)";

/// The sign that precedes a percentile whose confidence interval is not reliable, because there are too few requests.
const ABOUT: &str = "~";

/// The number of recorded times that must be above a percentile. With fewer times, the percentile depends on chance.
const LONGER: f64 = 5.0;

/// A brief table of percentiles. Percentiles between the p50 and the maximum for which too few times were recorded are
/// left out, or marked if a requirement names them.
#[derive(Debug)]
pub(crate) struct BriefTable<'run> {
    pub(crate) stats: &'run OperationStats,
    pub(crate) own_times: &'run [OwnTimes],
    pub(crate) required: &'run [Required],
    pub(crate) is_closed: bool,
}

impl BriefTable<'_> {
    pub(crate) fn new(summary: &Summary) -> BriefTable<'_> {
        let Summary { stats, own_times, required, is_closed, .. } = summary;
        BriefTable { stats, own_times, required, is_closed: *is_closed }
    }
}

impl Display for BriefTable<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let BriefTable { stats, own_times, required, is_closed } = *self;
        let service = ("service", Sample::exact(&stats.service));
        let three =
            [("wait", Sample::exact(&stats.wait)), service, ("response", stats.responses())];
        // In a closed loop, there are no wait times, and response times equal service times.
        let columns = if is_closed { &three[1..2] } else { &three[..] };
        let own = timed(own_times);
        let own = own.map(|own| (own.part.name(), Sample::exact(&own.times)));
        let columns: Vec<_> = columns.iter().copied().chain(own).collect();
        let widths: Vec<_> =
            columns.iter().map(|(name, _)| (name.chars().count() + 2).max(12)).collect();
        let row = |f: &mut Formatter<'_>, name: &str, cells: Vec<String>| {
            write!(f, "{name:<8}")?;
            let mut cells = cells.iter().zip(&widths);
            cells.try_for_each(|(cell, width)| write!(f, "{cell:>width$}"))?;
            writeln!(f)
        };
        writeln!(f)?;
        row(f, "", columns.iter().map(|(name, _)| (*name).to_owned()).collect())?;
        for (name, quantile) in POINTS {
            let is_carried = |sample: &Sample<'_>| is_carried(sample.times.len(), quantile);
            let is_named = required.iter().any(|required| required.names(name));
            if is_named || columns.iter().any(|(_, sample)| is_carried(sample)) {
                let cell = |(_, sample): &(&str, Sample<'_>)| {
                    let is_sure = is_carried(sample) || sample.is_at_least(quantile);
                    let about = if is_sure { "" } else { ABOUT };
                    let time = sample.shown(quantile, AT_LEAST);
                    let time = time.filter(|_| is_named || is_carried(sample));
                    time.map_or_else(|| NONE.to_owned(), |time| about.to_owned() + &time)
                };
                row(f, name, columns.iter().map(cell).collect())?;
            }
        }
        Ok(())
    }
}

fn is_carried(times: u64, quantile: f64) -> bool {
    [0.5, 1.0].contains(&quantile) || (float(times) * (1.0 - quantile)).round() >= LONGER
}

#[derive(Debug)]
pub(crate) struct TimesTable<'run> {
    pub(crate) confidence: Confidence<'run>,
    pub(crate) is_closed: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Cell {
    pub(crate) time: String,
    pub(crate) range: String,
}

impl Cell {
    fn new(time: Option<String>) -> Cell {
        Cell { time: time.unwrap_or_else(|| NONE.to_owned()), range: String::new() }
    }

    /// Formats a percentile and its confidence interval. If the percentile is only a lower bound, `sign` precedes it.
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
        let confidence = &self.confidence;
        let columns = [confidence.wait(), confidence.service(), confidence.response()];
        let percentile =
            |quantile| columns.each_ref().map(|times| Cell::percentile(times, quantile, AT_LEAST));
        let percentiles = POINTS.map(|(name, quantile)| (name, percentile(quantile)));
        let width = percentiles.iter().map(|(_, [_, cell, _])| cell.range.len()).max().unwrap_or(0);
        let row = |f: &mut Formatter<'_>, name: &str, [wait, service, response]: [Cell; 3]| {
            if self.is_closed {
                let line = format!("{name:<8}{:>10} {}", service.time, service.range);
                return writeln!(f, "{}", line.trim_end());
            }
            let service = format!("{:>12} {:<width$}", service.time, service.range);
            let response = format!("{:>12} {}", response.time, response.range);
            let line = format!("{name:<8}{:>10} {service}{response}", wait.time);
            writeln!(f, "{}", line.trim_end())
        };
        let titles = |titles: [&str; 3]| titles.map(|title| Cell::new(Some(title.to_owned())));
        let samples = columns.each_ref().map(|times| times.sample);
        writeln!(f)?;
        row(f, "", titles(["wait", "service", "response"]))?;
        if !self.is_closed {
            row(f, "", titles(["", "uncorrected", "corrected"]))?;
        }
        row(f, "count", samples.map(|sample| Cell::new(Some(sample.times.len().to_string()))))?;
        let at_least = confidence.response().sample.at_least();
        if at_least > 0 && !self.is_closed {
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
    use crate::results::over_time::OverTime;
    use crate::shown::fixture::{empty, long};

    #[test]
    fn lower_bounds_have_a_sign_and_missing_times_a_dash() {
        let mut stats = OperationStats::new();
        for times in [&mut stats.wait, &mut stats.response, &mut stats.bounds] {
            times.record_n(6_000_000, 4).unwrap();
        }
        let over_time = OverTime::new();
        let confidence = Confidence::new(&stats, &over_time);
        let shown = TimesTable { confidence, is_closed: false }.to_string();
        assert!(shown.contains("max         6.00ms            -     >=6.00ms\n"), "{shown}");
        assert!(shown.contains("mean        6.00ms            -     >=6.00ms\n"), "{shown}");
        assert!(shown.contains("at least                                   4\n"), "{shown}");
    }

    #[test]
    fn a_percentile_has_its_interval_and_a_rough_one_fewer_digits() {
        let summary = long(40, 500);
        let confidence = summary.confidence();
        let shown = TimesTable { confidence, is_closed: false }.to_string();
        let line = |name: &str| shown.lines().find(|line| line.starts_with(name)).unwrap();
        assert!(line("p50").ends_with("ms)"), "{shown}");
        assert!(line("p99.99").contains(" or more)"), "{shown}");
        assert!(line("p99.99").contains('~'), "{shown}");
        assert!(!line("max").contains('('), "{shown}");
        assert!(shown.ends_with(")\n") && !shown.contains(" \n"), "{shown}");
    }

    #[test]
    fn the_brief_table_is_as_deep_as_the_samples_carry() {
        for (requests, deepest) in [(1, "p50"), (50, "p90"), (499, "p99"), (5_000, "p99.9")] {
            let mut summary = empty();
            summary.stats.service.record_n(1_000_000, requests).unwrap();
            let shown = BriefTable::new(&summary).to_string();
            let names: Vec<_> = shown.lines().skip(2).map(|line| &line[..8]).collect();
            assert_eq!(names[names.len() - 2..], [format!("{deepest:8}"), format!("{:8}", "max")]);
        }
    }

    #[test]
    fn a_percentile_that_a_requirement_names_is_shown_with_its_sign() {
        let mut summary = empty();
        summary.stats.service.record_n(1_000_000, 200).unwrap();
        let text = "p99 service < 2ms".to_owned();
        summary.note(Required { text, value: "1.00ms".to_owned(), missed: None });
        let shown = BriefTable::new(&summary).to_string();
        assert!(shown.contains("\np99                -     ~1.00ms           -\n"), "{shown}");
        assert!(!shown.contains("p99.9"), "{shown}");
    }

    #[test]
    fn a_closed_loop_has_one_column() {
        let closed = Summary { is_closed: true, ..long(40, 500) };
        let brief = BriefTable::new(&closed).to_string();
        let all = TimesTable { confidence: closed.confidence(), is_closed: true }.to_string();
        for shown in [brief, all] {
            assert!(shown.contains("service"), "{shown}");
            for absent in ["wait", "response", "corrected", "at least", " \n"] {
                assert!(!shown.contains(absent), "{absent}: {shown}");
            }
        }
    }
}
