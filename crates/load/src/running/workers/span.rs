//! The part of the schedule that is run and recorded, and its end.

use super::length::{RunLength, Spacing};
use super::slots::Slots;
use crate::console::human;
use crate::recorded::asked::{Asked, RunEnd};
use crate::running::message::Message;
use nanopace::{Grant, Ledger, Nanos, Pacer};
use std::iter;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, SystemTime};

/// Decides which slots are started, and which of them are recorded.
#[derive(Debug)]
pub(crate) struct RunSpan {
    pacer: Pacer,
    /// When the schedule starts.
    pub(crate) start: Nanos,
    /// The wall clock's time at the start, read when the span is made.
    pub(crate) began: SystemTime,
    /// Slots before this belong to the warm-up.
    pub(crate) recorded_from: Nanos,
    /// The end unless the run ends earlier, in nanoseconds. Another load may move it: see `follow`.
    planned_end: AtomicU64,
    /// The end at the latest, whatever the load is.
    latest: Nanos,
    length: RunLength,
    slots: Slots,
    /// How much the load had asked for before the recorded part, once that has begun.
    warm_up: OnceLock<Asked>,
    ended: OnceLock<RunEnd>,
    messages: Sender<Message>,
}

/// What becomes of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// Start it and record it.
    Recorded,
    /// Start it and record nothing.
    WarmUp,
    /// It was due in the run, which has ended meanwhile. Count it.
    Unstarted,
    /// It is not to be recorded, as the run has ended or has its number of slots. Don't start or count it.
    Over,
}

impl RunSpan {
    /// A span of `length` from `start` on. When the last recorded slot has been admitted,
    /// [`Message::LastSlot`] is sent.
    pub(crate) fn new(
        pacer: &Pacer,
        start: Nanos,
        length: RunLength,
        messages: Sender<Message>,
    ) -> RunSpan {
        let recorded_from = start + length.warmup;
        RunSpan {
            pacer: pacer.clone(),
            start,
            began: SystemTime::now(),
            recorded_from,
            planned_end: AtomicU64::new((recorded_from + length.duration).as_nanos()),
            latest: recorded_from + length.longest,
            slots: Slots::new(&length),
            warm_up: OnceLock::new(),
            length,
            ended: OnceLock::new(),
            messages,
        }
    }

    pub(crate) fn length(&self) -> &RunLength {
        &self.length
    }

    /// When a slot that was granted should start: in a closed loop whenever it is taken.
    pub(crate) fn intended_start(&self, grant: Grant, now: Nanos) -> Nanos {
        if self.length.is_closed { now } else { grant.intended_start() }
    }

    /// How much the load had asked for before a moment, or before the end of the run if that comes first.
    pub(crate) fn asked(&self, moment: Nanos) -> Asked {
        let ended = self.ended.get().filter(|ended| ended.at <= moment);
        let before = |moment| asked_before(&self.pacer, moment);
        ended.map_or_else(|| before(moment.min(self.end())), |ended| ended.asked)
    }

    /// How much the load had asked for before the recorded part, once that has begun. Call this before each change of
    /// the load; afterwards the earlier count is lost.
    pub(crate) fn warm_up(&self) -> Option<Asked> {
        let has_begun = || self.pacer.now() >= self.recorded_from;
        let asked = || self.asked(self.recorded_from);
        self.warm_up
            .get()
            .copied()
            .or_else(|| has_begun().then(|| *self.warm_up.get_or_init(asked)))
    }

    /// The end of the run. No slot that is intended at it or later is started, and none is started at it or later.
    pub(crate) fn end(&self) -> Nanos {
        self.ended.get().map_or_else(|| self.planned_end(), |ended| ended.at)
    }

    /// Whether the run ends by itself.
    pub(crate) fn has_end(&self) -> bool {
        self.planned_end() < Nanos::MAX || self.slots.are_limited()
    }

    fn planned_end(&self) -> Nanos {
        // Relaxed: a moment in the future, by itself. No loom model: one atomic.
        Nanos::from_nanos(self.planned_end.load(Ordering::Relaxed))
    }

