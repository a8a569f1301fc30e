//! Tests pacers whose slots are leased, frame by frame.

use crate::common::random::shapes;
use crate::common::{at, rate, span};
use nanopace::driver::{self, Drive as _, Lease};
use nanopace::{
    Arrivals, Ended, Grant, ManualClock, Nanos, Pacer, PacerBuilder, Refused, Shape, Shard,
    ShardError, Strictness,
};
use proptest::prelude::*;
use std::iter;
use std::time::Duration;

const MOST: usize = 4_000;

/// A load that is leased in frames. The process has some of the tracks of each frame. A track contains every n-th slot.
#[derive(Debug)]
struct Plan {
    shape: Shape,
    poisson: bool,
    frame_ns: u64,
    tracks: u32,
    /// For each frame, the tracks that are leased in advance, and the tracks that are leased when the frame begins.
    frames: Vec<(u32, u32)>,
    ahead: usize,
    by_lane: bool,
}

impl Plan {
    fn short(mut self) -> Plan {
        let is_near = |&frame: &usize| self.first(frame + 1) < MOST as u64;
        self.frames.truncate((0..self.frames.len()).take_while(is_near).count());
        self
    }

    fn arrivals(&self) -> Arrivals {
        if self.poisson { Arrivals::poisson(7) } else { Arrivals::even() }
    }

    fn begins(&self, frame: usize) -> Duration {
        span(self.frame_ns * frame as u64)
    }

    fn first(&self, frame: usize) -> u64 {
        let whole = Shard::new(0, 1).unwrap();
        self.arrivals().starts_before(self.begins(frame), &self.shape, &whole)
    }

    fn lease(&self, frame: usize, mask: u32) -> Lease {
        let own: Vec<u32> = (0..self.tracks).filter(|track| mask >> track & 1 == 1).collect();
        let until = self.first(frame + 1);
        Shard::of(self.tracks, &own).map_or(Lease::nothing(until), |own| Lease::of(own, until))
    }

    fn leased(&self) -> Vec<(u64, Duration)> {
        let all = self.arrivals().starts(self.shape.clone(), Shard::new(0, 1).unwrap());
        let bounds: Vec<u64> = (0..=self.frames.len()).map(|frame| self.first(frame)).collect();
        let is_own = |slot: u64| {
            let frame = bounds.partition_point(|&first| first <= slot) - 1;
            self.frames[frame].1 >> (slot % u64::from(self.tracks)) & 1 == 1
        };
        let until = *bounds.last().unwrap();
        (0..until).zip(all).filter(|&(slot, _)| is_own(slot)).collect()
    }
}

fn plans() -> impl Strategy<Value = Plan> {
    let frames = prop::collection::vec((0_u32..16, 0_u32..16), 1..20);
    let kind = (any::<bool>(), any::<bool>(), 0_usize..4);
    (shapes(), 1_000_000_u64..300_000_000, 1_u32..5, frames, kind).prop_map(
        |(shape, frame_ns, tracks, frames, (poisson, by_lane, ahead))| {
            Plan { shape, poisson, frame_ns, tracks, frames, ahead, by_lane }.short()
        },
    )
}

/// Each frame is leased shortly before it begins, and in advance with each of the `ahead` frames before it. A caller
/// holds a slot during the whole run.
fn run(plan: &Plan) -> Vec<(u64, Duration)> {
    let clock = ManualClock::new();
    let builder = driver::leased(Pacer::shaped(plan.shape.clone()).arrivals(plan.arrivals()));
    let pacer = builder.clock(clock.clone()).build();
    let (mut grants, mut held) = (Vec::new(), pacer.claim().ok());
    let mut lane = plan.by_lane.then(|| pacer.lane());
    let mut acquire = || match &mut lane {
        Some(lane) => lane.try_acquire().ok(),
        None => pacer.try_acquire().ok(),
    };
    for frame in 0..plan.frames.len() {
        if frame > 0 {
            clock.set(at(plan.frame_ns * frame as u64 - 1_000));
        }
        while let Some(grant) = iter::once_with(&mut acquire).flatten().next() {
            grants.push(grant);
        }
        if held.as_mut().is_some_and(|claim| claim.start().is_ok()) {
            grants.extend(held.take().and_then(|mut claim| claim.start().ok()));
            held = pacer.claim().ok();
        }
        let later = frame + 1..(frame + 1 + plan.ahead).min(plan.frames.len());
        let leases: Vec<Lease> = iter::once(plan.lease(frame, plan.frames[frame].1))
            .chain(later.map(|later| plan.lease(later, plan.frames[later].0)))
            .collect();
        assert_eq!(pacer.lease(plan.first(frame), &leases), Ok(()), "frame {frame}");
    }
    pacer.lease(plan.first(plan.frames.len()), &[Lease::nothing(u64::MAX)]).unwrap();
    clock.set(at(plan.frame_ns * plan.frames.len() as u64 + 1_000_000_000));
    drop(held);
    grants.extend(iter::from_fn(acquire));
    grants.iter().map(|grant| (grant.slot(), grant.intended_start() - Nanos::ZERO)).collect()
}

