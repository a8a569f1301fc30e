//! What the controller of a run is told.

use crate::load::action::{Action, Refusal};
use crossterm::event::KeyEvent;
use tokio::sync::oneshot;

/// A message to the controller.
#[derive(Debug)]
pub(crate) enum Message {
    /// End the schedule; when it has ended already, give up the answers that are missing.
    Stop,
    /// The last slot has started.
    LastSlot,
    /// A load thread has opened its connections.
    Ready,
    /// A key was pressed.
    Key(KeyEvent),
    /// Something that people should read.
    #[cfg(feature = "otlp")]
    Tell(String),
    /// A program asks for this, and for what came of it.
    Ask(Action, oneshot::Sender<Result<(), Refusal>>),
}
