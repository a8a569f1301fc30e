//! The part of the schedule that is run and recorded, and its end.

use crate::console::human;
use crate::run::asked::AskedLoad;
use crate::run::message::Message;
use nanopace::{Ledger, Nanos, Pacer};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, SystemTime};

/// Decides which slots are started, and which of them are recorded.
#[derive(Debug)]
pub(crate) struct RunSpan {
    pacer: Pacer,
    /// Where the schedule starts.
    pub(crate) start: Nanos,
    /// The same by the clock on the wall.
    pub(crate) began: SystemTime,
    /// Slots before this belong to the warm-up.
    pub(crate) recorded_from: Nanos,
    /// The planned end, in nanoseconds.
    end: AtomicU64,
    /// The end at the latest, whatever the load is.
    latest: Nanos,
    /// How many recorded slots may still start, if that is limited: threads would pass the count to
    /// and fro for nothing.
    left: Option<AtomicU64>,
    /// How many that were at the beginning.
    slots: Option<u64>,
    /// How many slots were decided about, if the last one of the load ends the run.
    decided: Option<AtomicU64>,
    /// How many of them were not started.
    refused: AtomicU64,
    is_steady: bool,
    ended: OnceLock<RunEnd>,
    messages: Sender<Message>,
}

/// The state at the end of the schedule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunEnd {
    /// The end on the schedule.
    pub(crate) at: Nanos,
    /// What is due from here on was not asked for: the last slot may have started late.
    asked_until: Nanos,
    /// No more recorded slots than this were asked for, if that was limited.
    slots: Option<u64>,
    /// The pacer's ledger when the end was noticed, without what was due behind it: up to an interval
    /// before it if the last recorded slot was admitted.
    pub(crate) ledger: Ledger,
}

impl RunEnd {
    /// How many slots of a load must have started from a moment on if none was late. A thread may have started
    /// a later slot than the last that was asked for, in place of one that another thread held.
    pub(crate) fn required(&self, asked: &AskedLoad, from: Nanos) -> f64 {
        let required = asked.required(from, self.asked_until);
        self.slots.map_or(required, |slots| required.min(human::float(slots)))
    }
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
    /// It is not part of the run.
    Over,
}

