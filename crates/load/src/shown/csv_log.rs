//! The log in lines of values between commas: what happened, second by second.

use crate::console::LogFile;
use crate::recorded::over_time::{Backlog, Interval};
use crate::recorded::percentiles::at;
use crate::recorded::stats::OperationStats;
use anyhow::Context;
use hdrhistogram::Histogram;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

/// The first columns. Those of times follow, for each kind of time.
const COLUMNS: &str =
    "from_seconds,to_seconds,asked,started,completed,failed,backlog_slots,backlog_seconds";
const CANNOT_WRITE: &str = "cannot write --csv";
const POINTS: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0)];

/// A log being written, line by line: what is there is kept, however the run ends.
#[derive(Debug)]
pub(crate) struct CsvLog(LogFile);

/// What happened in a second. Moments are times since the start of the schedule.
#[derive(Debug)]
pub(crate) struct Second<'run> {
    pub(crate) from: Duration,
    pub(crate) to: Duration,
    /// Slots asked for.
    pub(crate) asked: f64,
    /// The backlog at its end.
    pub(crate) backlog: Backlog,
    pub(crate) stats: &'run OperationStats,
}

impl<'run> Second<'run> {
    /// What of it is not before `moment`.
    pub(crate) fn after(&self, moment: Duration) -> Second<'run> {
        Second { from: self.from.max(moment), ..*self }
    }
}

impl CsvLog {
    /// Opens the file, for which `-` is standard output.
    pub(crate) fn create(path: &Path) -> anyhow::Result<CsvLog> {
        LogFile::create(path).map(CsvLog)
    }

    /// Writes the names of the columns.
    pub(crate) fn begin(&mut self) -> anyhow::Result<()> {
        self.0.begin().context(CANNOT_WRITE)?;
        self.write_line(&head())
    }

    /// Writes a second.
    pub(crate) fn write(&mut self, second: &Second<'_>) -> anyhow::Result<()> {
        let &Second { from, to, asked, backlog, stats } = second;
        let ends = [stats.started(), stats.completed(), stats.failed()];
        let times = [&stats.wait, &stats.service, &stats.response];
        self.write_line(&line([from, to], asked, ends, backlog, times))
    }

    fn write_line(&mut self, line: &str) -> anyhow::Result<()> {
        self.0.append(line.as_bytes()).context(CANNOT_WRITE)
    }
}

fn head() -> String {
    let kinds = ["wait", "service", "response"].into_iter();
    let times = kinds.flat_map(|kind| POINTS.map(|(point, _)| format!(",{kind}_{point}_ns")));
    COLUMNS.to_owned() + &times.collect::<String>() + "\n"
}

/// The whole log of these intervals.
pub(crate) fn text(intervals: &[Interval]) -> String {
    let lines =
        intervals.iter().map(|&Interval { from, to, asked, backlog, ref brief, .. }| {
            let ends = [brief.started(), brief.completed(), brief.failed];
            line([from, to], asked, ends, backlog, [&brief.wait, &brief.service, &brief.response])
        });
    head() + &lines.collect::<String>()
}

fn line(
    [from, to]: [Duration; 2],
    asked: f64,
    [started, completed, failed]: [u64; 3],
    backlog: Backlog,
    kinds: [&Histogram<u64>; 3],
) -> String {
    let [from, to, time] = [from, to, backlog.time].map(|time| time.as_secs_f64());
    let slots = backlog.slots;
    let mut line =
        format!("{from:.6},{to:.6},{asked:.6},{started},{completed},{failed},{slots},{time:.9}");
    for times in kinds {
        for (_, quantile) in POINTS {
            // A text takes all that is written to it.
            let _ = write!(line, ",{}", cell(times, quantile));
        }
    }
    line + "\n"
}

/// A time that nobody measured is empty, not zero.
fn cell(times: &Histogram<u64>, quantile: f64) -> String {
    if times.is_empty() { String::new() } else { at(times, quantile).as_nanos().to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorded::outcome::Due;
    use crate::recorded::over_time::Brief;

    #[test]
    fn every_line_has_the_columns_of_the_head() {
        let brief = Brief::new();
        let mut response = brief.response.clone();
        response.record(2_000).unwrap();
        let interval = Interval {
            from: Duration::from_secs(1),
            to: Duration::from_millis(2_001),
            asked: 0.5,
            backlog: Backlog { slots: 3, time: Duration::from_nanos(7) },
            brief: Brief { response, ..brief },
            due: Due::new(),
        };
        let text = text(&[interval]);
        let (head, line) = text.split_once('\n').unwrap();
        let times = ",,,,,,,,,2007,2007,2007,2007\n";
        assert_eq!(line, format!("1.000000,2.001000,0.500000,0,0,0,3,0.000000007{times}"));
        let columns = |line: &str| line.matches(',').count();
        assert_eq!(columns(line), columns(head));
        assert!(head.ends_with(",response_p99_ns,response_max_ns"));
    }
}