    /// Moves the planned end to that of a load that begins `now` and has this length, or to `latest` if that comes
    /// first. If neither that load nor the run's length has an end, the run's planned end stays.
    pub(crate) fn follow(&self, now: Nanos, length: Option<Duration>) {
        let load = length.map_or(Nanos::MAX, |length| now + length);
        let end = load.min(self.latest).max(self.recorded_from);
        if end < Nanos::MAX {
            // Relaxed: as in `planned_end`.
            self.planned_end.store(end.as_nanos(), Ordering::Relaxed);
        }
    }

    /// Decides about a slot, given by its number and its intended start, at `now`. Admitting the last slot that is
    /// recorded ends the run. So does deciding about the load's last slot, if the run ends with the load.
    pub(crate) fn admit(&self, (number, intended_start): (u64, Nanos), now: Nanos) -> Admission {
        let admission = self.judge(number, intended_start, now);
        if matches!(admission, Admission::Unstarted | Admission::Over) {
            self.slots.refuse();
        }
        if self.slots.count_decided() {
            self.end_if_over(intended_start.max(now));
        }
        admission
    }

    /// How many slots the pacer has granted that were not started, of a load that ends the run. To be
    /// asked when all threads are gone.
    pub(crate) fn not_started(&self) -> u64 {
        self.slots.not_started(self.pacer.ledger().granted)
    }

    /// Ends the run at `now`, if the last slot of the load ends it and was decided about. Until all
    /// granted slots are decided about, the run goes on: one of them may come back and be granted anew.
    pub(crate) fn end_if_over(&self, now: Nanos) {
        let granted = || self.pacer.ledger().granted;
        if self.pacer.is_finished() && self.slots.are_decided(granted) {
            self.end_run(now);
            // The receiver is gone only when the run has ended.
            let _ = self.messages.send(Message::LastSlot);
        }
    }

    fn judge(&self, number: u64, intended_start: Nanos, now: Nanos) -> Admission {
        let end = self.end();
        let is_warm_up = intended_start < self.recorded_from;
        if intended_start >= end || (is_warm_up && now >= end) {
            return Admission::Over;
        }
        if is_warm_up {
            return Admission::WarmUp;
        }
        if self.first_behind().is_some_and(|first| number >= first) {
            return Admission::Over;
        }
        match self.slots.take_one() {
            None => Admission::Over,
            Some(_) if now >= end => Admission::Unstarted,
            Some(1) => self.admit_last(intended_start, now),
            Some(_) => Admission::Recorded,
        }
    }

    /// The number of the first slot after those that are recorded, if that is certain. It must not take the place of
    /// one that another thread was granted and has not come to decide about.
    fn first_behind(&self) -> Option<u64> {
        let first = self.length.first?;
        Some(self.warm_up()?.slots.saturating_add(first))
    }

    /// The recorded slots that were due before the end of the run and that nobody has started, in
    /// batches: see [`Pacer::unstarted`]. Leaves out the batches in `known`, then replaces `known` with all of
    /// them. It is asked twice, because a slot that somebody waited for when the run ended is given back a little later.
    pub(crate) fn unstarted(&self, known: &mut Vec<(Nanos, u64)>) -> Vec<(Nanos, u64)> {
        let all = self.pacer.unstarted(self.recorded_from..self.end());
        let left = beyond(&all, known).into_iter();
        let left = left.map(|(due, slots)| (due, self.slots.leave(slots)));
        let left = left.filter(|&(_, slots)| slots > 0).collect();
        *known = all;
        left
    }

    fn admit_last(&self, intended_start: Nanos, now: Nanos) -> Admission {
        // The run ends one interval after the last intended start, or now if that is later. So N
        // slots take N intervals, where they have equal ones.
        let interval = Duration::from_secs_f64(self.pacer.rate().interval_ns() * 1e-9);
        let interval = if self.length.is_steady { interval } else { Duration::ZERO };
        let asked_until = intended_start + interval;
        self.end_at(asked_until.max(now), asked_until);
        // The receiver is gone only when the run has ended.
        let _ = self.messages.send(Message::LastSlot);
        Admission::Recorded
    }

    /// Ends the run at `at`, which is capped at the end that was planned. Only the first call
    /// counts.
    pub(crate) fn end_run(&self, at: Nanos) -> RunEnd {
        self.end_at(at, at)
    }

