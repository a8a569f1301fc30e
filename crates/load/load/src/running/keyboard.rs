//! Reads single keys from the terminal during a run, without echo.

use super::message::Message;
use crate::console::alternate;
use crate::console::interrupt::Interrupt;
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::terminal;
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;

/// The terminal in raw mode. Dropping this value restores the terminal, even after a panic.
#[derive(Debug)]
pub(crate) struct Keyboard(());

impl Keyboard {
    pub(crate) fn listen(messages: Sender<Message>, interrupt: Arc<Interrupt>) -> Option<Keyboard> {
        if !(io::stdin().is_terminal() && io::stderr().is_terminal() && is_in_foreground()) {
            return None;
        }
        terminal::enable_raw_mode().ok()?;
        let keyboard = Keyboard(());
        // The thread is never joined, because it may wait for a key forever. It ends with the process.
        thread::Builder::new()
            .name("keys".to_owned())
            .spawn(move || forward(&messages, &interrupt))
            .ok()?;
        Some(keyboard)
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        // An error means that the terminal no longer exists, so there is nothing to restore.
        let _ = terminal::disable_raw_mode();
    }
}

fn forward(messages: &Sender<Message>, interrupt: &Interrupt) {
    while let Ok(event) = event::read() {
        match event {
            Event::Key(key) if key.kind == KeyEventKind::Release => {}
            Event::Key(key) if interrupts(key) => interrupt.trigger(),
            Event::Key(key) if suspends(key) => suspend(),
            Event::Key(key) => drop(messages.send(Message::Key(key))),
            _ => {}
        }
    }
}

/// Returns whether this process is in the foreground. The system would stop a background job that changes the terminal.
#[cfg(unix)]
fn is_in_foreground() -> bool {
    rustix::termios::tcgetpgrp(io::stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
}

#[cfg(not(unix))]
fn is_in_foreground() -> bool {
    true
}

fn suspends(key: KeyEvent) -> bool {
    key.code == KeyCode::Char('z') && key.modifiers.contains(KeyModifiers::CONTROL)
}

/// Stops this process until the shell continues it. Slots fall due during the stop.
fn suspend() {
    let was_on_screen = alternate::leave();
    let _ = terminal::disable_raw_mode();
    // The signal is sent to this thread, so that the thread does not continue before the process has stopped.
    #[cfg(unix)]
    let _ = signal_hook::low_level::raise(signal_hook::consts::SIGTSTP);
    let _ = terminal::enable_raw_mode();
    if was_on_screen {
        alternate::enter();
    }
}

/// Returns whether a key interrupts the run. In raw mode, Ctrl-C and Ctrl-D are ordinary keys. They interrupt the run
/// even while the user types text.
fn interrupts(key: KeyEvent) -> bool {
    matches!(key.code, KeyCode::Char('c' | 'd')) && key.modifiers.contains(KeyModifiers::CONTROL)
}
