//! What the processes of the demonstration have said.

use crate::console::human::{self, float};
use nanopace_fleet::Account;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long the load is.
pub(super) const LENGTH: Duration = Duration::from_secs(10);

/// Starts are counted over so long.
pub(super) const COLUMN: Duration = Duration::from_millis(100);

/// A start, in nanoseconds since the load began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Start {
    pub(super) intended_ns: u64,
    pub(super) actual_ns: u64,
}

impl Start {
    /// A line of a node.
    pub(super) fn read(line: &str) -> Option<Start> {
        let (intended, actual) = line.split_once(' ')?;
        Some(Start { intended_ns: intended.parse().ok()?, actual_ns: actual.parse().ok()? })
    }
}

/// Something that was done to the fleet.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) at: Duration,
    pub(super) what: String,
}

/// What a node has done.
#[derive(Clone, Debug, Default)]
pub(super) struct Work {
    /// The number of its process.
    pub(super) process: usize,
    pub(super) starts: Vec<Start>,
}

/// All starts, by the number of the node, and what was done to the fleet.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    pub(super) nodes: BTreeMap<u16, Work>,
    pub(super) events: Vec<Event>,
}

impl Record {
    /// How many starts each node made in each column of the whole load, by when they really were.
    pub(super) fn each(&self) -> impl Iterator<Item = (u16, Vec<u64>)> {
        self.nodes.iter().map(|(&number, work)| (number, columns(&work.starts)))
    }

    /// How many starts all of them made in each column.
    pub(super) fn totals(&self) -> Vec<u64> {
        self.each().fold(columns(&[]), |sums, (_, columns)| {
            sums.into_iter().zip(columns).map(|(sum, starts)| sum + starts).collect()
        })
    }

    fn starts(&self) -> impl Iterator<Item = &Start> {
        self.nodes.values().flat_map(|work| &work.starts)
    }

    /// How far the starts of all together were from what was asked for.
    pub(super) fn course(&self, hz: f64) -> String {
        let asked = hz * COLUMN.as_secs_f64();
        let totals = self.totals();
        let extreme = |best: Option<(usize, &u64)>| {
            best.map_or_else(String::new, |(column, starts)| {
                let at = COLUMN.as_secs_f64() * float(column as u64);
                format!("{starts} at {at:.1} s")
            })
        };
        let least = extreme(totals.iter().enumerate().min_by_key(|&(_, starts)| starts));
        let most = extreme(totals.iter().enumerate().max_by_key(|&(_, starts)| starts));
        let mut all: Vec<u64> = self.starts().map(|start| start.intended_ns).collect();
        all.sort_unstable();
        let count = all.len();
        all.dedup();
        format!(
            "starts    {count}, of {} different slots; in 100 ms {asked:.0} are asked for: least {least}, most {most}\n",
            all.len()
        )
    }

    /// What killed nodes did after the store heard of them last: it is lost in the account, which
    /// is all that the store can know.
    pub(super) fn told_too_late(&self, account: &Account) -> String {
        let fired = account.fired();
        match (self.starts().count() as u64).checked_sub(fired) {
            Some(untold @ 1..) => format!(
                "\n{untold} of those that count as lost had started: the node was killed before it \
                 told the store\n"
            ),
            _ => String::new(),
        }
    }

    /// The rate of the last columns of a node, as text.
    pub(super) fn rate(columns: &[u64], until: Duration) -> String {
        let end = usize::try_from(until.as_nanos() / COLUMN.as_nanos()).unwrap_or(usize::MAX);
        let end = end.min(columns.len());
        let last = &columns[end.saturating_sub(5)..end];
        let seconds = COLUMN.as_secs_f64() * float(last.len().max(1) as u64);
        human::short_hz(float(last.iter().sum()) / seconds)
    }
}

fn columns(starts: &[Start]) -> Vec<u64> {
    let column_ns = COLUMN.as_nanos();
    let mut columns = vec![0; usize::try_from(LENGTH.as_nanos() / column_ns).unwrap_or(0)];
    let last = columns.len() - 1;
    for start in starts {
        let column = usize::try_from(u128::from(start.actual_ns) / column_ns);
        // What is late at the end belongs to the last one.
        columns[column.unwrap_or(last).min(last)] += 1;
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(ms: u64) -> Start {
        Start { intended_ns: ms * 1_000_000, actual_ns: ms * 1_000_000 }
    }

    #[test]
    fn every_start_is_in_one_column() {
        let work = |starts: &[Start]| Work { process: 0, starts: starts.to_vec() };
        let [early, late] =
            [&[start(0), start(99), start(100)][..], &[start(9_999), start(12_000)]].map(work);
        let record = Record { nodes: [(1, early), (3, late)].into(), events: Vec::new() };
        let totals = record.totals();
        assert_eq!((totals.len(), totals[0], totals[1], totals[99]), (100, 2, 1, 2));
        assert_eq!(totals.iter().sum::<u64>(), 5);
        assert!(record.course(20.0).contains("5, of 5 different slots"), "{}", record.course(20.0));
    }

    #[test]
    fn half_a_line_is_no_start() {
        assert_eq!(Start::read("7000000 7000000"), Some(start(7)));
        for line in ["", "7", "7 ", " 7", "7 x", "1 2 3"] {
            assert_eq!(Start::read(line), None, "{line}");
        }
    }
}
