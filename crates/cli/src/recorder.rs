//! What a worker writes down while the run goes on.

use crate::tally::{Operation, Tally};
use nanopace::{Nanos, Pacer};
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The notes of one worker; it shares them only with whoever collects them, once in a while.
#[derive(Debug)]
pub(crate) struct Recorder {
    clock: Pacer,
    notes: Mutex<Notes>,
}

#[derive(Debug)]
struct Notes {
    tally: Tally,
    starts: Vec<Nanos>,
}

impl Recorder {
    /// Empty notes, stamped by the clock of `pacer`.
    pub(crate) fn new(pacer: &Pacer) -> Recorder {
        let notes = Notes { tally: Tally::new(), starts: Vec::new() };
        Recorder { clock: pacer.clone(), notes: Mutex::new(notes) }
    }

    /// Notes that an operation starts, and returns when.
    pub(crate) fn start(&self) -> Nanos {
        let mut notes = self.notes();
        // Read under the lock: whoever reads the clock and then takes the starts has all of them up
        // to then.
        let start = self.clock.now();
        notes.starts.push(start);
        start
    }

    /// Notes how an operation went.
    pub(crate) fn finish(&self, operation: &Operation) {
        self.notes().tally.record(operation);
    }

    /// Moves the starts noted so far to the end of `starts`.
    pub(crate) fn take_starts(&self, starts: &mut Vec<Nanos>) {
        starts.append(&mut self.notes().starts);
    }

    /// Exchanges the tally of finished operations for another one.
    pub(crate) fn swap_tally(&self, tally: &mut Tally) {
        mem::swap(tally, &mut self.notes().tally);
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        // A worker that panics ends the run with its own message; its notes must not add a second
        // one.
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
