//! Ctrl-C and SIGTERM.

use super::alternate;
use anyhow::Context;
use crossterm::terminal;
#[cfg(unix)]
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};
use std::fmt::{self, Debug, Formatter};
use std::process;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
#[cfg(unix)]
use std::{io, thread};

/// The status of a process that was interrupted.
pub(crate) const INTERRUPTED: u8 = 130;

/// Ends the job the first time, and the process when it has been asked more often than the job can
/// be told.
pub(crate) struct Interrupt {
    asked: Arc<AtomicBool>,
    /// How often the job can still be told.
    tells: AtomicUsize,
    end_job: Box<dyn Fn() + Send + Sync>,
}

impl Interrupt {
    /// An interrupt that Ctrl-C and SIGTERM trigger, instead of an earlier one. The first
    /// `tells` times it calls `end_job`.
    pub(crate) fn on_signals(
        tells: usize,
        end_job: impl Fn() + Send + Sync + 'static,
    ) -> anyhow::Result<Arc<Interrupt>> {
        let interrupt = Interrupt {
            asked: Arc::default(),
            tells: AtomicUsize::new(tells),
            end_job: Box::new(end_job),
        };
        let interrupt = Arc::new(interrupt);
        let mut current = current();
        if current.is_none() {
            listen().context("cannot listen for Ctrl-C")?;
        }
        *current = Some(Arc::clone(&interrupt));
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

    /// Tells the job to end, or exits if it has been told often enough.
    pub(crate) fn trigger(&self) {
        // Relaxed: nothing is published through the flag. No model: one flag, set once.
        self.asked.store(true, Ordering::Relaxed);
        // Relaxed: each decrement must be unique. No model: one atomic.
        let left = self
            .tells
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        if left.is_err() {
            // Keys may have been read one by one; the terminal must not stay like that.
            alternate::leave_soon();
            let _ = terminal::disable_raw_mode();
            process::exit(INTERRUPTED.into());
        }
        (self.end_job)();
    }
}

/// The interrupt of the job that began last, if the process listens.
static CURRENT: Mutex<Option<Arc<Interrupt>>> = Mutex::new(None);

fn current() -> MutexGuard<'static, Option<Arc<Interrupt>>> {
    CURRENT.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(unix)]
fn listen() -> io::Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])?;
    let signals = move || signals.forever().for_each(|_| on_signal());
    thread::Builder::new().name("signals".to_owned()).spawn(signals).map(drop)
}

#[cfg(not(unix))]
fn listen() -> Result<(), ctrlc::Error> {
    ctrlc::set_handler(on_signal)
}

fn on_signal() {
    let interrupt = current().clone();
    if let Some(interrupt) = interrupt {
        interrupt.trigger();
    }
}

impl Debug for Interrupt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interrupt").field("asked", &self.asked).finish_non_exhaustive()
    }
}