/// The length of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunLength {
    /// Started but not recorded, at the beginning.
    pub(crate) warmup: Duration,
    /// For how long slots are started and recorded; `Duration::MAX` for no limit.
    pub(crate) duration: Duration,
    /// How many recorded slots may start; none for no limit.
    pub(crate) slots: Option<u64>,
    /// Whether the intervals between slots are equal, but for changes of the rate.
    pub(crate) is_steady: bool,
    /// Whether the last slot of the load ends the run.
    pub(crate) ends_with_load: bool,
    /// How long it is at most with a load that takes the place of this one; `Duration::MAX` for as
    /// long as that is.
    pub(crate) longest: Duration,
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
            end: AtomicU64::new((recorded_from + length.duration).as_nanos()),
            latest: recorded_from + length.longest,
            left: length.slots.map(AtomicU64::new),
            slots: length.slots,
            decided: length.ends_with_load.then(AtomicU64::default),
            refused: AtomicU64::default(),
            is_steady: length.is_steady,
            ended: OnceLock::new(),
            messages,
        }
    }

    /// Slots from here on are not started, and no slot is started from then on.
    pub(crate) fn end(&self) -> Nanos {
        self.ended.get().map_or_else(|| self.planned_end(), |ended| ended.at)
    }

    /// Whether it ends by itself.
    pub(crate) fn has_end(&self) -> bool {
        self.planned_end() < Nanos::MAX || self.left.is_some() || self.decided.is_some()
    }

    fn planned_end(&self) -> Nanos {
        // Relaxed: a moment in the future, by itself. No loom model: one atomic.
        Nanos::from_nanos(self.end.load(Ordering::Relaxed))
    }

    /// From `now` on the load is one that takes so long, if it has an end. The run ends with it at the
    /// latest.
    pub(crate) fn follow(&self, now: Nanos, length: Option<Duration>) {
        let load = length.map_or(Nanos::MAX, |length| now + length);
        let end = load.min(self.latest).max(self.recorded_from);
        if end < Nanos::MAX {
            // Relaxed: as in `planned_end`.
            self.end.store(end.as_nanos(), Ordering::Relaxed);
        }
    }

    /// Decides about a slot at `now`. Admitting the last recorded one ends the run, and so does the
    /// last one of a load that ends it.
    pub(crate) fn admit(&self, intended_start: Nanos, now: Nanos) -> Admission {
        let admission = self.decide(intended_start, now);
        if matches!(admission, Admission::Unstarted | Admission::Over) {
            // Relaxed: a count that is read when the threads are gone.
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(decided) = &self.decided {
            // AcqRel: whoever counts last knows of all grants before it. No loom model: one atomic,
            // and the pacer's own lock.
            decided.fetch_add(1, Ordering::AcqRel);
            self.end_if_over(intended_start.max(now));
        }
        admission
    }

    /// How many slots the pacer has granted that were not started, of a load that ends the run. To be
    /// asked when all threads are gone.
    pub(crate) fn not_started(&self) -> u64 {
        // Relaxed: as in `admit`; whoever joined the threads knows what they did.
        let [decided, refused] = [self.decided.as_ref(), Some(&self.refused)]
            .map(|count| count.map_or(0, |count| count.load(Ordering::Relaxed)));
        self.pacer.ledger().granted.saturating_sub(decided) + refused
    }

    /// Ends the run at `now`, if the last slot of the load ends it and was decided about. A slot
    /// that others hold may still come back, or start.
    pub(crate) fn end_if_over(&self, now: Nanos) {
        let Some(decided) = &self.decided else { return };
        // Acquire: as in `admit`.
        if self.pacer.is_finished()
            && decided.load(Ordering::Acquire) == self.pacer.ledger().granted
        {
            self.end_run(now);
            // The receiver is gone only when the run has ended.
            let _ = self.messages.send(Message::LastSlot);
        }
    }

    fn decide(&self, intended_start: Nanos, now: Nanos) -> Admission {
        let end = self.end();
        let is_warm_up = intended_start < self.recorded_from;
        if intended_start >= end || (is_warm_up && now >= end) {
            return Admission::Over;
        }
        if is_warm_up {
            return Admission::WarmUp;
        }
        match self.take_one() {
            None => Admission::Over,
            Some(_) if now >= end => Admission::Unstarted,
            Some(1) => self.admit_last(intended_start, now),
            Some(_) => Admission::Recorded,
        }
    }

    /// Takes one of the slots that are left. Returns how many there were, if any.
    fn take_one(&self) -> Option<u64> {
        let Some(left) = &self.left else { return Some(u64::MAX) };
        // Relaxed: each decrement must be unique; nothing else is published through it. No loom
        // model: one atomic, no second one to order against.
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).ok()
    }

    /// Leaves so many slots of the run unstarted. Returns how many of them are part of the run.
    pub(crate) fn leave(&self, slots: u64) -> u64 {
        let Some(left) = &self.left else { return slots };
        let update = |left: u64| Some(left.saturating_sub(slots));
        // Relaxed: as in `take_one`.
        let before = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, update);
        before.map_or(0, |left| left.min(slots))
    }

    fn admit_last(&self, intended_start: Nanos, now: Nanos) -> Admission {
        // The run ends one interval after the last intended start, or now if that is later. So N
        // slots take N intervals, where they have equal ones.
        let interval = Duration::from_secs_f64(self.pacer.rate().interval_ns() * 1e-9);
        let interval = if self.is_steady { interval } else { Duration::ZERO };
        let asked_until = intended_start + interval;
        self.end_at(asked_until.max(now), asked_until);
        // The receiver is gone only when the run has ended.
        let _ = self.messages.send(Message::LastSlot);
        Admission::Recorded
    }

    /// Ends the schedule at `at`, which is capped at the end that was planned. Only the first call
    /// counts.
    pub(crate) fn end_run(&self, at: Nanos) -> RunEnd {
        self.end_at(at, at)
    }

    fn end_at(&self, at: Nanos, asked_until: Nanos) -> RunEnd {
        let planned = self.planned_end();
        let at = at.min(planned);
        *self.ended.get_or_init(|| RunEnd {
            at,
            asked_until: asked_until.min(planned),
            slots: self.slots,
            ledger: until(at - self.start, self.pacer.ledger()),
        })
    }
}

