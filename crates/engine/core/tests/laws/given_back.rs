//! Tests that no slot is lost or handed out twice when slots, or rows of slots, are claimed and given back.

use crate::common::{
    MICRO, MILLI, SECOND, assert_balanced, build, drain, finish, intended_ns, intended_starts,
    paced, rate, sleepers, span,
};
use nanopace::ManualClock;
use nanopace::driver::Drive as _;

#[test]
fn a_timer_is_set_for_free_slots() {
    let (_, pacer) = paced("10/s");
    let mut claims: Vec<_> = (0..6).map(|_| Some(pacer.claim().expect("open"))).collect();
    for slot in [1, 4, 2] {
        claims[slot] = None;
    }
    let due = (0..6).map(|slots| pacer.due_after(slots).expect("open").as_nanos() / MILLI);
    assert_eq!(due.collect::<Vec<_>>(), [100, 200, 400, 600, 700, 800]);
}

#[test]
fn a_claim_given_back_goes_to_a_sleeper_with_a_later_slot() {
    let (clock, pacer) = paced("10/s");
    pacer.try_acquire().expect("due at once");
    let claims: Vec<_> = (0..3).map(|_| pacer.claim().expect("open")).collect();
    let threads = sleepers(3, &pacer);
    drop(claims);
    clock.advance(span(300 * MILLI));
    let grants = finish("sleepers", threads, || ()).into_iter().map(|grant| grant.expect("open"));
    assert_eq!(intended_starts(grants), [100, 200, 300].map(|ms| ms * MILLI));
    clock.advance(span(300 * MILLI));
    assert_eq!(intended_starts(drain(&pacer)), [400, 500, 600].map(|ms| ms * MILLI));
}

#[test]
fn a_claim_that_comes_back_shows_its_whole_wait() {
    for (arrivals, starts) in
        ["even", "poisson"].into_iter().flat_map(|it| (3..40).map(move |n| (it, n)))
    {
        let clock = ManualClock::new();
        let pacer = build("1M/s", &clock).arrivals(arrivals.parse().unwrap()).build();
        clock.advance(span(SECOND));
        assert!((0..starts).all(|_| pacer.acquire().is_ok()));
        let claim = pacer.claim().expect("open");
        clock.advance(span(SECOND));
        drop(claim);
        let grant = pacer.acquire().expect("open");
        assert_eq!(grant.slot(), starts, "{arrivals}");
        assert_eq!(grant.actual_start(), pacer.now(), "{arrivals}, {starts}");
    }
}

#[test]
fn a_lane_that_is_dropped_gives_back_the_slots_it_has_not_started() {
    let clock = ManualClock::jumping();
    let pacer = build("100M/s", &clock).build();
    let mut starts = Vec::new();
    for _ in 0..50 {
        let mut lanes = [pacer.lane(), pacer.lane(), pacer.lane()];
        for (turns, lane) in (1..).zip(&mut lanes) {
            starts.extend((0..turns * 7).map(|_| intended_ns(lane.acquire().expect("open"))));
        }
    }
    assert_eq!((starts.len(), pacer.ledger().granted), (2_100, 2_100));
    // The slots that the dropped lanes had not started are handed out first.
    let last = starts.iter().max().expect("many") / 10;
    starts.extend((2_100..=last).map(|_| intended_ns(pacer.acquire().expect("open"))));
    starts.sort_unstable();
    assert!(
        starts.into_iter().eq((0..=last).map(|slot| slot * 10)),
        "each slot starts once, 10 ns apart"
    );
    assert_balanced(&pacer);
}

#[test]
fn a_lane_that_gives_back_still_reads_the_clock_in_time() {
    for (operation_ns, started) in [(1_000, 1), (1_000, 3), (700, 2), (3_000, 1), (400, 17)] {
        let (clock, pacer) = paced("100M/s");
        clock.advance(span(SECOND));
        let mut lane = pacer.lane();
        for turn in 0..400 {
            let grant = lane.acquire().expect("open");
            let age = pacer.now() - grant.actual_start();
            assert!(age < span(10 * MICRO), "{operation_ns} ns each: {age:?} in turn {turn}");
            clock.advance(span(operation_ns));
            if turn % 50 == started {
                lane.give_back();
            }
        }
    }
}

fn run_after(times: usize) -> u64 {
    let (clock, pacer) = paced("100M/s");
    clock.advance(span(SECOND));
    let mut lane = pacer.lane();
    for _ in 0..100 {
        lane.acquire().expect("open");
        clock.advance(span(MICRO));
    }
    (0..times).for_each(|_| lane.give_back());
    let first = lane.acquire().expect("open").slot();
    pacer.acquire().expect("open").slot() - first
}

#[test]
fn giving_back_nothing_keeps_the_pace() {
    assert_eq!(run_after(2), run_after(1));
    assert!((2..10).contains(&run_after(1)), "{}", run_after(1));
}

#[test]
fn a_lane_gives_back_when_the_rate_falls() {
    let clock = ManualClock::jumping();
    let pacer = build("100M/s", &clock).build();
    let mut lane = pacer.lane();
    let first = intended_ns(lane.acquire().expect("open"));
    pacer.set_rate(rate("1/s"));
    let second = intended_ns(lane.acquire().expect("open"));
    lane.give_back();
    let third = intended_ns(pacer.acquire().expect("open"));
    assert_eq!(first, 0);
    assert!(third - second <= SECOND + 1 && third > second, "{first} {second} {third}");
    assert_eq!(pacer.ledger().granted, 3);
}

#[test]
fn a_row_that_is_skipped_is_replaced_by_a_row() {
    let clock = ManualClock::new();
    let pacer = build("1k/s", &clock).skip_later_than(span(100 * MILLI)).build();
    let mut claim = pacer.claim_many(500).expect("open");
    clock.advance(span(2_000 * MILLI));
    let grant = claim.start().expect("the first slot that is not too late is due");
    assert_eq!(intended_ns(grant), 1_900 * MILLI);
    assert_eq!((pacer.ledger().granted, pacer.ledger().skipped), (500, 1_900));
    assert_balanced(&pacer);
}

/// A row consists of new slots. Returned slots that are too late are skipped together with the row.
#[test]
fn slots_that_came_back_are_skipped_with_a_row_that_is_too_late() {
    let clock = ManualClock::new();
    let pacer = build("1k/s", &clock).skip_later_than(span(100 * MILLI)).build();
    let earlier = pacer.claim().expect("slot 0");
    let mut row = pacer.claim_many(500).expect("open");
    drop(earlier);
    clock.advance(span(2_000 * MILLI));
    row.start().expect("the first slot that is not too late is due");
    assert_eq!((pacer.ledger().granted, pacer.ledger().skipped), (500, 1_900));
    assert_balanced(&pacer);
}
