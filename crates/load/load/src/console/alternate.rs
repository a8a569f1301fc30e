//! The alternate screen of the terminal behind standard error: what was on the terminal before
//! comes back when it is left.
//!
//! It is left from anywhere: at the end of a run, by an interrupt too many, before a panic is shown.
//! So whether it is shown belongs to the process, and is only looked at and changed under the lock
//! of standard error.

use crossterm::cursor::{Hide, Show};
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen};
use crossterm::{execute, style};
use std::io::{self, Write};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// How often it was entered or left: odd while it is shown.
// Relaxed at every place: the lock of standard error orders them. No model.
static TURNS: AtomicU32 = AtomicU32::new(0);

/// A terminal that takes nothing must not keep the process from ending.
const PATIENCE: Duration = Duration::from_secs(2);

/// Shows the alternate screen, empty.
pub(crate) fn enter() {
    let mut stderr = io::stderr().lock();
    if !is_odd(TURNS.load(Ordering::Relaxed)) {
        TURNS.fetch_add(1, Ordering::Relaxed);
        let _ = execute!(stderr, EnterAlternateScreen, Hide);
    }
}

/// Shows what was on the terminal before. Returns whether it was not.
pub(crate) fn leave() -> bool {
    let mut stderr = io::stderr().lock();
    let is_shown = is_odd(TURNS.load(Ordering::Relaxed));
    if is_shown {
        TURNS.fetch_add(1, Ordering::Relaxed);
        let _ = execute!(stderr, style::ResetColor, LeaveAlternateScreen, Show);
    }
    is_shown
}

/// Like [`leave`], but gives up on a terminal that takes nothing: for the end of the process.
pub(crate) fn leave_soon() {
    let (done, is_done) = mpsc::channel();
    let left = thread::Builder::new().spawn(move || {
        leave();
        let _ = done.send(());
    });
    if left.is_ok() {
        let _ = is_done.recv_timeout(PATIENCE);
    }
}

/// Which time it is that it is shown, if it is: what was drawn another time is gone.
pub(crate) fn turn() -> Option<u32> {
    let _stderr = io::stderr().lock();
    Some(TURNS.load(Ordering::Relaxed)).filter(|&turn| is_odd(turn))
}

/// Writes to it, unless it has been left or shown anew since that turn.
pub(crate) fn write(turn: u32, bytes: &[u8]) {
    let mut stderr = io::stderr().lock();
    if TURNS.load(Ordering::Relaxed) == turn {
        // A terminal that is gone shows nothing.
        let _ = stderr.write_all(bytes).and_then(|()| stderr.flush());
    }
}

fn is_odd(turn: u32) -> bool {
    turn % 2 == 1
}
