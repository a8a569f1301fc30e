//! Ctrl-C and SIGTERM.

use anyhow::Context;
use crossterm::terminal;
use std::fmt::{self, Debug, Formatter};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The status of a process that was interrupted.
const INTERRUPTED: i32 = 130;

/// Ends the job the first time, and the process the second time.
pub(crate) struct Interrupt {
    asked: Arc<AtomicBool>,
    end_job: Box<dyn Fn() + Send + Sync>,
}

impl Interrupt {
    /// An interrupt that Ctrl-C and SIGTERM trigger. The first time it calls `end_job`.
    pub(crate) fn on_signals(
        end_job: impl Fn() + Send + Sync + 'static,
    ) -> anyhow::Result<Arc<Interrupt>> {
        let interrupt = Interrupt { asked: Arc::default(), end_job: Box::new(end_job) };
        let interrupt = Arc::new(interrupt);
        let handler = Arc::clone(&interrupt);
        ctrlc::set_handler(move || handler.trigger()).context("cannot listen for Ctrl-C")?;
        Ok(interrupt)
    }

    /// A flag that the first interrupt sets.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.asked)
    }

    /// Whether it has been triggered.
    pub(crate) fn is_triggered(&self) -> bool {
        // Relaxed: as in `trigger`; nothing is published through the flag.
        self.asked.load(Ordering::Relaxed)
    }

    /// The first time ends the job, which may still wait for requests in flight. The second time
    /// exits.
    pub(crate) fn trigger(&self) {
        // Relaxed: only the flag's own order counts. No model: one flag, set once.
        if self.asked.swap(true, Ordering::Relaxed) {
            // Keys may have been read one by one; the terminal must not stay like that.
            let _ = terminal::disable_raw_mode();
            process::exit(INTERRUPTED);
        }
        (self.end_job)();
    }
}

impl Debug for Interrupt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interrupt").field("asked", &self.asked).finish_non_exhaustive()
    }
}
