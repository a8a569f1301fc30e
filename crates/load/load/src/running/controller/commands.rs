//! Performs commands on a run: changes its load, pauses it, or ends it.

use super::run_state::RunState;
use crate::console::human::four_digits;
use crate::load::action::{Action, Refusal};
use crate::results::asked::is_constant;
use crate::running::measuring::collector::Collector;
use crate::running::member::Member;
use nanopace::{Nanos, Pacer, Rate, Shape};

#[derive(Debug)]
pub(crate) struct Commands<'run> {
    state: RunState<'run>,
    has_left: bool,
    /// Whether a command ended the schedule before its planned end.
    pub(crate) is_cut_short: bool,
    /// The rate of this process in slots per second, if it has been constant so far.
    pub(crate) constant_hz: Option<f64>,
    pub(crate) has_changed_load: bool,
}

impl<'run> Commands<'run> {
    pub(crate) fn new(state: RunState<'run>) -> Commands<'run> {
        let constant_hz = state.span.length().constant_hz;
        Commands {
            state,
            has_left: false,
            is_cut_short: false,
            constant_hz,
            has_changed_load: false,
        }
    }

    /// Returns whether the requested rate has changed until `end`: by a command, or because of the load's shape.
    pub(crate) fn changes_rate(&self, end: Nanos) -> bool {
        let start = self.state.member.map_or(self.state.span.start, Member::begins);
        let is_constant = |shape: &Shape| is_constant(shape, end - start);
        let is_constant = || self.state.pacer().shape().is_some_and(|shape| is_constant(&shape));
        self.has_changed_load || self.constant_hz.is_none() && !is_constant()
    }

    /// Returns `None` if the schedule must end. The first request to end the run only makes a node of a fleet leave:
    /// the node still starts the slots that it cannot give back, and `stop` returns a message.
    pub(crate) fn stop(&mut self) -> Option<String> {
        let Some(member) = self.state.member.filter(|_| !self.has_left) else {
            self.is_cut_short = self.state.span.has_end();
            return None;
        };
        self.has_left = true;
        Some(match member.leave() {
            Ok(()) => "leaving the fleet".to_owned(),
            Err(error) => format!("leaving the fleet; {}", member.told(error)),
        })
    }

    pub(crate) fn act(
        &mut self,
        action: Action,
        collector: &mut Collector<'run>,
    ) -> Result<(), Refusal> {
        let is_pause = matches!(action, Action::Pause | Action::Resume | Action::TogglePause);
        let is_change = !is_pause && !matches!(action, Action::Stop);
        if !is_pause && self.state.span.has_no_slot_left() {
            return Err(Refusal::NoRequestsLeft);
        }
        if is_change && self.state.span.length().is_closed {
            return Err(Refusal::ClosedLoop);
        }
        if is_change && self.state.span.has_fixed_warm_up() {
            return Err(Refusal::WarmUp);
        }
        if let Some(member) = self.state.member {
            let done = member.act(action, self.state.hz());
            return done.map_err(|error| Refusal::Fleet(member.told(error)));
        }
        match action {
            Action::SetRate(rate) => self.set_rate(rate, collector),
            Action::SetShape(shape) => self.set_shape(shape, collector),
            Action::Faster => self.scale_rate(1.1, collector),
            Action::Slower => self.scale_rate(1.0 / 1.1, collector),
            Action::Pause => self.pause(true, collector),
            Action::Resume => self.pause(false, collector),
            Action::TogglePause => self.pause(!self.state.pacer().is_paused(), collector),
            // `stop` handles this action.
            Action::Stop => {}
        }
        Ok(())
    }

    fn pause(&mut self, is_paused: bool, collector: &mut Collector<'run>) {
        if !is_paused && !self.state.pacer().is_paused() {
            return;
        }
        self.change(if is_paused { Pacer::pause } else { Pacer::resume }, collector);
        self.state.shared.recorders.iter().for_each(|recorder| recorder.pause(is_paused));
    }

    fn scale_rate(&mut self, factor: f64, collector: &mut Collector<'run>) {
        // If the new rate is out of range, the rate stays the same.
        if let Ok(rate) = Rate::from_hz(four_digits(self.state.hz() * factor)) {
            self.set_rate(rate, collector);
        }
    }

    fn set_rate(&mut self, rate: Rate, collector: &mut Collector<'run>) {
        self.change(|pacer| pacer.set_rate(rate), collector);
    }

    fn set_shape(&mut self, shape: Shape, collector: &mut Collector<'run>) {
        let length = shape.duration();
        self.change(|pacer| pacer.set_shape(shape), collector);
        self.state.span.follow(self.state.now(), length);
    }

    fn change(&mut self, change: impl FnOnce(&Pacer), collector: &mut Collector<'run>) {
        self.state.span.warm_up();
        collector.change(change);
        self.constant_hz = None;
        self.has_changed_load = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::float_cmp, reason = "a rounded rate equals the number in the source")]
    fn a_step_up_and_a_step_down_end_where_they_began() {
        for hz in [5_000.0, 333.3, 0.5, 1e6, 7.0] {
            assert_eq!(four_digits(four_digits(hz * 1.1) / 1.1), hz);
        }
    }
}
