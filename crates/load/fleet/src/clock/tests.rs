//! Checks that a clock uses the right round trips, and that its time mapping is exact.

use super::*;
use nanopace::ManualClock;

#[test]
fn a_mapping_is_exact_for_years() {
    let mapping = Mapping { base_ns: 5, run_ns: 7, faster_ppb: MOST_PPB };
    assert_eq!(mapping.at(5), 7);
    assert_eq!(mapping.at(4), 7);
    assert_eq!(mapping.at(1_000_000_005), 1_000_500_007);
    let year = 31_536_000_000_000_000;
    assert_eq!(mapping.at(5 + year), 7 + year + year / 2_000);
}

const SECOND_NS: u64 = 1_000_000_000;

/// Returns by how many ms the best sample places the store's clock ahead. Each pair of `trips` contains the time in ms
/// that the request takes (the response takes none), and by how many ms the store's clock is really ahead.
fn best_ahead_ms(trips: &[(u64, i64)]) -> i64 {
    let (mut samples, mut now_ns) = (Samples::default(), 0);
    for &(trip_ms, ahead_ms) in trips {
        let sent_ns = now_ns + SECOND_NS / 50;
        now_ns = sent_ns + trip_ms * 1_000_000;
        let store_us = (now_ns / 1_000).cast_signed() + 1_000 * ahead_ms;
        samples.add(Sample { sent_ns, received_ns: now_ns, store_us });
    }
    let best = samples.best();
    best.store_us / 1_000 - (best.received_ns / 1_000_000).cast_signed()
}

#[test]
fn a_round_trip_before_a_clock_was_set_is_never_the_best() {
    for step_ms in [-60_000, -10, 10, 60_000] {
        assert_eq!(best_ahead_ms(&[(0, 0), (1, 0), (1, step_ms)]), step_ms);
        assert_eq!(best_ahead_ms(&[(0, step_ms), (50, step_ms), (1, step_ms)]), step_ms);
    }
    assert_eq!(best_ahead_ms(&[(0, 0), (100, -40)]), 0, "the long round trip hides the step");
}

struct Node {
    base: ManualClock,
    clock: RunClock<ManualClock>,
    leader: Leader,
}

impl Node {
    fn new() -> Node {
        let base = ManualClock::new();
        let clock = RunClock::over(base.clone());
        let leader = Leader::new(&clock, &Sample { sent_ns: 0, received_ns: 0, store_us: 0 }, 0);
        Node { base, clock, leader }
    }

    fn trips(&mut self, (sent_ns, received_ns): (u64, u64), store_us: i64) {
        self.base.set(Nanos::from_nanos(received_ns));
        let sample = Sample { sent_ns, received_ns, store_us };
        self.leader.take(&self.clock, sample, 0, SECOND_NS / 10);
    }
}

/// Returns by how many ms the run's clock was set. `trips` contains the same pairs as for [`best_ahead_ms`].
fn stepped_ms(trips: impl IntoIterator<Item = (u64, i64)>) -> u64 {
    let (mut node, mut now_ns) = (Node::new(), 0);
    for (trip_ms, ahead_ms) in trips {
        let sent_ns = now_ns + SECOND_NS / 10;
        now_ns = sent_ns + trip_ms * 1_000_000;
        node.trips((sent_ns, now_ns), (now_ns / 1_000).cast_signed() + 1_000 * ahead_ms);
    }
    node.leader.stepped_ns() / 1_000_000
}

#[test]
fn a_link_that_is_slow_one_way_is_no_clock_that_was_set() {
    for trip in [(1_000, 0), (0, 99)] {
        assert_eq!(stepped_ms([trip; 100]), 0, "{trip:?}");
    }
    assert_eq!(stepped_ms([(0, 150); 100]), 150);
    assert_eq!(stepped_ms([(1_000, 200); 100]), 700);
}

#[test]
fn a_clock_that_is_off_for_less_than_two_seconds_is_not_followed() {
    let off = |tenths| [(0, 5_000)].into_iter().cycle().take(tenths);
    assert_eq!(stepped_ms(off(20)), 0);
    assert_eq!(stepped_ms(off(20).chain([(0, 0)]).chain(off(20))), 0, "it was right meanwhile");
    assert_eq!(stepped_ms(off(21)), 5_000);
}

#[test]
fn a_clock_that_is_set_twice_is_followed_to_where_it_is() {
    let trips = |ahead_ms| [(0, ahead_ms)].into_iter().cycle().take(15);
    assert_eq!(stepped_ms(trips(5_000).chain(trips(60_000))), 60_000);
}

/// Lets the machine's clock jump forward by `step_ns` after two seconds, or stop for this time if `step_ns` is
/// negative. Returns the run's clock minus the store's clock after each tenth of a second.
fn off_ns(step_ns: i64) -> Vec<i64> {
    let (mut node, mut shown_ns) = (Node::new(), 0);
    let tenths = (1..=100).map(|tenth: u64| tenth * SECOND_NS / 10);
    let off = tenths.map(|at_ns| {
        let step_ns = if at_ns < 2 * SECOND_NS { 0 } else { step_ns };
        let later = |by_ns: i64| at_ns + u64::try_from(by_ns).unwrap_or(0);
        let [base_ns, true_ns] = [later(step_ns), later(-step_ns)];
        node.trips((base_ns, base_ns), (true_ns / 1_000).cast_signed());
        assert!(node.clock.now_ns() >= shown_ns, "it goes back");
        shown_ns = node.clock.now_ns();
        shown_ns.cast_signed() - true_ns.cast_signed()
    });
    off.collect()
}

#[test]
fn a_clock_that_was_set_follows_the_store() {
    for step_ns in [-1_500_000_000, 1_500_000_000] {
        let off = off_ns(step_ns);
        assert_eq!((off[30], off[70]), (step_ns, 0), "{off:?}");
    }
}

#[test]
fn a_stopped_clock_does_not_advance() {
    let clock = RunClock::standing();
    assert_eq!([clock.now_ns(), clock.now_ns()], [0, 0]);
}
