//! Controls the alternate screen of the terminal on standard error. Leaving it restores the earlier contents of the
//! terminal.
//!
//! A run leaves the screen at its end, while it is suspended, at the interrupt that ends the process, and before a
//! panic is printed, so the state of the screen is global. It is read and changed only while standard error is locked.

use crossterm::cursor::{Hide, Show};
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen};
use crossterm::{execute, style};
use std::io::{self, Write};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Odd while the alternate screen is shown. Each change between the screens adds 1.
// Relaxed at every place: the lock of standard error orders the accesses. No loom model: the lock allows one access at
// a time.
static TURNS: AtomicU32 = AtomicU32::new(0);

/// The maximum time for which an ending process waits for a terminal that accepts no output.
const PATIENCE: Duration = Duration::from_secs(2);

pub(crate) fn enter() {
    let mut stderr = io::stderr().lock();
    if !is_odd(TURNS.load(Ordering::Relaxed)) {
        TURNS.fetch_add(1, Ordering::Relaxed);
        let _ = execute!(stderr, EnterAlternateScreen, Hide);
    }
}

pub(crate) fn leave() -> bool {
    let mut stderr = io::stderr().lock();
    let is_shown = is_odd(TURNS.load(Ordering::Relaxed));
    if is_shown {
        TURNS.fetch_add(1, Ordering::Relaxed);
        let _ = execute!(stderr, style::ResetColor, LeaveAlternateScreen, Show);
    }
    is_shown
}

/// Does the same as [`leave`], but waits at most [`PATIENCE`]. Another thread may still be leaving the screen after
/// that time, so the caller must end the process.
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

/// Returns a number that identifies the period for which the screen has been shown, or `None` if it is not shown.
pub(crate) fn turn() -> Option<u32> {
    let _stderr = io::stderr().lock();
    Some(TURNS.load(Ordering::Relaxed)).filter(|&turn| is_odd(turn))
}

/// Writes to the screen, unless the program has left the screen since [`turn`] returned `turn`.
pub(crate) fn write(turn: u32, bytes: &[u8]) {
    let mut stderr = io::stderr().lock();
    if TURNS.load(Ordering::Relaxed) == turn {
        // If the terminal is gone, nobody can see the output, so the error is ignored.
        let _ = stderr.write_all(bytes).and_then(|()| stderr.flush());
    }
}

fn is_odd(turn: u32) -> bool {
    turn % 2 == 1
}