proptest! {
    #[test]
    fn only_leased_slots_start(plan in plans()) {
        let (mut started, leased) = (run(&plan), plan.leased());
        started.sort_unstable();
        prop_assert_eq!(started.len(), leased.len(), "{:?} {:?}", started, leased);
        for ((slot, started), (own, leased)) in started.iter().zip(&leased) {
            prop_assert_eq!(slot, own);
            prop_assert!(started.abs_diff(*leased).as_nanos() <= 1, "{started:?} {leased:?}");
        }
    }
}

fn leased(text: &str) -> (ManualClock, Pacer) {
    let clock = ManualClock::new();
    let builder = driver::leased(Pacer::shaped(text.parse().unwrap()));
    (clock.clone(), builder.clock(clock).build())
}

fn all() -> Shard {
    Shard::new(0, 1).unwrap()
}

fn start(grant: Result<Grant, Refused>) -> Result<u64, Refused> {
    grant.map(|grant| grant.intended_start().as_nanos() / 1_000_000)
}

#[test]
fn a_shape_does_not_end_before_all_of_it_is_leased() {
    let (clock, pacer) = leased("hold 10/s 1s");
    clock.set(at(5_000_000_000));
    assert_eq!(pacer.try_acquire(), Err(Refused::NotUntil(Nanos::MAX)));
    assert!(!pacer.is_finished());
    pacer.lease(0, &[Lease::of(Shard::new(9, 10).unwrap(), 9)]).unwrap();
    assert_eq!(pacer.try_acquire(), Err(Refused::NotUntil(Nanos::MAX)));
    pacer.lease(9, &[Lease::of(all(), 10)]).unwrap();
    assert_eq!(start(pacer.try_acquire()), Ok(900));
    assert_eq!(pacer.try_acquire(), Err(Refused::Finished));
    assert!(pacer.is_finished());
}

#[test]
fn a_load_without_end_ends_with_its_last_lease() {
    let (clock, pacer) = leased("hold 10/s 1s forever");
    pacer.lease(0, &[Lease::of(all(), 2)]).unwrap();
    assert_eq!(start(pacer.try_acquire()), Ok(0));
    let mut held = pacer.claim().unwrap();
    let behind = pacer.claim().unwrap();
    pacer.lease(2, &[Lease::nothing(u64::MAX)]).unwrap();
    clock.set(at(100_000_000));
    assert!(held.start().is_ok());
    assert_eq!(behind.due(), Err(Ended::Finished));
    assert_eq!(pacer.acquire(), Err(Ended::Finished));
}

#[test]
fn slots_that_may_have_started_are_not_leased_again() {
    let (clock, pacer) = leased("hold 10/s 1s forever");
    pacer.lease(0, &[Lease::of(all(), 5)]).unwrap();
    clock.set(at(200_000_000)); // slots 0 to 2 are due
    assert_eq!(pacer.lease(2, &[Lease::of(all(), 9)]), Err(ShardError::TooLate));
    assert_eq!(pacer.lease(3, &[Lease::nothing(5), Lease::of(all(), 7)]), Ok(()));
    clock.set(at(900_000_000));
    let starts: Vec<_> = iter::from_fn(|| start(pacer.try_acquire()).ok()).collect();
    assert_eq!(starts, [0, 100, 200, 500, 600]);
}

