//! Attributes the lateness of slots to the target or to the generator.
//!
//! If a slot starts late, it has waited for a connection, for this program, or for both. A generator without delays
//! would start the slot as soon as a connection is free. Each thread therefore simulates **ideal** connections in
//! addition to its real connections. The ideal connections have the same slots and the same service times as the real
//! connections, but they belong to a generator without delays. The time for which a slot waits for a free ideal
//! connection is attributed to the target. The rest of its lateness is attributed to the generator.
//!
//! If the strictness is above 1, the schedule itself holds slots back, so that lost time is made up for gradually. The
//! time for which a generator without delays would hold a slot back is counted separately: see [`burst`](super::burst).
//! Such a slot is late only because the target caused lateness earlier.
//!
//! When the load is paused, or a late policy gives up slots, the schedule moves to later times. The ideal connections
//! are moved too, so that their backlog stays the same. A generator without delays would give up fewer slots, so the
//! ideal connections are moved by less time than the schedule. They are never moved so far that a slot would start
//! later on them than on the real connections.
//!
//! The ideal connections are simulated with the recursion of Kiefer and Wolfowitz for queues with several servers (*On
//! the theory of queues with many servers*, 1955): a slot uses the connection that is free first, for the slot's
//! service time.
//!
//! A call may have *think times* between its requests, as in scenarios. For calls with think times, there is a second
//! set of ideal connections, which belongs to a target that responds at once. If a slot has to wait even for a
//! connection of this set, there are too few connections for the think times, and the wait is attributed to the think
//! times. If a think time ends late, the next request of the call is late. This lateness is attributed to the
//! generator.

use super::burst::BurstLine;
use nanopace::Nanos;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// The total lateness of one or more slots by cause, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct Lateness {
    pub(crate) target: f64,
    pub(crate) generator: f64,
    /// The part of `generator` for which the program may have waited for the CPU.
    #[serde(default)]
    pub(crate) queued: f64,
    /// The time for which a strictness above 1 held slots back, because the target had caused lateness earlier.
    pub(crate) held: f64,
    /// The time for which slots waited for connections that calls occupied during think times.
    #[serde(default)]
    pub(crate) resting: f64,
}

impl Lateness {
    pub(crate) fn total(&self) -> f64 {
        self.target + self.generator + self.held + self.resting
    }

    pub(crate) fn shares(&self) -> Vec<(&'static str, f64)> {
        let causes = [
            ("target", self.target),
            ("generator", self.generator),
            ("burst ratio", self.held),
            ("think times", self.resting),
        ];
        let causes = causes.into_iter().filter(|(_, seconds)| *seconds > 0.0);
        causes.map(|(cause, seconds)| (cause, seconds / self.total())).collect()
    }

    pub(crate) fn plus(self, other: Lateness) -> Lateness {
        Lateness {
            target: self.target + other.target,
            generator: self.generator + other.generator,
            queued: self.queued + other.queued,
            held: self.held + other.held,
            resting: self.resting + other.resting,
        }
    }

    pub(crate) fn times(self, slots: f64) -> Lateness {
        let Lateness { target, generator, queued, held, resting } = self;
        let [target, generator, queued, held, resting] =
            [target, generator, queued, held, resting].map(|seconds| seconds * slots);
        Lateness { target, generator, queued, held, resting }
    }

    pub(crate) fn without_queued(self, share: f64) -> Lateness {
        let queued = self.queued * share;
        Lateness { generator: self.generator - queued, queued: self.queued - queued, ..self }
    }

    /// Caps `queued` at the generator's part.
    pub(crate) fn with_queued(self, queued: Duration) -> Lateness {
        Lateness { queued: queued.as_secs_f64().min(self.generator), ..self }
    }

    pub(crate) fn but_for_rests(self, rests: Duration) -> Lateness {
        let resting = rests.as_secs_f64().min(self.target);
        Lateness { target: self.target - resting, resting, ..self }
    }

    /// Divides `seconds`, which belong to no slot, among the causes in the proportion of this lateness. `held` counts
    /// as part of the target's lateness.
    pub(crate) fn parts_of(&self, seconds: f64) -> Lateness {
        let total = self.total();
        let part = |of: f64| if total > 0.0 { seconds * of / total } else { 0.0 };
        // Because of rounding errors, the sum of the parts may be larger than the total.
        let generator = part(self.generator).min(seconds);
        let resting = part(self.resting).min(seconds - generator);
        let queued = part(self.queued).min(generator);
        Lateness { target: seconds - generator - resting, generator, queued, held: 0.0, resting }
    }

