//! Tests decisions about slots, and the end of a run, with a manual clock.

use super::*;
use nanopace::{ManualClock, Rate};
use std::sync::mpsc::{self, Receiver};

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A time before the end of each span.
const NOW: Nanos = Nanos::ZERO;

fn length(warmup: u64, duration: u64) -> RunLength {
    RunLength {
        warmup: secs(warmup),
        duration: secs(duration),
        most: None,
        counted: None,
        slots: None,
        spacing: Spacing::Even,
        is_steady: true,
        share: 1.0,
        constant_hz: None,
        is_closed: false,
        ends_with_load: false,
        longest: Duration::MAX,
    }
}

/// Returns the length of a run at 1/s with a fixed number of requests and a limit of one hour.
fn counted(warmup: u64, slots: u64) -> RunLength {
    let counted = Counted { first: warmup, warm_up: warmup, slots, may_skip: true };
    RunLength { most: Some(counted.all()), counted: Some(counted), ..length(warmup, 3_600) }
}

fn begun(hz: u64, length: RunLength) -> (RunSpan, Receiver<Message>, ManualClock) {
    let clock = ManualClock::new();
    let builder = Pacer::builder(Rate::per_second(hz).unwrap()).clock(clock.clone());
    let builder = length.most.iter().fold(builder, |builder, &most| builder.slots(most));
    let pacer = builder.build();
    let (sender, messages) = mpsc::channel();
    (RunSpan::new(&pacer, pacer.now(), length, sender), messages, clock)
}

fn span_at(hz: u64, length: RunLength) -> RunSpan {
    let (span, _messages, clock) = begun(hz, length);
    clock.advance(secs(1_000));
    span
}

fn slot(grant: Grant) -> (u64, Nanos) {
    (grant.slot(), grant.intended_start())
}

fn admissions(span: &RunSpan, most: usize) -> Vec<Admission> {
    let grants = std::iter::from_fn(|| span.pacer.acquire().ok());
    grants.take(most).map(|grant| span.admit(slot(grant), NOW)).collect()
}

#[test]
fn a_duration_is_warm_up_then_recorded_then_over() {
    let span = span_at(1, length(2, 3));
    let [warm_up, recorded, over] = [Admission::WarmUp, Admission::Recorded, Admission::Over];
    assert_eq!(admissions(&span, 7), [warm_up, warm_up, recorded, recorded, recorded, over, over]);
}

#[test]
fn the_last_slot_ends_the_run_an_interval_later() {
    let (span, messages, clock) = begun(1, counted(1, 2));
    let [warm_up, recorded] = [Admission::WarmUp, Admission::Recorded];
    for (ahead, admission) in [warm_up, recorded, recorded].into_iter().enumerate() {
        assert!(messages.try_recv().is_err(), "{ahead}");
        clock.set(span.start + secs(ahead.try_into().unwrap()));
        assert_eq!(admissions(&span, 1), [admission]);
    }
    assert!(matches!(messages.try_recv(), Ok(Message::LastSlot)));
    assert_eq!((span.end(), span.pacer.is_finished()), (span.start + secs(3), true));
}

#[test]
fn a_late_last_slot_adds_no_slots() {
    for length in [counted(0, 3), RunLength { ends_with_load: true, ..counted(0, 3) }] {
        let (span, _messages, clock) = begun(1, length);
        clock.advance(secs(5));
        assert_eq!(span.asked(span.pacer.now()), AskedLoad { slots: 3, count: 3.0 });
        assert_eq!(admissions(&span, 9), [Admission::Recorded; 3]);
        let ended = span.end_run(span.start);
        assert_eq!((ended.at, ended.asked_until), (span.start + secs(5), span.start + secs(3)));
        assert_eq!((ended.recorded, ended.required), (AskedLoad { slots: 3, count: 3.0 }, 3.0));
        assert_eq!((ended.ledger.elapsed, ended.ledger.backlog), (secs(3), Duration::ZERO));
    }
}

