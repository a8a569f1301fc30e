//! The terminal as a keyboard: keys arrive one by one, without echo, during the run.

use super::message::Message;
use crate::console::alternate;
use crate::console::interrupt::Interrupt;
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::terminal;
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;

/// While this lives, keys arrive as messages. Dropping it gives the terminal back as it was, after
/// a panic too.
#[derive(Debug)]
pub(crate) struct Keyboard(());

impl Keyboard {
    /// Listens, if keys come from a terminal and progress goes to one.
    pub(crate) fn listen(messages: Sender<Message>, interrupt: Arc<Interrupt>) -> Option<Keyboard> {
        if !(io::stdin().is_terminal() && io::stderr().is_terminal() && is_in_foreground()) {
            return None;
        }
        terminal::enable_raw_mode().ok()?;
        let keyboard = Keyboard(());
        // Never joined: it may wait for a key for ever. It ends with the process.
        thread::Builder::new()
            .name("keys".to_owned())
            .spawn(move || forward(&messages, &interrupt))
            .ok()?;
        Some(keyboard)
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        // A terminal that is gone needs no restoring.
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

/// Whether the terminal is this process's: its shell stops a job in the background that changes it.
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

/// Stops this process until its shell continues it. Slots fall due meanwhile.
fn suspend() {
    let was_on_screen = alternate::leave();
    let _ = terminal::disable_raw_mode();
    // To this thread: it must not go on before the process has stopped.
    #[cfg(unix)]
    let _ = signal_hook::low_level::raise(signal_hook::consts::SIGTSTP);
    let _ = terminal::enable_raw_mode();
    if was_on_screen {
        alternate::enter();
    }
}

/// Whether the key interrupts, whatever is being typed. In raw mode, Ctrl-C is a key like any other.
fn interrupts(key: KeyEvent) -> bool {
    matches!(key.code, KeyCode::Char('c' | 'd')) && key.modifiers.contains(KeyModifiers::CONTROL)
}
