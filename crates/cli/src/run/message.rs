//! What the controller of a run is told.

use crossterm::event::KeyEvent;

/// A message to the controller.
#[derive(Debug)]
pub(crate) enum Message {
    /// End the run and report.
    Stop,
    /// A key was pressed.
    Key(KeyEvent),
}
