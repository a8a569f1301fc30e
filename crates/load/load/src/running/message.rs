//! Defines the messages to a run, and the stages of a run that handle them.

use crate::load::action::{Action, Refusal};
use crossterm::event::KeyEvent;
use tokio::sync::oneshot;

#[derive(Debug)]
pub(crate) enum Message {
    /// End the schedule; a node of a fleet first leaves the fleet. If the schedule has already ended, give up the
    /// missing responses.
    Stop,
    LastSlot,
    Key(KeyEvent),
    #[cfg(feature = "otlp")]
    Tell(String),
    /// The number is the index of a load, or `None` for all loads of the run. A program waits for the result.
    Ask(Option<usize>, Action, oneshot::Sender<Result<(), Refusal>>),
}

/// A stage of a run: before, during or after its schedule. A method that returns true ends the stage.
pub(crate) trait Stage {
    fn stop(&mut self) -> bool;

    fn press(&mut self, key: KeyEvent) -> bool;

    /// Performs an action other than `Stop`.
    fn act(&mut self, action: Action) -> Result<(), Refusal>;

    fn last_slot(&mut self) -> bool {
        false
    }

    #[cfg(feature = "otlp")]
    fn tell(&mut self, _text: String) {}
}

impl Message {
    pub(crate) fn reach(self, stage: &mut impl Stage) -> bool {
        match self {
            Message::Stop => stage.stop(),
            Message::Key(key) => stage.press(key),
            Message::LastSlot => stage.last_slot(),
            #[cfg(feature = "otlp")]
            Message::Tell(text) => {
                stage.tell(text);
                false
            }
            Message::Ask(_, action, answer) => {
                let (is_over, done) = match action {
                    Action::Stop => (stage.stop(), Ok(())),
                    action => (false, stage.act(action)),
                };
                // The program that waits for the result may no longer exist.
                let _ = answer.send(done);
                is_over
            }
        }
    }
}