#[test]
fn the_rest_begins_at_the_requested_slot_or_later() {
    let (clock, pacer) = leased("hold 10/s 1s forever");
    pacer.lease(0, &[Lease::of(all(), 8)]).unwrap();
    clock.set(at(200_000_000)); // slots 0 to 2 are due
    assert_eq!(pacer.lease_rest(6, &[Lease::nothing(8), Lease::of(all(), 9)]), 6);
    clock.set(at(2_000_000_000));
    let starts: Vec<_> = iter::from_fn(|| start(pacer.try_acquire()).ok()).collect();
    assert_eq!(starts, [0, 100, 200, 300, 400, 500, 800]);
}

#[test]
fn slots_started_before_two_changes_are_not_leased_again() {
    let (clock, pacer) = leased("hold 10/s 100s");
    pacer.lease(0, &[Lease::of(all(), 20)]).unwrap();
    clock.set(at(1_000_000_000));
    assert_eq!(iter::from_fn(|| start(pacer.try_acquire()).ok()).count(), 11);
    assert_eq!(pacer.lease_rest(4, &[]), 11);
    pacer.correct_shape("hold 1/s 100s".parse().unwrap());
    clock.set(at(2_000_000_000));
    assert_eq!(pacer.lease_rest(4, &[]), 11);
    pacer.correct_shape("hold 1/s 2s, hold 10/s 98s".parse().unwrap());
    assert_eq!(pacer.lease(4, &[Lease::nothing(11)]), Err(ShardError::TooLate));
    assert_eq!(pacer.lease_rest(4, &[Lease::of(all(), 14)]), 11);
    clock.set(at(9_000_000_000));
    let starts: Vec<_> = iter::from_fn(|| start(pacer.try_acquire()).ok()).collect();
    assert_eq!(starts, [2900, 3000, 3100]);
}

#[test]
fn a_lease_of_the_past_starts_late() {
    let clock = ManualClock::new();
    let pacer = driver::leased(Pacer::builder(rate("10/s"))).clock(clock.clone()).build();
    clock.set(at(500_000_000));
    pacer.lease(0, &[Lease::of(Shard::new(1, 2).unwrap(), 4)]).unwrap();
    let waits: Vec<_> = iter::from_fn(|| pacer.try_acquire().ok()).map(Grant::wait_time).collect();
    assert_eq!(waits, [400, 200].map(Duration::from_millis));
}

#[test]
fn a_corrected_load_is_the_new_one_from_now_on() {
    for old in ["hold 10/s 1s forever", "hold 10/s 100s", "ramp 10/s..10/s 100s"] {
        for new in ["hold 20/s 1s forever", "hold 20/s 100s", "ramp 20/s..20/s 100s"] {
            let clock = ManualClock::new();
            let pacer = Pacer::shaped(old.parse().unwrap()).clock(clock.clone()).build();
            clock.set(at(250_000_000)); // slots 0 to 2 are due
            let mut held = pacer.claim().unwrap();
            pacer.correct_shape(new.parse().unwrap());
            assert_eq!(start(held.start()), Ok(0));
            let starts: Vec<_> = iter::from_fn(|| start(pacer.try_acquire()).ok()).collect();
            assert_eq!(starts, [100, 200, 150, 200, 250], "{old}, {new}");
            clock.set(at(10_000_000_000));
            let starts = iter::from_fn(|| start(pacer.try_acquire()).ok());
            assert!(starts.eq((300..=10_000).step_by(50)), "{old}, {new}");
        }
    }
}

#[test]
fn backlog_is_kept_at_the_tempo_of_the_corrected_load() {
    let clock = ManualClock::new();
    let builder = Pacer::builder(rate("1k/s")).max_backlog(Duration::from_millis(2));
    let pacer = builder.clock(clock.clone()).build();
    clock.set(at(8_000_000));
    assert_eq!(start(pacer.try_acquire()), Ok(0)); // moves the following slots by 6 ms
    pacer.correct_shape("hold 2k/s 1h".parse().unwrap());
    let intended = |grant: Grant| (grant.intended_start() - Nanos::ZERO).as_micros();
    let starts: Vec<_> = iter::from_fn(|| pacer.try_acquire().ok()).map(intended).collect();
    // Slots 1 and 2 were due already. Slot 3 starts 6.5 ms late, and again only 2 ms of this lateness are kept.
    assert_eq!(starts, [7_000, 8_000, 1_500, 6_500, 7_000, 7_500, 8_000]);
}

