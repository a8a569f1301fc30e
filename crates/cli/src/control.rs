//! What reaches a run from outside: keys and signals.

use crate::terminal;
use anyhow::Context;
use crossterm::event::KeyEvent;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

/// A message to the loop that conducts the run.
#[derive(Debug)]
pub(crate) enum Command {
    /// End the run, with the report.
    Stop,
    /// Someone typed something.
    Key(KeyEvent),
}

/// Ends the run when asked once, and the process when asked again.
#[derive(Debug)]
pub(crate) struct Interrupt {
    commands: Sender<Command>,
    asked: Arc<AtomicBool>,
}

impl Interrupt {
    /// An interrupt that Ctrl-C and SIGTERM set off.
    pub(crate) fn on_signals(commands: Sender<Command>) -> anyhow::Result<Arc<Interrupt>> {
        let interrupt = Arc::new(Interrupt { commands, asked: Arc::default() });
        let handler = Arc::clone(&interrupt);
        ctrlc::set_handler(move || handler.set_off()).context("cannot listen for Ctrl-C")?;
        Ok(interrupt)
    }

    /// A flag that is true once the interrupt has been set off.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.asked)
    }

    /// Whether it has been set off.
    pub(crate) fn is_set_off(&self) -> bool {
        // Relaxed: as in `set_off`; nothing is published through it.
        self.asked.load(Ordering::Relaxed)
    }

    /// The first time ends the run, which may still have to wait for requests in flight; the second
    /// time exits.
    pub(crate) fn set_off(&self) {
        // Relaxed: only the flag's own order counts. No model: one flag, set once.
        if self.asked.swap(true, Ordering::Relaxed) {
            terminal::restore();
            process::exit(130);
        }
        // The receiver is gone only when the run has ended.
        let _ = self.commands.send(Command::Stop);
    }
}
