//! What a worker records during the run.

use super::operation::Operation;
use super::stats::OperationStats;
use nanopace::{Nanos, Pacer};
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The record of one worker. Only the collector looks at it too, once in a while.
#[derive(Debug)]
pub(crate) struct Recorder {
    clock: Pacer,
    record: Mutex<Record>,
}

#[derive(Debug)]
struct Record {
    stats: OperationStats,
    starts: Vec<Nanos>,
}

impl Recorder {
    /// An empty record, with times by the clock of `pacer`.
    pub(crate) fn new(pacer: &Pacer) -> Recorder {
        let record = Record { stats: OperationStats::new(), starts: Vec::new() };
        Recorder { clock: pacer.clone(), record: Mutex::new(record) }
    }

    /// Records that an operation starts, and returns when.
    pub(crate) fn start(&self) -> Nanos {
        let mut record = self.record();
        // Read under the lock: a collector that reads the clock first and takes the starts then has
        // all starts up to its reading.
        let start = self.clock.now();
        record.starts.push(start);
        start
    }

    /// Records how an operation went.
    pub(crate) fn finish(&self, operation: &Operation) {
        self.record().stats.record(operation);
    }

    /// Moves the starts recorded so far to the end of `starts`.
    pub(crate) fn take_starts(&self, starts: &mut Vec<Nanos>) {
        starts.append(&mut self.record().starts);
    }

    /// Swaps the stats of finished operations for others.
    pub(crate) fn swap_stats(&self, stats: &mut OperationStats) {
        mem::swap(stats, &mut self.record().stats);
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        // A worker that panics ends the run with its own message; its record must not add another.
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