type Change = fn(&Pacer);

/// Returns a pacer of 10/s that is corrected to 1/s at 1 s. The first `started` slots have started on time.
fn corrected_to_less(
    policy: fn(PacerBuilder) -> PacerBuilder,
    started: u64,
    (changed_ms, change): (u64, Change),
) -> (ManualClock, Pacer) {
    let clock = ManualClock::new();
    let pacer = policy(Pacer::builder(rate("10/s"))).clock(clock.clone()).build();
    for slot in 0..started {
        clock.set(at(100_000_000 * slot));
        pacer.try_acquire().unwrap();
    }
    clock.set(at(1_000_000_000));
    pacer.correct_shape("hold 1/s 1h".parse().unwrap());
    clock.set(at(1_000_000 * changed_ms));
    change(&pacer);
    (clock, pacer)
}

#[test]
fn a_late_start_brings_nothing_forward_of_a_load_that_was_corrected_to_less() {
    let changes: [(Change, [u64; 3]); 3] = [
        (|_| {}, [10_000, 11_000, 12_000]),
        (|pacer| pacer.set_rate(rate("10/s")), [2_350, 2_450, 2_550]),
        (|pacer| pacer.set_shape("hold 10/s 1h".parse().unwrap()), [2_350, 2_450, 2_550]),
    ];
    for (index, (change, expected)) in changes.into_iter().enumerate() {
        let strict = |builder: PacerBuilder| builder.strictness(Strictness::STRICT);
        let (clock, pacer) = corrected_to_less(strict, 9, (1_500, change));
        clock.set(at(1_600_000_000));
        let asked = || [1_600, 3_000].map(|ms| pacer.asked_count(at(1_000_000 * ms)));
        let before = asked();
        assert_eq!(start(pacer.try_acquire()), Ok(900));
        for (now, before) in asked().into_iter().zip(before) {
            assert!((now - before).abs() < 1e-3, "{index}: {now}, {before}");
        }
        for ms in expected {
            clock.set(at(1_000_000 * ms + 1)); // a line's anchor is rounded to a whole nanosecond
            let waited = pacer.try_acquire().unwrap().wait_time();
            assert!(waited <= Duration::from_nanos(1), "{index}: {ms} ms, {waited:?}");
            assert!(pacer.try_acquire().is_err(), "{index}: {ms} ms");
        }
    }
}

#[test]
fn the_rest_of_the_backlog_brings_no_slot_forward_of_a_load_that_was_corrected_to_less() {
    let changes: [(Change, [u64; 4]); 2] = [
        (|_| {}, [1_000, 7_000, 8_000, 9_000]),
        (|pacer| pacer.set_rate(rate("10/s")), [1_000, 1_780, 1_880, 1_980]),
    ];
    for (change, expected) in changes {
        let partial = |builder: PacerBuilder| builder.max_backlog(Duration::from_millis(600));
        let (clock, pacer) = corrected_to_less(partial, 5, (1_200, change));
        clock.set(at(1_500_000_000));
        assert_eq!(start(pacer.try_acquire()), Ok(500)); // moves the next slot to 1 s
        for ms in expected {
            clock.set(at(1_500_000_000.max(1_000_000 * ms + 10))); // anchors are whole nanoseconds
            assert_eq!(start(pacer.try_acquire()), Ok(ms));
        }
    }
}

#[test]
fn forfeited_time_brings_no_slot_forward_that_is_leased_after_a_correction() {
    let clock = ManualClock::new();
    let builder = Pacer::builder(rate("20/s")).strictness(Strictness::new(0.5).unwrap());
    let pacer = driver::leased(builder).clock(clock.clone()).build();
    pacer.lease(0, &[Lease::of(all(), 2)]).unwrap();
    clock.set(at(900_000_000));
    pacer.correct_shape("hold 1/s 1h".parse().unwrap());
    pacer.lease(2, &[Lease::of(all(), 4)]).unwrap();
    assert_eq!(start(pacer.try_acquire()), Ok(0)); // moves later slots as if it had started at 450 ms
    let due: Vec<_> = (0..3).map(|slots| pacer.due_after(slots)).collect();
    assert_eq!(due, [500, 2_000, 3_000].map(|ms| Ok(at(1_000_000 * ms))));
}

