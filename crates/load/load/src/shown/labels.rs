//! Writes the results of each label as text and as JSON objects.

use super::times::{AT_LEAST, NONE};
use crate::console::human;
use crate::load::details::Traffic;
use crate::results::labels::Labelled;
use crate::results::percentiles::{Percentiles, Sample};
use crate::results::stats::OperationStats;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

#[derive(Debug)]
pub(crate) struct LabelLines<'run>(pub(crate) &'run OperationStats);

impl Display for LabelLines<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.labels_apart().into_iter().try_for_each(|labelled| line(f, labelled))
    }
}

fn line(f: &mut Formatter<'_>, labelled: &Labelled) -> fmt::Result {
    let (completed, failed) = (labelled.completed(), labelled.failed());
    let service = spread(Sample::exact(&labelled.service));
    let response = spread(labelled.responses());
    writeln!(
        f,
        "label     {}: {completed} completed, {failed} failed; service {service}; response {response}",
        human::visible(&labelled.label)
    )
}

fn spread(sample: Sample<'_>) -> String {
    let [median, p99] =
        [0.5, 0.99].map(|at| sample.shown(at, AT_LEAST).unwrap_or_else(|| NONE.to_owned()));
    format!("p50 {median}, p99 {p99}")
}

pub(crate) fn objects(stats: &OperationStats) -> BTreeMap<String, LabelObject> {
    let object = |labelled: &Labelled| (labelled.label.clone(), LabelObject::new(labelled));
    let mut objects = BTreeMap::new();
    objects.extend(stats.labels_apart().into_iter().map(object));
    objects
}

#[derive(Debug, Serialize)]
pub(crate) struct LabelObject {
    completed: u64,
    failed: u64,
    service_time_ns: Percentiles,
    response_time_ns: Percentiles,
    response_times_at_least: u64,
    bytes_read: u64,
    bytes_written: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<u64>,
}

impl LabelObject {
    fn new(labelled: &Labelled) -> LabelObject {
        let Traffic { read, written, items, .. } = labelled.traffic;
        LabelObject {
            completed: labelled.completed(),
            failed: labelled.failed(),
            service_time_ns: Percentiles::new(&labelled.service),
            response_time_ns: Percentiles::new(&labelled.response),
            response_times_at_least: labelled.responses().at_least(),
            bytes_read: read,
            bytes_written: written,
            items: (items > 0).then_some(items),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::labels::tests::ended;

    #[test]
    fn a_label_is_one_line_whatever_is_in_it() {
        let mut stats = OperationStats::new();
        for label in ["a\nverdict   all is well", "\x1b[2Jb"] {
            stats.end(&ended(label, true, 1));
        }
        let lines = LabelLines(&stats).to_string();
        let begins = [r"label     \u{1b}[2Jb: ", r"label     a\nverdict   all is well: "];
        assert!(lines.lines().zip(begins).all(|(line, begin)| line.starts_with(begin)), "{lines}");
        assert_eq!(lines.lines().count(), 2, "{lines}");
    }
}
