//! Tests: of which round trips a clock believes what.

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

/// How far the store is set ahead by the best of some round trips: how many milliseconds each takes to the store
/// alone, and how far that was set ahead then.
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
fn of_round_trips_before_a_clock_was_set_none_is_the_best() {
    for step_ms in [-60_000, -10, 10, 60_000] {
        assert_eq!(best_ahead_ms(&[(0, 0), (1, 0), (1, step_ms)]), step_ms);
        assert_eq!(best_ahead_ms(&[(0, step_ms), (50, step_ms), (1, step_ms)]), step_ms);
    }
    assert_eq!(best_ahead_ms(&[(0, 0), (100, -40)]), 0, "as far as that can be known");
}

/// A node in a run with frames of a tenth of a second.
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

    /// A round trip from one moment of the machine's clock to another. Returns what the store is to be told, in
    /// microseconds.
    fn trips(
        &mut self,
        (sent_ns, received_ns): (u64, u64),
        (store_us, origin_us): (i64, i64),
        is_alone: bool,
    ) -> Option<i64> {
        self.base.set(Nanos::from_nanos(received_ns));
        let sample = Sample { sent_ns, received_ns, store_us };
        self.leader.take(&self.clock, sample, origin_us, SECOND_NS / 10, is_alone)
    }
}

/// Round trips of so many milliseconds on the way to the store alone, each with how far that was set ahead then,
/// one a tenth of a second after the other. Returns what is told of it, in milliseconds, and what the run's clock
/// shows at the end. The node is alone.
fn told(trips: &[(u64, i64)]) -> (Vec<Option<i64>>, u64) {
    let (mut node, mut now_ns) = (Node::new(), 0);
    let told = trips.iter().map(|&(trip_ms, ahead_ms)| {
        let sent_ns = now_ns + SECOND_NS / 10;
        now_ns = sent_ns + trip_ms * 1_000_000;
        let store_us = (now_ns / 1_000).cast_signed() + 1_000 * ahead_ms;
        let told_us = node.trips((sent_ns, now_ns), (store_us, 0), true);
        told_us.map(|step_us| step_us / 1_000)
    });
    (told.collect(), node.clock.now_ns() / 1_000_000)
}

#[test]
fn a_link_that_is_slow_one_way_is_no_clock_that_was_set() {
    for trips in [[(1_000, 0); 10], [(0, 99); 10]] {
        assert!(told(&trips).0.iter().all(Option::is_none), "{trips:?}");
    }
    assert!(told(&[(0, 150); 10]).0.contains(&Some(150)));
    assert!(told(&[(1_000, 200); 10]).0.contains(&Some(700)));
}

#[test]
fn of_a_store_that_stood_still_the_next_answer_says_how_far_it_was_set() {
    assert_eq!(told(&[(0, 0), (0, 5_000)]).0, [None, Some(5_000)]);
    assert_eq!(told(&[(0, 0), (4_000, 5_000), (0, 5_000)]).0, [None, None, Some(5_000)]);
}

#[test]
fn a_node_that_was_alone_with_something_else_does_not_follow() {
    let [mut same, mut other] = [[(0, 5_000); 25]; 2];
    assert_eq!(told(&same).1, 7_500);
    other[20..].fill((0, 60_000));
    assert_eq!(told(&other).1, 2_500);
    same[20..].fill((0, 5_050));
    assert_eq!(told(&same).1, 7_500, "that is the same, as far as it can know");
}

/// A machine whose clock makes a step forwards after two seconds, or stands still for as long, which no other
/// machine sees. Returns how far the run's clock is from the store's after each tenth of a second, in nanoseconds.
fn off_ns(step_ns: i64, is_alone: bool) -> Vec<i64> {
    let (mut node, mut shown_ns) = (Node::new(), 0);
    let tenths = (1..=100).map(|tenth: u64| tenth * SECOND_NS / 10);
    let off = tenths.map(|at_ns| {
        let step_ns = if at_ns < 2 * SECOND_NS { 0 } else { step_ns };
        let later = |by_ns: i64| at_ns + u64::try_from(by_ns).unwrap_or(0);
        let [base_ns, true_ns] = [later(step_ns), later(-step_ns)];
        let store_us = (true_ns / 1_000).cast_signed();
        let _ = node.trips((base_ns, base_ns), (store_us, 0), is_alone);
        assert!(node.clock.now_ns() >= shown_ns, "it goes back");
        shown_ns = node.clock.now_ns();
        shown_ns.cast_signed() - true_ns.cast_signed()
    });
    off.collect()
}

#[test]
fn a_clock_that_alone_says_otherwise_follows_the_store() {
    for step_ns in [-1_500_000_000, 1_500_000_000] {
        assert_eq!(off_ns(step_ns, false)[99], step_ns, "nobody else says that it is not");
        let off = off_ns(step_ns, true);
        assert_eq!(off[30], step_ns, "it may be the store's clock that was set");
        assert_eq!(off[70], 0, "{off:?}");
    }
}

/// The others have found out, and it hears only that the run began at another moment.
#[test]
fn a_node_that_has_not_seen_that_the_clock_of_the_store_was_set_is_not_led_by_it() {
    let mut node = Node::new();
    for tenth in 1..=100 {
        let sent_ns = tenth * SECOND_NS / 10;
        let (trip_ns, set_us) = if tenth < 25 { (0, 0) } else { (1_000_000, 5_000_000) };
        let store_us = ((sent_ns + trip_ns / 2) / 1_000).cast_signed() + set_us;
        let trip = (sent_ns, sent_ns + trip_ns);
        assert_eq!(node.trips(trip, (store_us, set_us), false), None);
        assert_eq!(node.clock.now_ns(), sent_ns + trip_ns);
    }
}

/// A node that has just begun, and hears then that the run began five seconds later, when the store's clock was set
/// ahead by so much since.
fn moved(ahead_us: i64) -> Node {
    let mut node = Node::new();
    for (tenth, ahead_us, origin_us) in [(1, 0, 0), (2, ahead_us, 5_000_000)] {
        let at_ns = tenth * SECOND_NS / 10;
        let store_us = (at_ns / 1_000).cast_signed() + ahead_us;
        assert_eq!(node.trips((at_ns, at_ns), (store_us, origin_us), false), None);
    }
    node
}

#[test]
fn a_node_that_has_just_begun_follows_a_move_if_its_clock_is_wrong_then() {
    let node = moved(0);
    node.base.set(Nanos::from_nanos(6 * SECOND_NS));
    assert_eq!(node.clock.now_ns(), SECOND_NS);
}

#[test]
fn a_node_that_was_right_after_a_move_is_not_led_by_another_step() {
    let mut node = moved(5_000_000);
    let at_ns = 3 * SECOND_NS / 10;
    let told = node.trips((at_ns, at_ns), (65_300_000, 5_000_000), false);
    assert_eq!((told, node.clock.now_ns()), (Some(60_000_000), at_ns));
}

#[test]
fn a_standing_clock_stands() {
    let clock = RunClock::standing();
    assert_eq!([clock.now_ns(), clock.now_ns()], [0, 0]);
}
