//! Writes the CSV log, which has one line for the results of each second, and one for each label in this second.

use crate::console::LogFile;
use crate::results::labels::Labelled;
use crate::results::over_time::{Backlog, Interval};
use crate::results::percentiles::at;
use crate::results::stats::OperationStats;
use anyhow::Context;
use hdrhistogram::Histogram;
use std::path::Path;
use std::time::Duration;

const COLUMNS: &str =
    "from_seconds,to_seconds,asked,started,completed,failed,backlog_slots,backlog_seconds";
const CANNOT_WRITE: &str = "cannot write --csv";
const POINTS: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0)];

/// The log file. Each line is written when its second has ended, so the lines so far are kept if the run ends
/// unexpectedly.
#[derive(Debug)]
pub(crate) struct CsvLog {
    file: LogFile,
    /// Whether operations have labels. If so, the line for all operations, whose label is empty, is followed by one
    /// line for each label.
    has_labels: bool,
}

#[derive(Debug)]
pub(crate) struct Second<'run> {
    pub(crate) from: Duration,
    pub(crate) to: Duration,
    pub(crate) asked: f64,
    pub(crate) backlog: Backlog,
    pub(crate) stats: &'run OperationStats,
}

impl<'run> Second<'run> {
    pub(crate) fn after(&self, moment: Duration) -> Second<'run> {
        Second { from: self.from.max(moment), ..*self }
    }
}

impl CsvLog {
    pub(crate) fn create(path: &Path, has_labels: bool) -> anyhow::Result<CsvLog> {
        Ok(CsvLog { file: LogFile::create("--csv", path)?, has_labels })
    }

    pub(crate) fn begin(&mut self) -> anyhow::Result<()> {
        self.file.begin().context(CANNOT_WRITE)?;
        let label = if self.has_labels { ",label\n" } else { "\n" };
        self.write_line(&(head() + label))
    }

    pub(crate) fn write(&mut self, second: &Second<'_>) -> anyhow::Result<()> {
        let &Second { from, to, asked, backlog, stats } = second;
        let ends = [stats.started(), stats.completed(), stats.failed()];
        let times = [&stats.wait, &stats.service, &stats.response];
        let all = line([from, to], asked, ends, backlog, times);
        if !self.has_labels {
            return self.write_line(&(all + "\n"));
        }
        let labels = stats.labels.iter().map(|labelled| label_line([from, to], labelled));
        self.write_line(&(all + ",\n" + &labels.collect::<String>()))
    }

    fn write_line(&mut self, line: &str) -> anyhow::Result<()> {
        self.file.append(line.as_bytes()).context(CANNOT_WRITE)
    }
}

fn head() -> String {
    let kinds = ["wait", "service", "response"].into_iter();
    let times = kinds.flat_map(|kind| POINTS.map(|(point, _)| format!(",{kind}_{point}_ns")));
    COLUMNS.to_owned() + &times.collect::<String>()
}

pub(crate) fn text(intervals: &[Interval]) -> String {
    let lines =
        intervals.iter().map(|&Interval { from, to, asked, backlog, ref brief, .. }| {
            let ends = [brief.started(), brief.completed(), brief.failed];
            let times = [&brief.wait, &brief.service, &brief.response];
            line([from, to], asked, ends, backlog, times) + "\n"
        });
    head() + "\n" + &lines.collect::<String>()
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
    let counts =
        format!("{from:.6},{to:.6},{asked:.6},{started},{completed},{failed},{slots},{time:.9}");
    counts + &kinds.map(cells).concat()
}

/// Formats the line of a label. Fields that are not recorded separately for each label are empty.
fn label_line([from, to]: [Duration; 2], labelled: &Labelled) -> String {
    let [from, to] = [from, to].map(|time| time.as_secs_f64());
    let Labelled { label, service, response, .. } = labelled;
    let (completed, failed) = (labelled.completed(), labelled.failed());
    let wait = ",".repeat(POINTS.len());
    let times = [service, response].map(cells).concat();
    let label = label.replace('"', "\"\"");
    format!("{from:.6},{to:.6},,,{completed},{failed},,{wait}{times},\"{label}\"\n")
}

fn cells(times: &Histogram<u64>) -> String {
    POINTS.map(|(_, quantile)| format!(",{}", cell(times, quantile))).concat()
}

fn cell(times: &Histogram<u64>, quantile: f64) -> String {
    if times.is_empty() { String::new() } else { at(times, quantile).as_nanos().to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::labels::tests::ended;
    use crate::results::outcome::Due;
    use crate::results::over_time::Brief;

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

    #[test]
    fn a_label_has_a_line_with_what_is_known_of_it() {
        let mut stats = OperationStats::new();
        for label in ["read", "a \"b\", c"] {
            stats.labels.end(&ended(label, true, 1));
        }
        let second = [0, 1].map(Duration::from_secs);
        let lines: Vec<_> = stats.labels.iter().map(|it| label_line(second, it)).collect();
        let times = ",1003519,1003519,1003519,1003519".repeat(2);
        let expected = |label| format!("0.000000,1.000000,,,1,0,,,,,,{times},{label}\n");
        assert_eq!(lines, [expected("\"read\""), expected("\"a \"\"b\"\", c\"")]);
        let columns = |line: &str| line.matches(',').count();
        assert_eq!(columns(&lines[0]), columns(&head()) + 1);
    }
}