#[test]
fn a_correction_after_the_end_changes_nothing() {
    for (backlog, start_before) in [(None, true), (Some(0), true), (Some(0), false)] {
        for new in ["hold 40/s 1h", "hold 1/s 1h", "hold 0/s 1h"] {
            let clock = ManualClock::new();
            let builder = Pacer::builder(rate("10/s")).until(Duration::from_millis(450));
            let pacer = builder.clock(clock.clone()).build();
            clock.set(at(1_000_000_000));
            pacer.set_max_backlog(backlog.map(Duration::from_millis));
            let told = || {
                let now = pacer.now();
                (pacer.asked_before(now), pacer.asked_count(now), pacer.ledger())
            };
            if start_before {
                assert_eq!(start(pacer.try_acquire()), Ok(0));
            }
            let before = told();
            pacer.correct_shape(new.parse().unwrap());
            clock.set(at(2_000_000_000));
            assert_eq!(told(), before, "{backlog:?} {new}");
            assert!(start_before || start(pacer.try_acquire()) == Ok(0));
            assert_eq!((told().0, told().1), (5, 4.5), "{backlog:?} {new}");
            let more = iter::from_fn(|| start(pacer.try_acquire()).ok()).count();
            assert_eq!(more, if backlog.is_none() { 4 } else { 0 }, "{new}");
        }
    }
}

#[test]
fn slots_that_never_started_are_listed_where_leases_are_forgotten() {
    let (clock, pacer) = leased("hold 1k/s 1h");
    let half = |frame: u64| Shard::new(u32::from(frame % 2 == 1), 2).unwrap();
    let leases: Vec<_> = (0..3_000).map(|frame| Lease::of(half(frame), 10 * (frame + 1))).collect();
    pacer.lease(0, &leases).unwrap();
    clock.set(at(30_000_000_000));
    for _ in 0..149 {
        pacer.acquire_many(100).unwrap();
    }
    for from in 0..30 {
        let unstarted = pacer.unstarted(at(1_000_000_000 * from)..at(30_000_000_000));
        assert_eq!(unstarted.iter().map(|(_, slots)| slots).sum::<u64>(), 100, "from {from} s");
        assert!(pacer.asked_before(at(1_000_000_000 * from)) <= 15_000, "before {from} s");
    }
}

#[test]
fn a_load_that_is_corrected_to_less_goes_on_from_zero() {
    for new in ["hold 1/s 1s, hold 0/s 1h", "hold 1/s 1s"] {
        let clock = ManualClock::new();
        let pacer = Pacer::builder(rate("10/s")).clock(clock.clone()).build();
        clock.set(at(1_000_000_000));
        assert!(pacer.acquire_many(11).is_ok());
        pacer.correct_shape(new.parse().unwrap());
        clock.set(at(1_500_000_000));
        pacer.set_rate(rate("10/s"));
        assert_eq!(pacer.next_due(), Ok(at(2_500_000_000)), "{new}");
    }
}

#[test]
fn slots_due_before_a_correction_to_less_are_still_due() {
    for ends in [None, Some(1_200), Some(1_400)].map(|end| end.map(Duration::from_millis)) {
        for new in ["hold 1/s 1h", "hold 1/s 1s, hold 0/s 1h", "ramp 0/s..1/s 1h"] {
            let clock = ManualClock::new();
            let builder = Pacer::builder(rate("10/s")).clock(clock.clone());
            let pacer = ends.into_iter().fold(builder, PacerBuilder::until).build();
            clock.set(at(1_000_000_000));
            pacer.correct_shape(new.parse().unwrap());
            for now in [1_000_000_001, 1_500_000_000, 3_000_000_000] {
                clock.set(at(now));
                assert_eq!(pacer.asked_before(at(now)), 11, "{ends:?} {new} {now}");
                assert_eq!(pacer.ledger().backlog_slots, 11, "{ends:?} {new} {now}");
                let unstarted = pacer.unstarted(Nanos::ZERO..at(now));
                assert_eq!(
                    unstarted.iter().map(|(_, slots)| slots).sum::<u64>(),
                    11,
                    "{ends:?} {new} {now}"
                );
            }
            let starts = iter::from_fn(|| start(pacer.try_acquire()).ok());
            assert!(starts.eq((0..11).map(|slot| slot * 100)), "{ends:?} {new}");
        }
    }
}