    fn end_at(&self, at: Nanos, asked_until: Nanos) -> RunEnd {
        let planned = self.planned_end();
        let at = at.min(planned);
        *self.ended.get_or_init(|| RunEnd {
            at,
            asked: asked_before(&self.pacer, at),
            recorded: self.recorded(at),
            required: self.required(asked_until.min(planned)),
            ledger: ledger_at_end(at - self.start, self.pacer.ledger()),
        })
    }

    /// How much the load had asked for in the recorded part before a moment.
    fn recorded(&self, until: Nanos) -> Asked {
        let until = asked_before(&self.pacer, until);
        self.warm_up().map_or_else(Asked::default, |warm_up| until.since(warm_up))
    }

    /// How many recorded slots must have started if none was late: those asked for before `until`. The run itself ends
    /// later if the last slot started late.
    fn required(&self, until: Nanos) -> f64 {
        let Asked { slots, count } = self.recorded(until);
        // Even slots are required once their interval has passed: until then, the last one may just have been due.
        let required =
            if self.length.spacing == Spacing::Even { count.floor() } else { human::float(slots) };
        // More may have been asked for by then: a thread may have started a later slot in place of one that another
        // thread held.
        self.length.slots.map_or(required, |slots| required.min(human::float(slots)))
    }
}

/// The slots of `all` that are not among `known`, in batches. Only their number is certain. Batches of `all` may be cut
/// elsewhere than those of `known`: then the time at which a new slot is told to be due may be up to a batch off.
fn beyond(all: &[(Nanos, u64)], known: &[(Nanos, u64)]) -> Vec<(Nanos, u64)> {
    let count = |batches: &[(Nanos, u64)]| batches.iter().map(|(_, slots)| slots).sum::<u64>();
    let mut missing = count(all).saturating_sub(count(known));
    // `ahead`: by how many slots the batches of `all` so far exceed the known ones that are due by then.
    let (mut known, mut ahead) = (known.iter().peekable(), 0_u64);
    let mut left = Vec::new();
    for &(due, slots) in all {
        let before = iter::from_fn(|| known.next_if(|(at, _)| *at <= due));
        ahead = (ahead + slots).saturating_sub(before.map(|(_, slots)| slots).sum());
        let new = ahead.min(missing);
        if new > 0 {
            left.push((due, new));
            (ahead, missing) = (ahead - new, missing - new);
        }
    }
    left
}

/// How much the load has asked for before `moment`. Before the last change of the load, it is what had been asked for
/// at that change: the pacer knows no better. A run never requires more than its slots, so this does no harm.
fn asked_before(pacer: &Pacer, moment: Nanos) -> Asked {
    Asked { slots: pacer.asked_before(moment), count: pacer.asked_count(moment) }
}

/// The ledger without what has fallen due since the end, which came `end` after the start. Of a run that was paused
/// less is left out, by as long as the pauses took.
fn ledger_at_end(end: Duration, ledger: Ledger) -> Ledger {
    let mut ended = ledger;
    let behind = ledger.elapsed.saturating_sub(end).min(ledger.backlog);
    ended.elapsed -= behind;
    ended.backlog -= behind;
    ended
}

#[cfg(test)]
mod tests {
    use super::*;
    use nanopace::{ManualClock, Rate};
    use std::sync::mpsc::{self, Receiver};

    const fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// Before any end.
    const NOW: Nanos = Nanos::ZERO;

    fn length(warmup: u64, duration: u64, slots: Option<u64>) -> RunLength {
        RunLength {
            warmup: secs(warmup),
            duration: secs(duration),
            slots,
            first: slots,
            spacing: Spacing::Even,
            is_steady: true,
            constant_hz: None,
            is_closed: false,
            ends_with_load: false,
            longest: Duration::MAX,
        }
    }

    /// A span at so many slots per second that are all due, and its messages.
    fn span_at(hz: u64, length: RunLength) -> (RunSpan, Receiver<Message>) {
        let clock = ManualClock::new();
        let pacer = Pacer::builder(Rate::per_second(hz).unwrap()).clock(clock.clone()).build();
        let (sender, messages) = mpsc::channel();
        let span = RunSpan::new(&pacer, pacer.now(), length, sender);
        clock.advance(secs(1_000));
        (span, messages)
    }

    /// A span at 1/s that has just begun.
    fn running(length: RunLength) -> (RunSpan, ManualClock) {
        let clock = ManualClock::new();
        let pacer = Pacer::builder(Rate::per_second(1).unwrap()).clock(clock.clone()).build();
        (RunSpan::new(&pacer, pacer.now(), length, mpsc::channel().0), clock)
    }