#[test]
fn the_run_ends_when_all_requests_were_decided_about() {
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for (warmup, order) in [0, 1, 500].into_iter().flat_map(|it| orders.map(|order| (it, order))) {
        let (span, messages, clock) = begun(1, counted(warmup, 3));
        clock.advance(secs(warmup + 2));
        for _ in 0..warmup {
            assert_eq!(admissions(&span, 1), [Admission::WarmUp]);
        }
        let grants = [(); 3].map(|()| span.pacer.acquire().unwrap());
        assert!(span.pacer.acquire().is_err());
        for number in order {
            span.end_if_over();
            assert!(messages.try_recv().is_err(), "{warmup} {order:?}");
            let admission = span.admit(slot(grants[number]), span.pacer.now());
            assert_eq!(admission, Admission::Recorded, "{warmup} {order:?}");
        }
        assert!(messages.try_recv().is_ok(), "{warmup} {order:?}");
        assert_eq!(span.end_run(span.start).recorded, AskedLoad { slots: 3, count: 3.0 });
    }
}

/// The warm-up ends between two slots, so the count at its end is not a whole number.
#[test]
fn each_request_is_required_wherever_the_warm_up_ends() {
    for hz in 1_u64..300 {
        let first = (hz * 333).div_ceil(1_000);
        let counted = Counted { first, warm_up: first, slots: 7, may_skip: false };
        let (most, counted) = (Some(counted.all()), Some(counted));
        let warmup = Duration::from_millis(333);
        let length = RunLength { warmup, most, counted, ..length(0, 3_600) };
        let (span, _messages, clock) = begun(hz, length);
        clock.advance(secs(60));
        admissions(&span, usize::MAX);
        let ended = span.end_run(span.start);
        assert_eq!((ended.recorded.slots, ended.required), (7, 7.0), "{hz}/s");
    }
}

/// The last slots are skipped, so no worker decides about them.
#[test]
fn skipped_slots_are_some_of_the_requests() {
    let (span, messages, clock) = begun(1, counted(1, 5));
    span.pacer.set_skip_later_than(Some(secs(2)));
    clock.set(span.start + secs(2));
    assert_eq!(admissions(&span, 2), [Admission::WarmUp, Admission::Recorded]);
    clock.set(span.start + secs(60));
    assert_eq!((admissions(&span, 9), messages.try_recv().is_ok()), (vec![], false));
    span.end_if_over();
    assert!(messages.try_recv().is_ok());
    let ended = span.end_run(span.start);
    assert_eq!((ended.at, ended.recorded.slots), (span.start + secs(60), 5));
}

/// The worker that decides about the last slot is late, so its decision comes after the planned end.
#[test]
fn a_planned_end_comes_before_requests_that_are_late() {
    let (span, _messages, clock) = begun(1, RunLength { duration: secs(2), ..counted(0, 3) });
    clock.advance(secs(5));
    let [recorded, over] = [Admission::Recorded, Admission::Over];
    assert_eq!(admissions(&span, 9), [recorded, recorded, over]);
    let ended = span.end_run(span.start + secs(5));
    assert_eq!((ended.at, ended.recorded.slots), (span.start + secs(2), 2));
}

#[test]
fn slots_that_are_waited_for_are_left() {
    let (span, _messages, clock) = begun(1, counted(0, 2));
    let claims = [(); 2].map(|()| span.pacer.claim().unwrap());
    clock.advance(secs(1));
    for mut claim in claims {
        assert_eq!((span.pacer.is_finished(), span.has_no_slot_left()), (true, false));
        span.admit(slot(claim.start().unwrap()), span.pacer.now());
    }
    assert!(span.has_no_slot_left());
}

