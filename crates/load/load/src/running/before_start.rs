//! Handles the time before the schedule starts, in which a run waits for other nodes and for its threads to open their
//! connections.

use super::message::{Message, Stage};
use super::workers::shared::RunShared;
use super::workers::threads::{self, Threads};
use crate::load::action::{Action, Refusal};
use crate::shown::keys;
use crossterm::event::KeyEvent;
use std::sync::mpsc::Receiver;

/// A method that handles a message ends the run by returning true.
#[derive(Debug)]
pub(crate) struct BeforeStart;

impl BeforeStart {
    /// Waits for the threads to open their connections, except threads that are still blocked after the timeout.
    /// Returns `false` if the run should end.
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
        // All threads may have been ready before any message was read.
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
