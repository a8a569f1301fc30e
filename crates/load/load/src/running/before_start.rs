//! Handles the time before the schedule starts, in which a run waits for other nodes and for its threads to open their
//! connections.

use super::message::{Message, Stage};
use super::workers::threads;
use crate::load::action::{Action, Refusal};
use crate::shown::keys;
use crossterm::event::KeyEvent;
use nanopace::{Nanos, Pacer};
use std::sync::mpsc::Receiver;

/// The stage before the schedule starts. A method that handles a message returns true if the run should end.
#[derive(Debug)]
pub(crate) struct BeforeStart;

impl BeforeStart {
    /// Waits until all threads are ready. Returns `false` if the run should end, or if a thread has ended.
    pub(crate) fn wait(
        mut self,
        messages: &Receiver<Message>,
        are_ready: impl Fn() -> bool,
        have_ended: impl Fn() -> bool,
    ) -> bool {
        while !are_ready() {
            let ends = match messages.recv_timeout(threads::GLANCE) {
                Ok(message) => message.reach(&mut self),
                Err(_) => have_ended(),
            };
            if ends {
                return false;
            }
        }
        // If all threads were ready at once, the loop has not read any message.
        !messages.try_iter().any(|message| message.reach(&mut self))
    }

    /// Waits until `moment`. Returns `false` if the run should end.
    pub(crate) fn wait_until(
        mut self,
        moment: Nanos,
        messages: &Receiver<Message>,
        clock: &Pacer,
    ) -> bool {
        loop {
            let left = moment - clock.now();
            if left.is_zero() {
                return true;
            }
            if messages.recv_timeout(left).is_ok_and(|message| message.reach(&mut self)) {
                return false;
            }
        }
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
