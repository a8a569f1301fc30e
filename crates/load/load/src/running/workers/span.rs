//! The part of the schedule that is run and recorded, and its end.

use super::length::{Counted, RunLength, Spacing};
use super::slots::Slots;
use crate::console::human;
use crate::results::asked::{AskedLoad, RunEnd};
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
    /// How much of the load was due before the recorded part, once that has begun.
    warm_up: OnceLock<AskedLoad>,
    ended: OnceLock<RunEnd>,
    messages: Sender<Message>,
}

/// The decision about a slot.
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

    /// How much of the load was due before a moment, or before the end of the run if that comes first.
    pub(crate) fn asked(&self, moment: Nanos) -> AskedLoad {
        let AskedLoad { slots, count } = self.asked_by_pacer(moment);
        let most = self.length.most.zip(self.warm_up());
        let most = most.map(|(slots, warm_up)| in_all(slots, warm_up).count);
        AskedLoad { slots, count: most.map_or(count, |most| count.min(most)) }
    }

    /// The same, as the pacer counts it: the mean count of random slots can be ahead of the slots. Before the last
    /// change of the load, it is the count at that change: the pacer has no earlier one. A run never requires more than
    /// its slots, so this does no harm.
    fn asked_by_pacer(&self, moment: Nanos) -> AskedLoad {
        let (pacer, before) = (&self.pacer, moment.min(self.end()));
        let asked =
            || AskedLoad { slots: pacer.asked_before(before), count: pacer.asked_count(before) };
        let ended = self.ended.get().filter(|ended| ended.at <= moment);
        ended.map_or_else(asked, |ended| ended.asked)
    }

    /// The whole load, all of whose slots have come by `moment`.
    fn asked_in_all(&self, moment: Nanos) -> AskedLoad {
        let slots = self.pacer.asked_before(moment + Duration::from_nanos(1));
        in_all(slots, self.warm_up().unwrap_or_default())
    }

    /// How much of the load was due before the recorded part, once that has begun. Call this before each change of the
    /// load; afterwards the earlier count is lost.
    pub(crate) fn warm_up(&self) -> Option<AskedLoad> {
        let has_begun = || self.pacer.now() >= self.recorded_from;
        let asked = || *self.warm_up.get_or_init(|| self.asked_in_warm_up());
        self.warm_up.get().copied().or_else(|| has_begun().then(asked))
    }

    /// A pause in the warm-up moves slots of it into the recorded part. With a number of requests they stay warm-up.
    fn asked_in_warm_up(&self) -> AskedLoad {
        let asked = self.asked_by_pacer(self.recorded_from);
        let planned = self.length.counted.map_or(asked.slots, |counted| counted.warm_up);
        in_all(planned, asked)
    }

    /// The end of the run. No slot that is intended at it or later is started, and none is started at it or later.
    pub(crate) fn end(&self) -> Nanos {
        self.ended.get().map_or_else(|| self.planned_end(), |ended| ended.at)
    }

    /// Whether the run ends by itself.
    pub(crate) fn has_end(&self) -> bool {
        self.planned_end() < Nanos::MAX || self.slots.are_limited()
    }

    /// Whether all slots of a load have come that has a known number of them.
    pub(crate) fn has_come(&self) -> bool {
        let come = || self.pacer.asked_before(self.pacer.now());
        self.length.most.is_some_and(|most| come() >= most)
    }

    /// Whether a change of the load comes too late for all of its slots.
    pub(crate) fn has_no_slot_left(&self) -> bool {
        // Slots that workers wait for have been taken, and a change of the rate still moves them.
        let are_decided = || self.is_load_over(self.slots.decided());
        self.length.counted.map_or_else(|| self.pacer.is_finished(), |_| are_decided())
    }

    /// Whether the load is in a warm-up whose number of slots is fixed.
    pub(crate) fn has_fixed_warm_up(&self) -> bool {
        self.length.counted.is_some() && self.pacer.now() < self.recorded_from
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

    /// Decides about a slot, given by its number and its intended start, at `now`. Deciding about the last slot ends the
    /// run, if it ends with the load or with a number of requests.
    pub(crate) fn admit(&self, (number, intended_start): (u64, Nanos), now: Nanos) -> Admission {
        let admission = self.judge(number, intended_start, now);
        if matches!(admission, Admission::Unstarted | Admission::Over) {
            self.slots.refuse();
        }
        if self.is_load_over(self.slots.count_decided()) {
            self.end_with_load(intended_start + self.last_interval());
        }
        admission
    }

    /// How many slots the pacer has granted that were not started, of a load that ends the run. To be
    /// asked when all threads are gone.
    pub(crate) fn not_started(&self) -> u64 {
        self.slots.not_started(self.pacer.ledger().granted)
    }

    /// Ends the run if it ends with the load or with a number of requests, and all their slots were decided about.
    /// Until then a slot can come back and be granted again.
    pub(crate) fn end_if_over(&self) {
        if self.is_load_over(self.slots.decided()) {
            self.end_with_load(self.pacer.now());
        }
    }

    /// Whether no slot is left after `decided` slots, if the run ends with the last one.
    fn is_load_over(&self, decided: Option<u64>) -> bool {
        let Some(decided) = decided else { return false };
        if let Some(counted) = self.length.counted
            && decided + self.skipped(counted) >= counted.all()
        {
            return true;
        }
        // The ledger is read last, so it has all slots that were granted before the schedule was found finished.
        let granted = || self.pacer.ledger().granted;
        self.length.ends_with_load && self.pacer.is_finished() && decided == granted()
    }

    fn skipped(&self, counted: Counted) -> u64 {
        if counted.may_skip { self.pacer.ledger().skipped } else { 0 }
    }

    /// Ends the run at the end of its load, or now if that is later.
    fn end_with_load(&self, load_end: Nanos) {
        self.end_at(load_end.max(self.pacer.now()), Some(load_end));
        // The receiver is gone only when the run has ended.
        let _ = self.messages.send(Message::LastSlot);
    }

    /// The time that belongs to the last slot of the load: N slots take N intervals, where these are equal.
    fn last_interval(&self) -> Duration {
        let interval = || Duration::from_secs_f64(self.pacer.rate().interval_ns() * 1e-9);
        if self.length.is_steady { interval() } else { Duration::ZERO }
    }

    fn judge(&self, number: u64, intended_start: Nanos, now: Nanos) -> Admission {
        let end = self.end();
        let is_warm_up = match self.length.counted {
            Some(counted) => number < counted.first,
            None => intended_start < self.recorded_from,
        };
        if intended_start >= end || (is_warm_up && now >= end) {
            return Admission::Over;
        }
        if is_warm_up {
            return Admission::WarmUp;
        }
        match self.slots.take_one() {
            None => Admission::Over,
            Some(_) if now >= end => Admission::Unstarted,
            Some(1) => {
                self.end_with_load(now);
                Admission::Recorded
            }
            Some(_) => Admission::Recorded,
        }
    }

    /// The recorded slots that were due before the end of the run and have not started, in batches: see
    /// [`Pacer::unstarted`]. Leaves out the batches in `known`, then replaces `known` with all of them. It is called
    /// twice, because a slot that a worker waited for when the run ended is given back a little later.
    pub(crate) fn unstarted(&self, known: &mut Vec<(Nanos, u64)>) -> Vec<(Nanos, u64)> {
        let mut all = self.pacer.unstarted(self.recorded_from..self.end());
        self.leave_warm_up_out(&mut all);
        let left = beyond(&all, known);
        *known = all;
        left
    }

    /// Leaves those of these first slots out that are warm-up, although a late policy has moved them beyond its end.
    fn leave_warm_up_out(&self, batches: &mut Vec<(Nanos, u64)>) {
        let Some(Counted { warm_up, .. }) = self.length.counted else { return };
        let Ledger { granted, skipped, backlog_slots, .. } = self.pacer.ledger();
        let recorded = (granted + skipped + backlog_slots).saturating_sub(warm_up);
        let all = batches.iter().map(|(_, slots)| slots).sum::<u64>();
        let mut left = all.saturating_sub(recorded);
        batches.retain_mut(|(_, slots)| {
            let warm_up = left.min(*slots);
            (*slots, left) = (*slots - warm_up, left - warm_up);
            *slots > 0
        });
    }

    /// Ends the run at `at`, which is capped at the end that was planned. Only the first call
    /// counts.
    pub(crate) fn end_run(&self, at: Nanos) -> RunEnd {
        self.end_at(at, None)
    }

    /// `load_end` is the end of the load, if all its slots have come.
    fn end_at(&self, at: Nanos, load_end: Option<Nanos>) -> RunEnd {
        let planned = self.planned_end();
        let load_end = load_end.filter(|_| at <= planned);
        let at = at.min(planned);
        *self.ended.get_or_init(|| {
            let is_over = load_end.is_some();
            let asked = if is_over { self.asked_in_all(at) } else { self.asked(at) };
            let recorded =
                self.warm_up().map_or_else(AskedLoad::default, |before| asked.since(before));
            // The interval of an even slot must have passed: until then, the slot may just have been due.
            let is_by_count = self.length.spacing == Spacing::Even && !is_over;
            RunEnd {
                at,
                asked_until: load_end.unwrap_or(at),
                asked,
                recorded,
                required: if is_by_count {
                    recorded.count.floor()
                } else {
                    human::float(recorded.slots)
                },
                ledger: ledger_at_end(at - self.start, self.pacer.ledger()),
            }
        })
    }
}

/// All slots of a load. Those after the warm-up count as whole ones, wherever in an interval the warm-up ended.
fn in_all(slots: u64, warm_up: AskedLoad) -> AskedLoad {
    let recorded = slots.saturating_sub(warm_up.slots);
    AskedLoad { slots, count: warm_up.count + human::float(recorded) }
}

/// The slots of `all` that are not among `known`, in batches. Only their number is certain. Batches of `all` may be cut
/// elsewhere than those of `known`: then the due time of a new slot may be up to a batch off.
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

/// The ledger without the slots that have fallen due since the end, which came `end` after the start. If the run was
/// paused, less is left out, by the length of the pauses.
fn ledger_at_end(end: Duration, ledger: Ledger) -> Ledger {
    let mut ended = ledger;
    let behind = ledger.elapsed.saturating_sub(end).min(ledger.backlog);
    ended.elapsed -= behind;
    ended.backlog -= behind;
    ended
}

#[cfg(test)]
mod tests;
