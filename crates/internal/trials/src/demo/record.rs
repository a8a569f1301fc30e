//! Counts the starts that the processes of the demonstration recorded, column by column.

use crate::fleet::{Fate, Start};
use std::collections::BTreeMap;
use std::time::Duration;

/// The length of the load.
pub(super) const LENGTH: Duration = Duration::from_secs(10);

/// The time that a column of a record covers.
pub(super) const COLUMN: Duration = Duration::from_millis(100);

/// The number of columns of a record, which together cover the load.
const COLUMNS: usize = 100;

/// A fault, or another change of the fleet.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) at: Duration,
    pub(super) what: String,
}

/// The number of starts of each node in each column, by actual start, and the changes of the fleet.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) nodes: BTreeMap<u16, Vec<u32>>,
    pub(super) events: Vec<Event>,
}

impl Record {
    pub(super) fn new(nodes: &[(u16, Fate, Vec<Start>)], events: Vec<Event>) -> Record {
        let nodes = nodes.iter().map(|(number, _, starts)| (*number, columns(starts))).collect();
        Record { nodes, events }
    }

    /// Returns the number of starts of all nodes in each column.
    pub(super) fn totals(&self) -> Vec<u32> {
        let sum = |column| self.nodes.values().map(|columns| columns[column]).sum();
        (0..COLUMNS).map(sum).collect()
    }
}

fn columns(starts: &[Start]) -> Vec<u32> {
    let mut columns = vec![0; COLUMNS];
    for start in starts {
        let column = (start.intended + start.wait).as_nanos() / COLUMN.as_nanos();
        // Starts after the end of the load count in the last column.
        columns[usize::try_from(column).unwrap_or(COLUMNS).min(COLUMNS - 1)] += 1;
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_start_is_in_one_column() {
        let start = |ms, wait| Start {
            intended: Duration::from_millis(ms),
            wait: Duration::from_millis(wait),
        };
        let early = vec![start(0, 0), start(0, 99), start(50, 50)];
        let late = vec![start(9_999, 0), start(9_000, 3_000)];
        let nodes = [(1, Fate::Killed, early), (3, Fate::Killed, late)];
        let totals = Record::new(&nodes, Vec::new()).totals();
        assert_eq!((totals.len(), totals[0], totals[1], totals[99]), (100, 2, 1, 2));
        assert_eq!(totals.iter().sum::<u32>(), 5);
    }
}
