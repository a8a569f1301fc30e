//! Counts the connections of a load thread, and simulates the connections of a generator without delays.

use super::in_flight::Begun;
use crate::results::lateness::{IdealConnections, Start};
use nanopace::Nanos;
use std::time::Duration;

/// The index of the ideal connections that are shared by all slots without a connection of their own.
pub(crate) const ALL: usize = 0;

#[derive(Debug)]
pub(super) struct Connections {
    pub(super) count: usize,
    /// The number of connections that are being opened before the schedule starts.
    pub(super) opening: usize,
    ideal: Vec<Ideal>,
}

#[derive(Debug)]
pub(super) struct Ideal {
    pub(super) to_target: IdealConnections,
    /// The connections to a target that responds at once. `None` before the first think time, unless a connection was
    /// [split off](Connections::split).
    pub(super) to_instant_target: Option<IdealConnections>,
}

impl Connections {
    pub(super) fn new(count: usize) -> Connections {
        let all = Ideal { to_target: IdealConnections::new(count), to_instant_target: None };
        Connections { count, opening: 0, ideal: vec![all] }
    }

    pub(super) fn all(&self) -> &Ideal {
        &self.ideal[ALL]
    }

    pub(super) fn ideal(&mut self, number: usize) -> &mut Ideal {
        &mut self.ideal[number]
    }

    pub(super) fn add_instant_target(&mut self) -> &mut IdealConnections {
        self.ideal[ALL].to_instant_target.insert(IdealConnections::new(self.count))
    }

    /// Separates one ideal connection from the shared ones, for slots that may use only this connection.
    pub(super) fn split(&mut self) -> usize {
        let all = &mut self.ideal[ALL];
        all.to_instant_target.get_or_insert_with(|| IdealConnections::new(0));
        let to_target = all.to_target.split();
        self.ideal.push(Ideal { to_target, to_instant_target: Some(IdealConnections::new(1)) });
        self.ideal.len() - 1
    }

    /// Adds a connection. `moved` is the time by which the schedule has been moved.
    pub(super) fn add(&mut self, now: Nanos, moved: Duration) -> Start {
        self.count += 1;
        let Ideal { to_target, to_instant_target } = &mut self.ideal[ALL];
        to_target.add(now, moved);
        if let Some(ideal) = to_instant_target {
            ideal.add(now, moved);
        }
        to_target.start(now, now, moved, None)
    }
}

impl Ideal {
    pub(super) fn end(&mut self, begun: &Begun, busy: Duration) {
        self.to_target.end(begun.start, busy);
        if let Some((ideal, start)) = self.to_instant_target.as_mut().zip(begun.instant_target) {
            ideal.end(start, begun.rested.min(busy));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::lateness::Lateness;
    use crate::results::operation::Answer;
    use crate::results::stats::OperationStats;
    use crate::running::measuring::recorder::Recorder;
    use nanopace::{ManualClock, Pacer, Rate};
    use std::sync::Arc;

    fn two() -> (Arc<Recorder>, ManualClock) {
        let clock = ManualClock::new();
        let pacer = Pacer::builder(Rate::per_second(200).unwrap()).clock(clock.clone()).build();
        let recorder = Recorder::all(&pacer, &[2], false).remove(0);
        recorder.blocks();
        (recorder, clock)
    }

    fn at(ms: u64) -> Nanos {
        Nanos::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn a_slot_lacks_a_connection_only_if_all_are_busy_and_none_was_started_as_late() {
        let (recorder, clock) = two();
        let lacks = |ms| recorder.lacks_connection(Duration::from_millis(ms));
        let first = recorder.start((0, at(0)), true);
        clock.advance(Duration::from_millis(10));
        assert!(!lacks(5));
        let second = recorder.start((1, at(8)), true);
        assert!(!lacks(2) && lacks(3));
        first.end(Answer::completed(at(0)));
        assert!(!lacks(3));
        drop(second);
    }

    /// The first connection is busy until 25 ms. The second one is free, but its slot, due at 10 ms, starts at 25 ms.
    #[test]
    fn a_slot_waits_for_its_own_connection_or_for_the_generator() {
        let (recorder, clock) = two();
        let own = [(); 2].map(|()| recorder.split_connection());
        let start = |now: u64, connection: usize, intended: u64| {
            recorder.start_at(at(now), (0, at(intended)), true, own[connection])
        };
        let first = start(0, 0, 0);
        clock.advance(Duration::from_millis(25));
        first.end(Answer::completed(at(0)));
        let next = [start(25, 0, 5), start(25, 1, 10)];
        let mut stats = OperationStats::new();
        recorder.swap_stats(&mut stats);
        let Lateness { target, generator, .. } = stats.lateness;
        assert!((target - 0.020).abs() < 1e-9 && (generator - 0.015).abs() < 1e-9, "{target}");
        drop(next);
    }
}
