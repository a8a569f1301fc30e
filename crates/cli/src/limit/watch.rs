//! Who waits for a trial: they see how it is going, and may end it.

use nanopace_load::console::Progress;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often progress is shown.
const TICK: Duration = Duration::from_secs(1);
/// The steps between two looks at the clock.
const BATCH: u64 = 4_096;

/// Shows how a trial is going, on a terminal, once a second.
pub(crate) struct Watch {
    progress: Progress,
    interrupted: Arc<AtomicBool>,
    shown: Instant,
    steps: u64,
}

impl Watch {
    /// Nothing is shown in the first second. The trial is to end when `interrupted` is set.
    pub(crate) fn new(interrupted: Arc<AtomicBool>) -> Watch {
        Watch { progress: Progress::of_a_part(), interrupted, shown: Instant::now(), steps: 0 }
    }

    /// Whether the trial is to end.
    pub(crate) fn is_interrupted(&self) -> bool {
        // Relaxed: nothing is published through the flag. No model: it is one word, set once.
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Counts a step. From time to time it shows the status, which is told how many there were.
    pub(crate) fn step(&mut self, status: impl FnOnce(u64) -> String) {
        self.steps += 1;
        if self.steps.is_multiple_of(BATCH) && self.shown.elapsed() >= TICK {
            self.shown = Instant::now();
            self.progress.show(&status(self.steps));
        }
    }

    /// Takes back what is shown.
    pub(crate) fn end(&self) {
        self.progress.end();
    }
}
