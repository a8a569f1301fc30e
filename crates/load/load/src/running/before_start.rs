//! The time before the schedule starts: other nodes are waited for, and threads open their connections.

use super::message::{Message, Stage};
use super::workers::shared::RunShared;
use super::workers::threads::{self, Threads};
use crate::load::action::{Action, Refusal};
use crate::shown::keys;
use crossterm::event::KeyEvent;
use std::sync::mpsc::Receiver;

/// The stage of a run before its schedule starts.
#[derive(Debug)]
pub(crate) struct BeforeStart;

impl BeforeStart {
    /// Waits until all threads have opened their connections, except those that are still held when the timeout has
    /// passed. False if the run should end already.
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
        // They may have been ready before anything was read.
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
