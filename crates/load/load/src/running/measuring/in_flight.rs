//! Tracks the operations in flight of a thread, so that they can be counted even if the thread is stuck.

use crate::results::last_poll::Sent;
use crate::results::lateness::Start;
use crate::results::outcome::{Ending, Outcome};
use nanopace::Nanos;
use std::time::Duration;

#[derive(Clone, Copy, Debug)]
pub(super) struct Begun {
    pub(super) slot: u64,
    pub(super) intended_start: Nanos,
    pub(super) start: Start,
    /// The simulated start with a target that responds at once. `None` if the connection has no simulated starts with
    /// this target.
    pub(super) instant_target: Option<Start>,
    pub(super) ideal: usize,
    pub(super) is_recorded: bool,
    /// The time at which the last request of the operation was sent.
    pub(super) sent: Sent,
    /// The total time for which the schedule had been paused before the operation started.
    pub(super) paused: Duration,
    /// The time up to `sent` in which the target was busy or the call had a think time.
    pub(super) busy: Duration,
    /// The part of `busy` that consists of think times.
    pub(super) rested: Duration,
    pub(super) rests_until: Option<Nanos>,
}

/// The operations in flight. Each of them has a place (an index) until it ends.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    places: Vec<Option<Begun>>,
    free: Vec<usize>,
}

impl Begun {
    pub(super) fn outcome(&self, end: Nanos, ending: Ending) -> Outcome {
        let &Begun { intended_start, start, .. } = self;
        Outcome {
            intended_start,
            wait_time: Some(start.actual - intended_start),
            response_time: end - intended_start,
            ending,
            slots: 1,
        }
    }
}

impl InFlight {
    pub(super) fn add(&mut self, begun: Begun) -> usize {
        let place = self.free.pop().unwrap_or(self.places.len());
        if place == self.places.len() {
            self.places.push(None);
        }
        self.places[place] = Some(begun);
        place
    }

    pub(super) fn at(&mut self, place: usize) -> Option<&mut Begun> {
        self.places.get_mut(place)?.as_mut()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Begun> {
        self.places.iter().flatten()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Begun> {
        self.places.iter_mut().flatten()
    }

    /// Ends the operation at a place. Returns `None` if all operations have already been given up.
    pub(super) fn end(&mut self, place: usize) -> Option<Begun> {
        let begun = self.places[place].take()?;
        self.free.push(place);
        Some(begun)
    }

    /// Gives up and returns all operations. Their places are not used again, because the operations may still end.
    pub(super) fn give_up(&mut self) -> Vec<Begun> {
        self.places.iter_mut().filter_map(Option::take).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::last_poll::LastPoll;
    use crate::results::lateness::IdealConnections;
    use crate::results::operation::Answer;
    use crate::results::stats::OperationStats;
    use crate::running::measuring::recorder::Recorder;
    use nanopace::{ManualClock, Pacer, Rate};

    #[test]
    fn an_operation_given_up_is_unfinished_once_even_if_it_ends_later() {
        let clock = ManualClock::new();
        let pacer = Pacer::builder(Rate::per_second(1).unwrap()).clock(clock.clone()).build();
        let recorder = Recorder::all(&pacer, &[4], false).remove(0);
        let start = |is_recorded| recorder.start((0, Nanos::ZERO), is_recorded);
        start(true).end(Answer::completed(Nanos::ZERO));
        let [ends, drops, _stays, warm_up] = [true, true, true, false].map(start);
        clock.advance(Duration::from_secs(5));
        recorder.give_up();
        clock.advance(Duration::from_secs(5));
        ends.end(Answer::completed(Nanos::ZERO));
        drop(drops);
        warm_up.end(Answer::completed(Nanos::ZERO));
        recorder.give_up();
        let (mut stats, mut outcomes) = (OperationStats::new(), Vec::new());
        recorder.swap_stats(&mut stats);
        recorder.swap_outcomes(&mut outcomes);
        assert_eq!((stats.started(), stats.completed(), stats.unfinished), (4, 1, 3));
        let unfinished = outcomes.iter().filter(|outcome| outcome.ending == Ending::Unfinished);
        let ages: Vec<_> = unfinished.map(|outcome| outcome.response_time.as_secs()).collect();
        assert_eq!((outcomes.len(), ages), (4, vec![5, 5, 5]));
    }

    #[test]
    fn places_are_used_again() {
        let mut in_flight = InFlight::default();
        let (now, zero) = (Nanos::ZERO, Duration::ZERO);
        let begun = Begun {
            slot: 0,
            intended_start: now,
            start: IdealConnections::new(1).start(now, now, zero, None),
            instant_target: None,
            ideal: 0,
            is_recorded: true,
            sent: LastPoll::new(now).send(now),
            paused: zero,
            busy: zero,
            rested: zero,
            rests_until: None,
        };
        let [first, second] = [(); 2].map(|()| in_flight.add(begun));
        assert!(in_flight.end(first).is_some());
        assert_eq!((first, second, in_flight.add(begun)), (0, 1, 0));
        assert_eq!(in_flight.give_up().len(), 2);
        assert!(in_flight.end(first).is_none());
        assert_eq!(in_flight.add(begun), 2);
    }
}
