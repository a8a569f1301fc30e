//! Messages to a run, and the stages of a run that handle them.

use crate::load::action::{Action, Refusal};
use crossterm::event::KeyEvent;
use tokio::sync::oneshot;

/// A message to a run.
#[derive(Debug)]
pub(crate) enum Message {
    /// End the schedule; when it has ended already, give up the answers that are missing.
    Stop,
    /// The last slot has started.
    LastSlot,
    /// A key was pressed.
    Key(KeyEvent),
    /// Something that people should read.
    #[cfg(feature = "otlp")]
    Tell(String),
    /// A program sends this command, and waits for the result.
    Ask(Action, oneshot::Sender<Result<(), Refusal>>),
}

/// A stage of a run: before its schedule, during it, and after it. Where a message ends the stage, true is
/// returned.
pub(crate) trait Stage {
    /// Handles a request to end the run.
    fn stop(&mut self) -> bool;

    /// Handles a key.
    fn press(&mut self, key: KeyEvent) -> bool;

    /// Does what a program asks for, but not the end.
    fn act(&mut self, action: Action) -> Result<(), Refusal>;

    /// Handles the start of the last slot.
    fn last_slot(&mut self) -> bool {
        false
    }

    /// People should read this.
    #[cfg(feature = "otlp")]
    fn tell(&mut self, _text: String) {}
}

impl Message {
    /// Passes the message to the stage of the run, which handles it. Returns whether that ends the stage.
    pub(crate) fn reach(self, stage: &mut impl Stage) -> bool {
        match self {
            Message::Stop => return stage.stop(),
            Message::Key(key) => return stage.press(key),
            Message::LastSlot => return stage.last_slot(),
            #[cfg(feature = "otlp")]
            Message::Tell(text) => stage.tell(text),
            Message::Ask(Action::Stop, answer) => {
                let is_over = stage.stop();
                reply(answer, Ok(()));
                return is_over;
            }
            Message::Ask(action, answer) => reply(answer, stage.act(action)),
        }
        false
    }
}

/// Replies to a program, which may have gone meanwhile.
fn reply(answer: oneshot::Sender<Result<(), Refusal>>, done: Result<(), Refusal>) {
    let _ = answer.send(done);
}