    /// Returns the target's share of the lateness. It includes `held`, because the target caused it.
    pub(crate) fn target_share(&self) -> Option<f64> {
        self.share(self.target + self.held)
    }

    pub(crate) fn queued_share(&self) -> Option<f64> {
        self.share(self.queued)
    }

    fn resting_share(&self) -> Option<f64> {
        self.share(self.resting)
    }

    /// Returns the shares of the target, the generator and the think times. The share of the target includes `held`. If
    /// there is no lateness, the generator counts as its cause.
    pub(crate) fn main_shares(&self) -> [f64; 3] {
        let [target, resting] =
            [self.target_share(), self.resting_share()].map(|share| share.unwrap_or(0.0));
        [target, 1.0 - target - resting, resting]
    }

    fn share(&self, part: f64) -> Option<f64> {
        let total = self.total();
        (total > 0.0).then(|| part / total)
    }
}

#[derive(Debug)]
pub(crate) struct IdealConnections {
    /// The times at which the unused connections became free. They are times of a schedule that is never moved.
    free_since: BinaryHeap<Reverse<Nanos>>,
    /// The time that the ideal generator has given up. It is a part of the time that the real generator has given up.
    given_up: Duration,
    behind: Duration,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    pub(crate) actual: Nanos,
    pub(crate) free: Nanos,
    pub(crate) held: Duration,
    /// The time by which the ideal connections had been moved when the slot started.
    pub(crate) moved: Duration,
}

impl IdealConnections {
    pub(crate) fn new(connections: usize) -> IdealConnections {
        let free_since = vec![Reverse(Nanos::ZERO); connections].into();
        IdealConnections { free_since, given_up: Duration::ZERO, behind: Duration::ZERO }
    }

    pub(crate) fn add(&mut self, now: Nanos, moved: Duration) {
        self.free_since.push(Reverse(now - self.ahead(moved)));
    }

    /// Takes out one connection, which is then simulated on its own.
    pub(crate) fn split(&mut self) -> IdealConnections {
        let free_since = self.free_since.pop().into_iter().collect();
        IdealConnections { free_since, ..*self }
    }

    pub(crate) fn are_busy(&self) -> bool {
        self.free_since.is_empty()
    }

    /// Starts a slot on the connection that is free first. `moved` is the time by which the schedule has been moved.
    /// `burst` may hold a late slot back.
    pub(crate) fn start(
        &mut self,
        intended: Nanos,
        now: Nanos,
        moved: Duration,
        burst: Option<&mut BurstLine>,
    ) -> Start {
        let since = self.free_since.pop().map_or(now, |Reverse(since)| since + self.ahead(moved));
        self.given_up = (self.given_up + (since - now)).min(moved);
        let free = intended.max(since).min(now);
        let held = burst.map_or(Duration::ZERO, |line| line.start(intended, free, now));
        let start = Start { actual: now, free, held, moved: self.ahead(moved) };
        self.behind = start.by_generator();
        start
    }

    /// Ends a slot. `busy` is the time for which the slot occupied its connection, without pauses of the schedule.
    pub(crate) fn end(&mut self, start: Start, busy: Duration) {
        self.free_since.push(Reverse(start.free + busy - start.moved));
    }

    /// Returns the earliest time at which an ideal connection is free. `in_use` contains the slots that have not ended,
    /// each with the time for which it occupies its connection.
    pub(crate) fn free_from(
        &self,
        in_use: impl Iterator<Item = (Start, Duration)>,
        moved: Duration,
    ) -> Option<Nanos> {
        let since = self.free_since.peek().map(|Reverse(since)| *since);
        let until = in_use.map(|(start, busy)| start.free + busy - start.moved);
        until.chain(since).min().map(|since| since + self.ahead(moved))
    }

    fn ahead(&self, moved: Duration) -> Duration {
        moved.saturating_sub(self.given_up)
    }