    /// Like `span_at`, at 1/s.
    fn span(warmup: u64, duration: u64, slots: Option<u64>) -> (RunSpan, Receiver<Message>) {
        span_at(1, length(warmup, duration, slots))
    }

    fn slot(grant: Grant) -> (u64, Nanos) {
        (grant.slot(), grant.intended_start())
    }

    /// The decisions about slots, one after the other, until the pacer is closed or there are
    /// `most`.
    fn admissions(span: &RunSpan, most: usize) -> Vec<Admission> {
        let grants = std::iter::from_fn(|| span.pacer.acquire().ok());
        grants.take(most).map(|grant| span.admit(slot(grant), NOW)).collect()
    }

    #[test]
    fn a_duration_is_warm_up_then_recorded_then_over() {
        let (span, _messages) = span(2, 3, None);
        let [warm_up, recorded, over] = [Admission::WarmUp, Admission::Recorded, Admission::Over];
        assert_eq!(
            admissions(&span, 7),
            [warm_up, warm_up, recorded, recorded, recorded, over, over]
        );
    }

    #[test]
    fn the_last_slot_ends_the_run() {
        let (span, messages) = span(1, 1_000, Some(2));
        let [warm_up, recorded, over] = [Admission::WarmUp, Admission::Recorded, Admission::Over];
        assert_eq!(admissions(&span, 5), [warm_up, recorded, recorded, over, over]);
        assert!(matches!(messages.try_recv(), Ok(Message::LastSlot)));
        assert_eq!(span.end(), span.start + secs(3));
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "whole numbers")]
    fn a_last_slot_that_is_late_asks_for_no_more() {
        let (span, _messages) = span(0, 1_000, Some(3));
        let admit =
            |(number, due)| span.admit((number, span.start + secs(due)), span.start + secs(5));
        // Policies moved the last of them by a second, and all were late.
        assert_eq!([(0, 0), (1, 1), (2, 3)].map(admit), [Admission::Recorded; 3]);
        let ended = span.end_run(span.start);
        assert_eq!((ended.at, ended.recorded.slots), (span.start + secs(5), 5));
        assert_eq!(ended.required, 3.0);
    }

    /// Threads may decide about slots in another order than they were granted in.
    #[test]
    fn no_slot_behind_a_number_of_requests_takes_the_place_of_one_of_them() {
        let orders = [[0, 2, 1, 3], [2, 3, 0, 1], [3, 1, 2, 0]];
        for (warmup, numbers) in
            [0, 1, 500].into_iter().flat_map(|it| orders.map(|order| (it, order)))
        {
            let (span, messages) = span(warmup, 1_000, Some(2));
            let admit =
                |number| span.admit((warmup + number, span.recorded_from + secs(number)), NOW);
            let admitted: Vec<_> = numbers
                .into_iter()
                .filter(|&number| admit(number) == Admission::Recorded)
                .collect();
            let first: Vec<_> = numbers.into_iter().filter(|&number| number < 2).collect();
            assert_eq!(
                (&admitted, messages.try_recv().is_ok()),
                (&first, true),
                "{warmup} {numbers:?}"
            );
        }
    }

    /// A later slot takes the place of one that is given up. So which ones are recorded is not certain before.
    #[test]
    #[expect(clippy::float_cmp, reason = "whole numbers")]
    fn no_more_is_required_than_was_asked_for() {
        let length = RunLength { first: None, ..length(0, 1_000, Some(1)) };
        let (span, _messages) = span_at(1, length);
        let admit = |number| span.admit((number, span.start + secs(number)), span.start + secs(5));
        assert_eq!((admit(1), admit(0)), (Admission::Recorded, Admission::Over));
        assert_eq!(span.end_run(span.start).required, 1.0);
    }

    #[test]
    fn what_was_due_when_the_run_ended_is_unstarted() {
        let (span, _messages) = span(1, 3, None);
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
            ..length(0, 0, None)
        };
        let span = RunSpan::new(&pacer, pacer.now(), length, sender);
        clock.advance(secs(10));
        assert_eq!(admissions(&span, 2), [Admission::Recorded; 2]);
        assert_eq!((span.not_started(), messages.try_recv().is_ok()), (0, false));
        span.end_run(span.start + secs(3));
        // One is refused, and one goes to nobody who could start it.
        assert_eq!(span.admit(slot(pacer.acquire().unwrap()), pacer.now()), Admission::Unstarted);
        pacer.acquire().unwrap();
        assert_eq!(span.not_started(), 2);
    }

    /// How many slots are left after 3 s of which one was warm-up, at so many a second.
    fn left(hz: u64, slots: Option<u64>) -> u64 {
        let (span, _messages) = span_at(hz, length(1, 2, slots));
        let ended = span.end_run(span.pacer.now());
        let left = span.unstarted(&mut Vec::new());
        assert!(left.iter().all(|&(due, _)| (span.recorded_from..ended.at).contains(&due)));
        left.iter().map(|(_, slots)| slots).sum()
    }

    #[test]
    fn every_slot_that_was_due_before_the_end_is_left_once() {
        for hz in [1, 7, 1_000, 1_000_000, 10_000_000_000] {
            assert_eq!(left(hz, None), 2 * hz, "{hz}/s");
        }
    }

    #[test]
    fn no_more_are_left_than_the_run_may_start() {
        assert_eq!(left(1_000, Some(300)), 300);
    }

    #[test]
    fn slots_that_are_given_back_after_the_end_are_left_too() {
        for most in [None, Some(8)] {
            let (span, _messages) = span(0, 10, most);
            let claims = [(); 3].map(|()| span.pacer.claim().unwrap());
            span.end_run(span.start + secs(10));
            span.pacer.close();
            let mut known = Vec::new();
            let mut left = || span.unstarted(&mut known);
            let at = |second| (span.start + secs(second), 1);
            assert_eq!(left(), (3..10).map(at).collect::<Vec<_>>());
            let [first, second, third] = claims;
            drop(second);
            assert_eq!(left(), [at(1)]);
            drop([first, third]);
            let expected = if most.is_some() { vec![] } else { vec![at(0), at(2)] };
            assert_eq!((left(), left()), (expected, vec![]));
        }
    }

    #[test]
    fn what_is_new_is_counted_once_wherever_batches_are_cut() {
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
    fn what_is_asked_for_is_known_from_the_warm_up_to_the_end() {
        let (span, clock) = running(length(1, 4, None));
        assert_eq!((span.asked(span.start).slots, span.warm_up()), (0, None));
        clock.advance(secs(2));
        let warm_up = span.warm_up().unwrap();
        assert_eq!((warm_up.slots, span.asked(span.start + secs(2)).slots), (1, 2));
        // Nothing that comes later changes it.
        span.pacer.set_rate(Rate::per_second(5).unwrap());
        clock.advance(secs(5));
        let ended = span.end_run(span.pacer.now());
        span.pacer.set_rate(Rate::per_second(100).unwrap());
        assert_eq!(span.warm_up(), Some(warm_up));
        assert_eq!(ended.recorded, span.asked(Nanos::MAX).since(warm_up));
        assert_eq!(ended.recorded.slots, 16);
    }

    #[test]
    fn nothing_is_asked_for_by_a_run_that_ends_in_its_warm_up() {
        let (span, clock) = running(length(3, 4, None));
        clock.advance(secs(2));
        let ended = span.end_run(span.pacer.now());
        assert_eq!((ended.recorded, ended.required), (Asked::default(), 0.0));
        clock.advance(secs(20));
        assert_eq!(ended.recorded, span.asked(Nanos::MAX).since(span.warm_up().unwrap()));
    }

    #[test]
    fn the_ledger_ends_with_the_schedule_however_late_that_is_noticed() {
        let (span, _messages) = span(0, 10, None);
        span.pacer.acquire_many(3).unwrap();
        let ledger = span.end_run(span.pacer.now()).ledger;
        assert_eq!(
            (ledger.elapsed, ledger.allocated, ledger.backlog),
            (secs(10), secs(3), secs(7))
        );
    }

    #[test]
    fn the_first_end_counts_and_is_capped_at_the_schedule() {
        let (span, _messages) = span(0, 10, None);
        let first = span.end_run(span.start + secs(60));
        let second = span.end_run(span.start + secs(5));
        assert_eq!((first.at, second.at), (span.start + secs(10), span.start + secs(10)));
    }
}
