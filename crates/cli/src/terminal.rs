//! The terminal as a keyboard: keys one by one, without echo, while the run goes on.

use crate::control::{Command, Interrupt};
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::terminal;
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;

/// While this lives, keys arrive as commands; dropping it gives the terminal back as it was, also
/// in a panic.
#[derive(Debug)]
pub(crate) struct Keyboard(());

impl Keyboard {
    /// Listens, if there is someone at a terminal: one that keys come from and progress goes to.
    pub(crate) fn listen(commands: Sender<Command>, interrupt: Arc<Interrupt>) -> Option<Keyboard> {
        if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
            return None;
        }
        terminal::enable_raw_mode().ok()?;
        let keyboard = Keyboard(());
        // Never joined: it may wait for a key for ever, and ends with the process.
        thread::Builder::new()
            .name("keys".to_owned())
            .spawn(move || forward(&commands, &interrupt))
            .ok()?;
        Some(keyboard)
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back as it was before a [`Keyboard`] listened.
pub(crate) fn restore() {
    // A terminal that is gone needs no restoring.
    let _ = terminal::disable_raw_mode();
}

fn forward(commands: &Sender<Command>, interrupt: &Interrupt) {
    while let Ok(event) = event::read() {
        match event {
            Event::Key(key) if key.kind == KeyEventKind::Release => {}
            Event::Key(key) if stops(key) => interrupt.set_off(),
            Event::Key(key) => drop(commands.send(Command::Key(key))),
            _ => {}
        }
    }
}

/// Raw mode turns Ctrl-C into a key like others.
fn stops(key: KeyEvent) -> bool {
    match key.code {
        KeyCode::Char('c' | 'd') => key.modifiers.contains(KeyModifiers::CONTROL),
        KeyCode::Char('q') => true,
        _ => false,
    }
}