#[test]
fn a_closed_loop_counts_what_it_starts() {
    let (span, messages, clock) =
        begun(1, RunLength { slots: Some(2), is_closed: true, ..length(1, 3_600) });
    let admit = || span.admit((0, span.pacer.now()), span.pacer.now());
    for (at, admission) in
        [(0, Admission::WarmUp), (2, Admission::Recorded), (3, Admission::Recorded)]
    {
        assert!(messages.try_recv().is_err(), "{at}");
        clock.set(span.start + secs(at));
        assert_eq!(admit(), admission, "{at}");
    }
    assert!(messages.try_recv().is_ok());
    assert_eq!((span.end(), admit()), (span.start + secs(3), Admission::Over));
}

#[test]
fn a_pause_in_the_warm_up_takes_nothing_from_the_requests() {
    let (span, messages, clock) = begun(1, counted(4, 3));
    clock.set(span.start + secs(1));
    assert_eq!(admissions(&span, 2), [Admission::WarmUp; 2]);
    span.warm_up();
    span.pacer.pause();
    clock.set(span.start + secs(11));
    assert_eq!(span.asked(span.pacer.now()).since(span.warm_up().unwrap()).slots, 0);
    span.pacer.resume();
    clock.set(span.start + secs(60));
    let [warm_up, recorded] = [Admission::WarmUp, Admission::Recorded];
    assert_eq!(admissions(&span, 9), [warm_up, warm_up, recorded, recorded, recorded]);
    assert!(messages.try_recv().is_ok());
    assert_eq!(span.end_run(span.start).recorded, AskedLoad { slots: 3, count: 3.0 });
}

#[test]
fn slots_due_when_the_run_ended_are_unstarted() {
    let span = span_at(1, length(1, 3));
    let admit = |due, now| span.admit((due, span.start + secs(due)), span.start + secs(now));
    assert_eq!(admit(2, 3), Admission::Recorded);
    assert_eq!(admit(2, 4), Admission::Unstarted);
    assert_eq!(admit(0, 4), Admission::Over);
    span.end_run(span.start + secs(3));
    assert_eq!((admit(2, 3), admit(3, 3)), (Admission::Unstarted, Admission::Over));
}

#[test]
fn slots_that_were_granted_and_not_started_are_counted() {
    let clock = ManualClock::new();
    let rate = Rate::per_second(1).unwrap();
    let pacer = Pacer::builder(rate).slots(5).clock(clock.clone()).build();
    let (sender, messages) = mpsc::channel();
    let length = RunLength {
        duration: Duration::MAX,
        is_steady: false,
        ends_with_load: true,
        ..length(0, 0)
    };
    let span = RunSpan::new(&pacer, pacer.now(), length, sender);
    clock.advance(secs(10));
    assert_eq!(admissions(&span, 2), [Admission::Recorded; 2]);
    assert_eq!((span.not_started(), messages.try_recv().is_ok()), (0, false));
    span.end_run(span.start + secs(3));
    // One of the slots is refused. The other slot goes to a worker that cannot start it.
    assert_eq!(span.admit(slot(pacer.acquire().unwrap()), pacer.now()), Admission::Unstarted);
    pacer.acquire().unwrap();
    assert_eq!(span.not_started(), 2);
}

fn left(hz: u64, length: RunLength) -> u64 {
    let span = span_at(hz, length);
    let ended = span.end_run(span.pacer.now());
    let left = span.unstarted(&mut Vec::new());
    assert!(left.iter().all(|&(due, _)| (span.recorded_from..ended.at).contains(&due)));
    left.iter().map(|(_, slots)| slots).sum()
}

#[test]
fn every_slot_that_was_due_before_the_end_is_left_once() {
    for hz in [1, 7, 1_000, 1_000_000, 10_000_000_000] {
        assert_eq!(left(hz, length(1, 2)), 2 * hz, "{hz}/s");
    }
}

#[test]
fn no_more_are_left_than_the_run_may_start() {
    let counted = Counted { first: 1_000, warm_up: 1_000, slots: 300, may_skip: false };
    let most = Some(counted.all());
    assert_eq!(left(1_000, RunLength { most, counted: Some(counted), ..length(1, 2) }), 300);
}

