//! Handles the time before the schedule starts, in which a run waits for other nodes, for its threads to open their
//! connections, and for the requested start.

use super::message::{Message, Stage};
use super::workers::threads;
use crate::load::action::{Action, Refusal};
use crate::shown::keys;
use crate::shown::snapshot::ObservedState;
use crossterm::event::KeyEvent;
use nanopace::{Nanos, Pacer};
use std::sync::mpsc::Receiver;
use tokio::sync::watch;

#[derive(Debug)]
pub(crate) struct BeforeStart;

impl BeforeStart {
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
        // If all threads were ready at once, the loop has not read any message, so the messages are read here.
        !messages.try_iter().any(|message| message.reach(&mut self))
    }
}

impl Stage for BeforeStart {
    fn stop(&mut self) -> bool {
        true
    }

    fn press(&mut self, key: KeyEvent) -> bool {
        matches!(keys::action(key), Some(Action::Stop))
    }

    fn act(&mut self, _action: Action) -> Result<(), Refusal> {
        Err(Refusal::NotStarted)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Begin {
    pub(crate) at: Nanos,
    pub(crate) is_paused: bool,
}

impl Begin {
    pub(crate) fn at(moment: Nanos) -> Begin {
        Begin { at: moment, is_paused: false }
    }

    /// Waits until the schedule can start. Returns `None` if the run should end before the schedule begins. A pause
    /// during the wait takes effect when the schedule begins, because it may be meant for other loads that have already
    /// started.
    pub(crate) fn wait(
        self,
        messages: &Receiver<Message>,
        clock: &Pacer,
        watch: &watch::Sender<ObservedState>,
    ) -> Option<Begin> {
        let mut countdown = Countdown { is_paused: self.is_paused, watch };
        loop {
            let left = self.at - clock.now();
            if left.is_zero() {
                return Some(Begin { is_paused: countdown.is_paused, ..self });
            }
            if messages.recv_timeout(left).is_ok_and(|message| message.reach(&mut countdown)) {
                return None;
            }
        }
    }
}

struct Countdown<'run> {
    is_paused: bool,
    watch: &'run watch::Sender<ObservedState>,
}

impl Stage for Countdown<'_> {
    fn stop(&mut self) -> bool {
        true
    }

    fn press(&mut self, key: KeyEvent) -> bool {
        let action = keys::action(key);
        let is_stop = matches!(action, Some(Action::Stop));
        let _ = action.map(|action| self.act(action));
        is_stop
    }

    fn act(&mut self, action: Action) -> Result<(), Refusal> {
        self.is_paused = match action {
            Action::Pause => true,
            Action::Resume => false,
            Action::TogglePause => !self.is_paused,
            _ => return Err(Refusal::NotStarted),
        };
        self.watch.send_replace(ObservedState::Preparing { is_paused: self.is_paused });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shown::snapshot::Phase;
    use crossterm::event::KeyCode;
    use nanopace::Rate;
    use tokio::sync::oneshot;

    #[test]
    fn a_pause_is_kept_for_the_start() {
        let (watch, states) = watch::channel(ObservedState::Preparing { is_paused: false });
        let mut countdown = Countdown { is_paused: false, watch: &watch };
        let is_paused = || states.borrow().phase() == Some(Phase::Paused);
        let mut ask = |action: Action| {
            let (sender, mut answer) = oneshot::channel();
            assert!(!Message::Ask(None, action, sender).reach(&mut countdown));
            (is_paused(), answer.try_recv().unwrap())
        };
        assert_eq!(ask(Action::Pause), (true, Ok(())));
        assert_eq!(ask(Action::SetRate(Rate::SLOWEST)), (true, Err(Refusal::NotStarted)));
        assert_eq!(ask(Action::Resume), (false, Ok(())));
        let mut press = |key| (countdown.press(KeyCode::Char(key).into()), is_paused());
        assert_eq!([' ', '+', 'q'].map(&mut press), [(false, true), (false, true), (true, true)]);
    }
}