#[test]
fn slots_leased_after_a_change_after_the_end_do_not_start() {
    let changes: [Change; 3] = [
        |pacer| pacer.set_rate(rate("2k/s")),
        |pacer| pacer.set_shape("hold 2k/s 1h".parse().unwrap()),
        |pacer| pacer.correct_shape("hold 2k/s 1h".parse().unwrap()),
    ];
    for (index, change) in changes.iter().enumerate() {
        for until in [5, 10, 100, 1_000, u64::MAX] {
            let clock = ManualClock::new();
            let builder = Pacer::builder(rate("1k/s")).until(Duration::from_millis(600));
            let pacer = driver::leased(builder).clock(clock.clone()).build();
            pacer.lease(0, &[Lease::of(all(), 5)]).unwrap();
            clock.set(at(1_000_000_000));
            let mut held: Vec<_> = (0..6).map(|_| pacer.claim().unwrap()).collect();
            change(&pacer);
            let _ = pacer.lease_rest(5, &[Lease::of(all(), until)]);
            clock.set(at(2_000_000_000));
            let starts: Vec<_> = held.iter_mut().map(|claim| start(claim.start())).collect();
            let ended = Refused::Finished;
            let expected = [Ok(0), Ok(1), Ok(2), Ok(3), Ok(4), Err(ended)];
            assert_eq!(starts, expected, "change {index}, leased until {until}");
            assert_eq!(pacer.try_acquire(), Err(ended), "change {index}, leased until {until}");
            assert_eq!(pacer.ledger().backlog_slots, 0, "change {index}, leased until {until}");
        }
    }
}

fn take(step: (u8, u64, u64), pacer: &Pacer, clock: &ManualClock) {
    let (kind, a, b) = step;
    match kind {
        0 => drop(pacer.lease(a, &[Lease::of(all(), a + b)])),
        1 => drop(pacer.set_shard(Shard::new(0, 3).unwrap(), a)),
        2 => pacer.set_rate(rate(if b % 2 == 0 { "500/s" } else { "2k/s" })),
        3 => (0..b).for_each(|_| _ = pacer.try_acquire()),
        _ => clock.advance(Duration::from_millis(a)),
    }
}

proptest! {
    #[test]
    fn nothing_is_due_when_the_schedule_has_ended(
        steps in prop::collection::vec((0_u8..6, 0_u64..16, 0_u64..16), 1..10)
    ) {
        let clock = ManualClock::new();
        let builder = Pacer::builder(rate("1k/s")).until(Duration::from_millis(10));
        let pacer = driver::leased(builder).clock(clock.clone()).build();
        for step in steps {
            take(step, &pacer, &clock);
            prop_assert!(!pacer.is_finished() || pacer.ledger().backlog_slots == 0, "{step:?}");
        }
    }
}

#[test]
fn an_end_by_time_waits_for_leases_after_a_change_before_it() {
    let clock = ManualClock::new();
    let builder = Pacer::builder(rate("1k/s")).until(Duration::from_millis(20));
    let pacer = driver::leased(builder).clock(clock.clone()).build();
    pacer.lease(0, &[Lease::of(all(), 5)]).unwrap();
    clock.set(at(10_000_000));
    pacer.set_rate(rate("2k/s"));
    clock.set(at(1_000_000_000));
    assert_eq!(iter::from_fn(|| pacer.try_acquire().ok()).count(), 5);
    assert_eq!(pacer.try_acquire(), Err(Refused::NotUntil(Nanos::MAX)));
    assert_eq!(pacer.lease_rest(5, &[Lease::of(all(), 100)]), 5);
    assert_eq!(iter::from_fn(|| pacer.try_acquire().ok()).count(), 25);
    assert_eq!(pacer.try_acquire(), Err(Refused::Finished));
}

