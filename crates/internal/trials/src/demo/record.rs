//! Counts the starts that the processes of the demonstration recorded, by column of the picture.

use crate::fleet::{Fate, Start};
use std::collections::BTreeMap;
use std::time::Duration;

pub(super) const LENGTH: Duration = Duration::from_secs(10);

pub(super) const COLUMN: Duration = Duration::from_millis(100);

const COLUMNS: usize = 100;

/// A fault, or another change of the fleet.
#[derive(Clone, Debug)]
pub struct Event {
    pub(super) at: Duration,
    pub(super) what: String,
}

/// The number of starts of each node in each column of the picture, and the changes of the fleet.
#[derive(Clone, Debug)]
pub struct Record {
    pub(super) nodes: BTreeMap<u16, Vec<u32>>,
    pub(super) events: Vec<Event>,
}

impl Record {
    /// Counts the starts of these nodes.
    #[must_use]
    pub fn new(nodes: &[(u16, Fate, Vec<Start>)], events: Vec<Event>) -> Record {
        let nodes = nodes.iter().map(|(number, _, starts)| (*number, columns(starts))).collect();
        Record { nodes, events }
    }

    /// Returns the number of starts of all nodes in each column.
    #[must_use]
    pub fn totals(&self) -> Vec<u32> {
        let sum = |column| self.nodes.values().map(|columns| columns[column]).sum();
        (0..COLUMNS).map(sum).collect()
    }
}

fn columns(starts: &[Start]) -> Vec<u32> {
    let mut columns = vec![0; COLUMNS];
    for start in starts {
        let column = (start.intended + start.wait).as_nanos() / COLUMN.as_nanos();
        columns[usize::try_from(column).unwrap_or(COLUMNS).min(COLUMNS - 1)] += 1;
    }
    columns
}
