//! Handles the time before the schedule starts, in which a run waits for other nodes and for its threads to open their
//! connections.

use super::message::{Message, Stage};
use super::workers::shared::RunShared;
use super::workers::threads::{self, Threads};
use crate::load::action::{Action, Refusal};
use crate::shown::keys;
use crossterm::event::KeyEvent;
use std::sync::mpsc::Receiver;

/// The stage before the schedule starts. A method that handles a message returns true if the run should end.
#[derive(Debug)]
pub(crate) struct BeforeStart;

impl BeforeStart {
    /// Waits until the threads have opened their connections, but not for threads that are still blocked after the
    /// timeout. Returns `false` if the run should end.
    pub(crate) fn wait(
        mut self,
        messages: &Receiver<Message>,
        threads: &Threads,
        shared: &RunShared,
    ) -> bool {
        while *shared.ready.borrow() + threads.held(shared.timeout) < threads.count() {
            let ends = match messages.recv_timeout(threads::GLANCE) {
                Ok(message) => message.reach(&mut self),
                Err(_) => threads.have_ended(),
            };
            if ends {
                return false;
            }
        }
        // If all threads were ready at once, the loop has not read any message.
        !messages.try_iter().any(|message| message.reach(&mut self))
    }
}

impl Stage for BeforeStart {
    fn stop(&mut self) -> bool {
        true
    }

    fn press(&mut self, key: KeyEvent) -> bool {
        keys::is_stop(key)
    }

    fn act(&mut self, _action: Action) -> Result<(), Refusal> {
        Err(Refusal::NotStarted)
    }
}