    /// Returns the lateness of a slot that has not started. The thread has found all responses that arrived before
    /// `looked`.
    pub(crate) fn unstarted(
        &self,
        intended: Nanos,
        now: Nanos,
        looked: Nanos,
        moved: Duration,
        burst: Option<&BurstLine>,
    ) -> Lateness {
        let Some(Reverse(since)) = self.free_since.peek() else {
            // All connections are in use. A generator without delays would be ahead of this one by `behind` plus the
            // time since the last poll.
            let all = (now - intended).as_secs_f64();
            let unseen = now - looked.max(intended).min(now);
            let generator = (self.behind + unseen).as_secs_f64().min(all);
            return Lateness { target: all - generator, generator, ..Lateness::default() };
        };
        let free = intended.max(*since + self.ahead(moved)).min(now);
        let held = burst.map_or(Duration::ZERO, |line| line.held(intended, free, now));
        Start { actual: now, free, held, moved: self.ahead(moved) }.lateness(intended)
    }
}

impl Start {
    pub(crate) fn by_generator(&self) -> Duration {
        (self.actual - self.free).saturating_sub(self.held)
    }

    pub(crate) fn lateness(&self, intended: Nanos) -> Lateness {
        Lateness {
            target: (self.free - intended).as_secs_f64(),
            generator: self.by_generator().as_secs_f64(),
            held: self.held.as_secs_f64(),
            ..Lateness::default()
        }
    }