/// The ledger without what has fallen due since the end, after so much time.
fn until(end: Duration, ledger: Ledger) -> Ledger {
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

    /// A span at 1/s whose slots are all due, and its messages.
    fn span(warmup: u64, duration: u64, slots: Option<u64>) -> (RunSpan, Receiver<Message>) {
        let clock = ManualClock::new();
        let pacer = Pacer::builder(Rate::per_second(1).unwrap()).clock(clock.clone()).build();
        let (sender, messages) = mpsc::channel();
        let length = RunLength {
            warmup: secs(warmup),
            duration: secs(duration),
            slots,
            is_steady: true,
            ends_with_load: false,
            longest: Duration::MAX,
        };
        let span = RunSpan::new(&pacer, pacer.now(), length, sender);
        clock.advance(secs(1_000));
        (span, messages)
    }

    /// The decisions about slots, one after the other, until the pacer is closed or there are
    /// `most`.
    fn admissions(span: &RunSpan, most: usize) -> Vec<Admission> {
        let grants = std::iter::from_fn(|| span.pacer.acquire().ok());
        grants.take(most).map(|grant| span.admit(grant.intended_start(), NOW)).collect()
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
    fn a_last_slot_that_is_late_asks_for_no_more() {
        let (span, _messages) = span(0, 1_000, Some(1));
        assert_eq!(span.admit(span.start, span.start + secs(5)), Admission::Recorded);
        let ended = span.end_run(span.start);
        assert_eq!((ended.at, ended.asked_until), (span.start + secs(5), span.start + secs(1)));
    }

    /// Two threads took a slot each, and the second slot was decided about first.
    #[test]
    #[expect(clippy::float_cmp, reason = "whole numbers")]
    fn no_more_is_required_than_was_asked_for() {
        let (span, _messages) = span(0, 1_000, Some(1));
        let admit = |seconds| span.admit(span.start + secs(seconds), span.start + secs(5));
        assert_eq!((admit(1), admit(0)), (Admission::Recorded, Admission::Over));
        let asked = AskedLoad::constant(span.start, Rate::per_second(1).unwrap());
        assert_eq!(span.end_run(span.start).required(&asked, span.start), 1.0);
    }

    #[test]
    fn what_was_due_when_the_run_ended_is_unstarted() {
        let (span, _messages) = span(1, 3, None);
        let admit = |intended, now| span.admit(span.start + secs(intended), span.start + secs(now));
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
            warmup: Duration::ZERO,
            duration: Duration::MAX,
            slots: None,
            is_steady: false,
            ends_with_load: true,
            longest: Duration::MAX,
        };
        let span = RunSpan::new(&pacer, pacer.now(), length, sender);
        clock.advance(secs(10));
        assert_eq!(admissions(&span, 2), [Admission::Recorded; 2]);
        assert_eq!((span.not_started(), messages.try_recv().is_ok()), (0, false));
        span.end_run(span.start + secs(3));
        // One is refused, and one goes to nobody who could start it.
        assert_eq!(
            span.admit(pacer.acquire().unwrap().intended_start(), pacer.now()),
            Admission::Unstarted
        );
        pacer.acquire().unwrap();
        assert_eq!(span.not_started(), 2);
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