#[test]
fn slots_that_are_given_back_after_the_end_are_left_too() {
    for (length, most) in [(length(0, 10), 10), (counted(0, 8), 8)] {
        let span = span_at(1, length);
        let claims = [(); 3].map(|()| span.pacer.claim().unwrap());
        span.end_run(span.start + secs(10));
        span.pacer.close();
        let mut known = Vec::new();
        let mut left = || span.unstarted(&mut known);
        let at = |second| (span.start + secs(second), 1);
        assert_eq!(left(), (3..most).map(at).collect::<Vec<_>>());
        let [first, second, third] = claims;
        drop(second);
        assert_eq!(left(), [at(1)]);
        drop([first, third]);
        assert_eq!((left(), left()), (vec![at(0), at(2)], vec![]));
    }
}

#[test]
fn new_slots_are_counted_once_wherever_batches_are_cut() {
    let batches = |batches: &[(u64, u64)]| -> Vec<(Nanos, u64)> {
        batches.iter().map(|&(due, slots)| (Nanos::from_nanos(due), slots)).collect()
    };
    for (all, known, new) in [
        (&[(90, 3), (101, 3)][..], &[(100, 5)][..], &[(90, 1)][..]),
        (&[(90, 3), (101, 3)], &[(90, 2), (101, 3)], &[(90, 1)]),
        (&[(50, 1), (100, 5)], &[(100, 5)], &[(50, 1)]),
        (&[(50, 1), (100, 5), (110, 2)], &[(50, 1), (100, 5)], &[(110, 2)]),
        (&[(50, 1), (100, 5)], &[], &[(50, 1), (100, 5)]),
        (&[(50, 6)], &[(20, 2), (50, 4)], &[]),
    ] {
        assert_eq!(beyond(&batches(all), &batches(known)), batches(new), "{all:?} {known:?}");
    }
}

#[test]
fn the_requested_load_is_known_from_the_warm_up_to_the_end() {
    let (span, _messages, clock) = begun(1, length(1, 4));
    assert_eq!((span.asked(span.start).slots, span.warm_up()), (0, None));
    clock.advance(secs(2));
    let warm_up = span.warm_up().unwrap();
    assert_eq!((warm_up.slots, span.asked(span.start + secs(2)).slots), (1, 2));
    span.pacer.set_rate(Rate::per_second(5).unwrap());
    clock.advance(secs(5));
    let ended = span.end_run(span.pacer.now());
    span.pacer.set_rate(Rate::per_second(100).unwrap());
    assert_eq!(span.warm_up(), Some(warm_up));
    assert_eq!(ended.recorded, span.asked(Nanos::MAX).since(warm_up));
    assert_eq!(ended.recorded.slots, 16);
}

#[test]
fn a_run_that_ends_in_its_warm_up_requests_nothing() {
    let (span, _messages, clock) = begun(1, length(3, 4));
    clock.advance(secs(2));
    let ended = span.end_run(span.pacer.now());
    assert_eq!((ended.recorded, ended.required), (AskedLoad::default(), 0.0));
    clock.advance(secs(20));
    assert_eq!(ended.recorded, span.asked(Nanos::MAX).since(span.warm_up().unwrap()));
}

#[test]
fn the_ledger_ends_with_the_schedule_however_late_that_is_noticed() {
    let span = span_at(1, length(0, 10));
    span.pacer.acquire_many(3).unwrap();
    let ledger = span.end_run(span.pacer.now()).ledger;
    assert_eq!((ledger.elapsed, ledger.allocated, ledger.backlog), (secs(10), secs(3), secs(7)));
}

#[test]
fn the_first_end_counts_and_is_capped_at_the_schedule() {
    let span = span_at(1, length(0, 10));
    let first = span.end_run(span.start + secs(60));
    let second = span.end_run(span.start + secs(5));
    assert_eq!((first.at, second.at), (span.start + secs(10), span.start + secs(10)));
}
