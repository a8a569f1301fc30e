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
            Message::Stop => return stage.stop(),
            Message::Key(key) => return stage.press(key),
            Message::LastSlot => return stage.last_slot(),
            #[cfg(feature = "otlp")]
            Message::Tell(text) => stage.tell(text),
            Message::Ask(_, Action::Stop, answer) => {
                let is_over = stage.stop();
                reply(answer, Ok(()));
                return is_over;
            }
            Message::Ask(_, action, answer) => reply(answer, stage.act(action)),
        }
        false
    }
}

/// Sends the result of an action to the program that waits for it. The program may no longer exist.
fn reply(answer: oneshot::Sender<Result<(), Refusal>>, done: Result<(), Refusal>) {
    let _ = answer.send(done);
}