    /// Returns the lateness of a slot, in which the wait for connections that were in think times is separate. `rests`
    /// is the slot's start on the ideal connections whose target responds at once.
    pub(crate) fn lateness_beside(&self, rests: Option<Start>, intended: Nanos) -> Lateness {
        let lateness = self.lateness(intended);
        rests.map_or(lateness, |rests| lateness.but_for_rests(rests.free - intended))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nanopace::Strictness;
    use proptest::prelude::*;

    fn at(ms: u64) -> Nanos {
        Nanos::from_nanos(ms * 1_000_000)
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Returns the lateness that the target and the generator caused, in ms. Each slot has an intended start, an actual
    /// start and a service time in ms, and ends before the next slot on its connection starts.
    fn sums(connections: usize, slots: &[(u64, u64, u64)]) -> (u64, u64) {
        let mut ideal = IdealConnections::new(connections);
        let mut in_use: Vec<(u64, Start, u64)> = Vec::new();
        let mut lateness = Lateness::default();
        for &(intended, actual, service) in slots {
            in_use.retain(|&(end, start, busy)| {
                let ended = end <= actual;
                if ended {
                    ideal.end(start, ms(busy));
                }
                !ended
            });
            let start = ideal.start(at(intended), at(actual), Duration::ZERO, None);
            lateness = lateness.plus(start.lateness(at(intended)));
            in_use.push((actual + service, start, service));
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small")]
        let round = |seconds: f64| (seconds * 1e3).round() as u64;
        (round(lateness.target), round(lateness.generator))
    }

    #[test]
    fn a_stall_of_the_target_is_the_targets() {
        // The only connection is busy for 500 ms. Each slot after that starts when the previous one has ended.
        let slots: Vec<_> =
            [(0, 0, 500)].into_iter().chain((1..=10).map(|i| (i * 10, 500 + (i - 1), 1))).collect();
        let waits: u64 = slots.iter().map(|(intended, actual, _)| actual - intended).sum();
        assert_eq!(sums(1, &slots), (waits, 0));
    }

    #[test]
    fn a_stall_of_the_generator_is_its_own_although_connections_are_busy_afterwards() {
        // The first slot starts after 500 ms, and each further slot starts when the previous one has ended.
        let slots: Vec<_> = (1..=10).map(|i| (i * 10, 500 + (i - 1) * 5, 5)).collect();
        let waits: u64 = slots.iter().map(|(intended, actual, _)| actual - intended).sum();
        assert_eq!(sums(1, &slots), (0, waits));
    }

    #[test]
    fn each_has_its_part() {
        // The connection is free at 30 ms. The slot due at 10 ms starts at 50 ms.
        assert_eq!(sums(1, &[(0, 0, 30), (10, 50, 1)]), (20, 20));
        // If there is a second connection, the slot does not have to wait for the target.
        assert_eq!(sums(2, &[(0, 0, 30), (10, 50, 1)]), (0, 40));
    }

    #[test]
    fn a_burst_ratio_holds_back_what_the_target_made_late() {
        let mut line = BurstLine::new(Strictness::new(2.0).unwrap());
        let mut ideal = IdealConnections::new(2);
        let starts = [(); 2].map(|()| ideal.start(at(0), at(0), Duration::ZERO, line.as_mut()));
        for start in starts {
            ideal.end(start, ms(30));
        }
        let round = |seconds: f64| (seconds * 1e3).round();
        // Connections are free at 30 ms. The slot that is due at 20 ms is held back until 35 ms, and starts at 50 ms.
        for (due, now, expected) in [(10, 30, [20.0, 0.0, 0.0]), (20, 50, [10.0, 15.0, 5.0])] {
            for lateness in [
                ideal.unstarted(at(due), at(now), at(now), Duration::ZERO, line.as_ref()),
                ideal.start(at(due), at(now), Duration::ZERO, line.as_mut()).lateness(at(due)),
            ] {
                let parts = [lateness.target, lateness.generator, lateness.held].map(round);
                assert_eq!(parts.map(f64::to_bits), expected.map(f64::to_bits), "{due}");
            }
        }
    }

    #[test]
    fn a_generator_that_was_stopped_is_not_held_back_by_a_burst_ratio() {
        let mut line = BurstLine::new(Strictness::new(1.1).unwrap());
        let mut ideal = IdealConnections::new(10);
        for due in (0..100).step_by(10) {
            let now = at(100 + due * 10 / 11);
            let start = ideal.start(at(due), now, Duration::ZERO, line.as_mut());
            let lateness = start.lateness(at(due));
            assert_eq!((lateness.target + lateness.held).to_bits(), 0.0_f64.to_bits(), "{due}");
            assert!(lateness.generator > 0.09, "{due}: {lateness:?}");
        }
    }

    #[test]
    fn an_unstarted_slot_waits_for_the_side_that_was_missing() {
        let mut ideal = IdealConnections::new(1);
        let unstarted = |ideal: &IdealConnections, looked| {
            ideal.unstarted(at(10), at(100), at(looked), Duration::ZERO, None)
        };
        let waiting = Lateness { generator: 0.09, ..Lateness::default() };
        assert_eq!(unstarted(&ideal, 100), waiting);
        let start = ideal.start(at(0), at(0), Duration::ZERO, None);
        let waiting = Lateness { target: 0.09, ..Lateness::default() };
        assert_eq!(unstarted(&ideal, 100), waiting);
        for (looked, target_ms) in [(0, 0.0), (10, 0.0), (40, 30.0), (100, 90.0)] {
            let lateness = unstarted(&ideal, looked);
            assert!((lateness.target * 1e3 - target_ms).abs() < 1e-9, "{looked}: {lateness:?}");
        }
        ideal.end(start, ms(70));
        let lateness = unstarted(&ideal, 100);
        assert!((lateness.target - 0.06).abs() < 1e-12, "{lateness:?}");
    }

    #[test]
    fn further_lateness_is_split_as_before() {
        let lateness = Lateness { target: 1.0, generator: 3.0, held: 2.0, ..Lateness::default() };
        let parts = Lateness { target: 4.0, generator: 4.0, ..Lateness::default() };
        assert_eq!(lateness.parts_of(8.0), parts);
        assert_eq!(lateness.target_share(), Some(0.5));
        assert_eq!(Lateness { held: 1.0, ..Lateness::default() }.target_share(), Some(1.0));
        assert_eq!(Lateness::default().target_share(), None);
    }

    proptest! {
        #[test]
        fn no_part_is_negative(target in 0.0..1e-9, generator in 0.0..1e6, seconds in 0.0..1e6) {
            for target in [target, 0.0] {
                for queued in [0.0, generator / 3.0, generator] {
                    let lateness = Lateness { target, generator, queued, ..Lateness::default() };
                    let parts = lateness.parts_of(seconds);
                    prop_assert!((0.0..=seconds).contains(&parts.target), "{parts:?}");
                    prop_assert!((0.0..=seconds).contains(&parts.generator), "{parts:?}");
                    prop_assert!((0.0..=parts.generator).contains(&parts.queued), "{parts:?}");
                    let is_known = queued > 0.0 && seconds > 1e-6;
                    prop_assert!(!is_known || parts.queued > 0.2 * parts.generator, "{parts:?}");
                }
            }
        }
    }
}
