//! Handles Ctrl-C and, on Unix, SIGTERM and SIGHUP (unless `nohup` was used).

use super::alternate;
use super::panics::locked;
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
use std::sync::{Arc, Mutex};
#[cfg(unix)]
use std::{fs, io, thread};

pub(crate) const INTERRUPTED: u8 = 130;

pub(crate) struct Interrupt {
    asked: Arc<AtomicBool>,
    /// The number of further interrupts that call `end_job` instead of ending the process.
    tells: AtomicUsize,
    end_job: Box<dyn Fn() + Send + Sync>,
}

impl Interrupt {
    /// Installs the signal handler. The first `tells` interrupts call `end_job`, and the next interrupt ends the
    /// process. A later call of this function replaces the handler.
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
        let mut current = locked(&CURRENT);
        if current.is_none() {
            listen().context("cannot listen for Ctrl-C")?;
        }
        *current = Some(Arc::clone(&interrupt));
        Ok(interrupt)
    }

    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.asked)
    }

    pub(crate) fn is_triggered(&self) -> bool {
        // Relaxed: no other data is published through the flag, for the same reason as in `trigger`.
        self.asked.load(Ordering::Relaxed)
    }

    pub(crate) fn trigger(&self) {
        // Relaxed: no other data is published through the flag. No loom model: there is one flag, which is set once.
        self.asked.store(true, Ordering::Relaxed);
        // Relaxed: only the decrements of this counter must be atomic. No loom model: it is a single atomic.
        let left = self
            .tells
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        if left.is_err() {
            // The terminal must not stay in raw mode after the end of the process.
            alternate::leave_soon();
            let _ = terminal::disable_raw_mode();
            process::exit(INTERRUPTED.into());
        }
        (self.end_job)();
    }
}

/// The interrupt of the job that started last; `None` before the first job that handles signals.
static CURRENT: Mutex<Option<Arc<Interrupt>>> = Mutex::new(None);

#[cfg(unix)]
fn listen() -> io::Result<()> {
    let signals = [SIGINT, SIGTERM].into_iter().chain((!ignores_hangup()).then_some(SIGHUP));
    let mut signals = Signals::new(signals)?;
    let signals = move || signals.forever().for_each(|_| on_signal());
    thread::Builder::new().name("signals".to_owned()).spawn(signals).map(drop)
}

/// Returns whether the program was started with SIGHUP ignored, as `nohup` does. Linux lists ignored signals as a
/// hexadecimal mask, in which bit 0 is signal 1. On other systems, returns `false`.
#[cfg(unix)]
fn ignores_hangup() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (SIGHUP - 1)) != 0)
}

#[cfg(not(unix))]
fn listen() -> Result<(), ctrlc::Error> {
    ctrlc::set_handler(on_signal)
}

fn on_signal() {
    let interrupt = locked(&CURRENT).clone();
    if let Some(interrupt) = interrupt {
        interrupt.trigger();
    }
}

impl Debug for Interrupt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interrupt").field("asked", &self.asked).finish_non_exhaustive()
    }
}