#[test]
fn slots_due_before_a_correction_stay_due_through_the_next_change() {
    let changes: [Change; 4] = [
        |pacer| pacer.set_rate(rate("10/s")),
        |pacer| pacer.set_shape("hold 10/s 1h".parse().unwrap()),
        |pacer| pacer.set_shape("hold 1/s 2h".parse().unwrap()),
        |pacer| pacer.set_rate(rate("20/s")),
    ];
    for new in ["hold 1/s 1h", "hold 1/s 1s, hold 0/s 1h", "hold 1/s 1s"] {
        for (index, change) in changes.iter().enumerate() {
            let clock = ManualClock::new();
            let pacer = Pacer::builder(rate("10/s")).clock(clock.clone()).build();
            clock.set(at(1_000_000_000));
            pacer.correct_shape(new.parse().unwrap());
            clock.set(at(1_500_000_000));
            change(&pacer);
            clock.set(at(1_600_000_000));
            pacer.set_rate(rate("5/s"));
            let starts: Vec<_> = iter::from_fn(|| start(pacer.try_acquire()).ok()).collect();
            assert_eq!(starts, (0..11).map(|slot| slot * 100).collect::<Vec<_>>(), "{new} {index}");
        }
    }
}

#[test]
fn a_load_that_is_corrected_to_less_goes_on_where_it_was() {
    for (until, started_first) in [(20, 6), (26, 7)] {
        let (clock, pacer) = leased("hold 20/s 100s");
        let part = || Shard::new(2, 3).unwrap();
        pacer.lease(0, &[Lease::of(part(), until)]).unwrap();
        clock.set(at(1_000_000_000));
        let started = iter::from_fn(|| start(pacer.try_acquire()).ok()).count();
        let mut held = pacer.claim().unwrap();
        pacer.lease(21, &[]).unwrap();
        pacer.correct_shape("hold 10/s 100s".parse().unwrap());
        assert_eq!(pacer.lease_rest(4, &[]), 21);
        for now in [1_100_000_000, 1_500_000_000, 1_800_000_000] {
            clock.set(at(now));
            for from in [1, 11, 15] {
                assert_eq!(pacer.lease(from, &[Lease::nothing(17)]), Err(ShardError::TooLate));
            }
            pacer.lease(21, &[Lease::of(part(), 30)]).unwrap(); // from 2.1 s on
            assert!(held.start().is_err());
        }
        clock.set(at(2_900_000_000));
        let rest = iter::from_fn(|| start(pacer.try_acquire()).ok());
        let starts: Vec<_> = iter::once(start(held.start()).unwrap()).chain(rest).collect();
        assert_eq!((started, &starts[..]), (started_first, &[2_300, 2_600, 2_900][..]));
    }
}

/// A gap between leases would leave a slot without an owner, and an overlap would give a slot two owners.
#[test]
fn leases_follow_one_another() {
    let (clock, pacer) = leased("hold 10/s 10s");
    let mixed =
        [Lease::of(all(), 20), Lease::of(Shard::new(1, 2).unwrap(), 10), Lease::of(all(), 30)];
    assert_eq!(pacer.lease(0, &mixed), Err(ShardError::Order));
    assert_eq!(pacer.try_acquire(), Err(Refused::NotUntil(Nanos::MAX)), "nothing is changed");
    // `lease_rest` refuses nothing, and treats the second lease as empty.
    assert_eq!(pacer.lease_rest(0, &mixed), 0);
    clock.set(at(10_000_000_000));
    let starts: Vec<_> = iter::from_fn(|| start(pacer.try_acquire()).ok()).collect();
    assert_eq!(starts, (0..30).map(|slot| slot * 100).collect::<Vec<_>>());
    // Two leases that end at the same slot are in order.
    assert_eq!(pacer.lease(30, &[Lease::of(all(), 40), Lease::nothing(40)]), Ok(()));
}

#[test]
fn a_pacer_that_has_all_slots_is_leased_the_rest() {
    let clock = ManualClock::jumping();
    let pacer = Pacer::builder(rate("10/s")).clock(clock.clone()).build();
    pacer.lease(2, &[Lease::of(Shard::new(0, 2).unwrap(), 8)]).unwrap();
    let tenths = |grant: Grant| grant.intended_start().as_nanos() / 100_000_000;
    let starts: Vec<_> = (0..5).map(|_| tenths(pacer.acquire().unwrap())).collect();
    assert_eq!(starts, [0, 1, 2, 4, 6]);
    assert_eq!(pacer.try_acquire(), Err(Refused::NotUntil(Nanos::MAX)));
}
