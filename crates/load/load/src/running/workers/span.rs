//! Decides which slots are started, which of them are recorded, and when the run ends.

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

#[derive(Debug)]
pub(crate) struct RunSpan {
    pacer: Pacer,
    pub(crate) start: Nanos,
    pub(crate) began: SystemTime,
    /// The end of the warm-up. Unless the number of requests is fixed, slots before this time belong to the warm-up.
    pub(crate) recorded_from: Nanos,
    /// The planned end, in nanoseconds. The run can end earlier. `follow` moves the planned end after a change of the
    /// load.
    planned_end: AtomicU64,
    /// The latest possible end, for any load.
    latest: Nanos,
    length: RunLength,
    slots: Slots,
    warm_up: OnceLock<AskedLoad>,
    ended: OnceLock<RunEnd>,
    messages: Sender<Message>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    Recorded,
    WarmUp,
    /// The slot counts as unstarted. It was due before the end of the run, but the run has ended.
    Unstarted,
    /// The slot is neither started nor counted. It was due at the end or later, it belongs to the warm-up of a run that
    /// has ended, or the run already has its number of slots.
    Over,
}

impl RunSpan {
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

    pub(crate) fn intended_start(&self, grant: Grant, now: Nanos) -> Nanos {
        if self.length.is_closed { now } else { grant.intended_start() }
    }

    /// Returns the amount of load that was due before `moment`, or before the end of the run if the end comes first.
    pub(crate) fn asked(&self, moment: Nanos) -> AskedLoad {
        let AskedLoad { slots, count } = self.asked_by_pacer(moment);
        let most = self.length.most.zip(self.warm_up());
        let most = most.map(|(slots, warm_up)| in_all(slots, warm_up).count);
        AskedLoad { slots, count: most.map_or(count, |most| count.min(most)) }
    }

    /// Returns the amount of load according to the pacer. For random arrivals, `count` is the expected number, which
    /// can exceed the number of due slots. For a moment before the last change of the load, the pacer may return the
    /// amount at that change. For a moment before the end of a pause, it returns too small an amount.
    fn asked_by_pacer(&self, moment: Nanos) -> AskedLoad {
        let (pacer, before) = (&self.pacer, moment.min(self.end()));
        let asked =
            || AskedLoad { slots: pacer.asked_before(before), count: pacer.asked_count(before) };
        let ended = self.ended.get().filter(|ended| ended.at <= moment);
        ended.map_or_else(asked, |ended| ended.asked)
    }

    /// Returns the amount of the whole load. All slots of the load must have fallen due by `moment`.
    fn asked_in_all(&self, moment: Nanos) -> AskedLoad {
        let slots = self.pacer.asked_before(moment + Duration::from_nanos(1));
        in_all(slots, self.warm_up().unwrap_or_default())
    }

    /// Returns the amount of load in the warm-up, or `None` before the recorded part. The first call in the recorded
    /// part stores this amount. Call this method before each change of the load, because the pacer cannot count earlier
    /// load after a change.
    pub(crate) fn warm_up(&self) -> Option<AskedLoad> {
        let has_begun = || self.pacer.now() >= self.recorded_from;
        let asked = || *self.warm_up.get_or_init(|| self.asked_in_warm_up());
        self.warm_up.get().copied().or_else(|| has_begun().then(asked))
    }

    /// Returns the amount of load in the warm-up. A pause in the warm-up delays some of its slots into the recorded
    /// part. With a fixed number of requests, these slots still count as warm-up.
    fn asked_in_warm_up(&self) -> AskedLoad {
        let asked = self.asked_by_pacer(self.recorded_from);
        let planned = self.length.counted.map_or(asked.slots, |counted| counted.warm_up);
        in_all(planned, asked)
    }

    /// Returns the end of the run. A slot is started only before the end, and only if its intended start is before the
    /// end.
    pub(crate) fn end(&self) -> Nanos {
        self.ended.get().map_or_else(|| self.planned_end(), |ended| ended.at)
    }

    pub(crate) fn has_end(&self) -> bool {
        self.planned_end() < Nanos::MAX || self.slots.are_limited()
    }

    /// Returns whether all slots have fallen due. Returns false if the number of slots is unknown.
    pub(crate) fn has_come(&self) -> bool {
        let come = || self.pacer.asked_before(self.pacer.now());
        self.length.most.is_some_and(|most| come() >= most)
    }

    /// Returns whether no slot is left that a change of the load could still move.
    pub(crate) fn has_no_slot_left(&self) -> bool {
        // Workers have taken the slots that they wait for, but a change of the rate still moves these slots.
        let are_decided = || self.is_load_over(self.slots.decided());
        self.length.counted.map_or_else(|| self.pacer.is_finished(), |_| are_decided())
    }

    pub(crate) fn has_fixed_warm_up(&self) -> bool {
        self.length.counted.is_some() && self.pacer.now() < self.recorded_from
    }

    fn planned_end(&self) -> Nanos {
        // Relaxed: no other data is published through this value. No loom model: it is a single atomic.
        Nanos::from_nanos(self.planned_end.load(Ordering::Relaxed))
    }

    /// Moves the planned end to the end of a load that begins at `now` and has this length, or to `latest` if `latest`
    /// comes first, but not before the end of the warm-up. If neither the load nor the length of the run is limited,
    /// the planned end does not change.
    pub(crate) fn follow(&self, now: Nanos, length: Option<Duration>) {
        let load = length.map_or(Nanos::MAX, |length| now + length);
        let end = load.min(self.latest).max(self.recorded_from);
        if end < Nanos::MAX {
            // Relaxed: for the reason given in `planned_end`.
            self.planned_end.store(end.as_nanos(), Ordering::Relaxed);
        }
    }

    /// Decides about a slot. If the run ends with the load or after a fixed number of requests, the decision about the
    /// last slot ends the run.
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

    pub(crate) fn not_started(&self) -> u64 {
        self.slots.not_started(self.pacer.ledger().granted)
    }

    /// Ends the run if all its slots are decided. An undecided slot does not count, because it can be given back and
    /// granted again.
    pub(crate) fn end_if_over(&self) {
        if self.is_load_over(self.slots.decided()) {
            self.end_with_load(self.pacer.now());
        }
    }

    /// Returns whether all slots of the load are decided. Returns false if the last slot does not end the run.
    fn is_load_over(&self, decided: Option<u64>) -> bool {
        let Some(decided) = decided else { return false };
        if let Some(counted) = self.length.counted
            && decided + self.skipped(counted) >= counted.all()
        {
            return true;
        }
        // The ledger is read last, so it contains all slots that were granted before the schedule was found finished.
        let granted = || self.pacer.ledger().granted;
        self.length.ends_with_load && self.pacer.is_finished() && decided == granted()
    }

    fn skipped(&self, counted: Counted) -> u64 {
        if counted.may_skip { self.pacer.ledger().skipped } else { 0 }
    }

    fn end_with_load(&self, load_end: Nanos) {
        self.end_at(load_end.max(self.pacer.now()), Some(load_end));
        // The receiver no longer exists only when the run has ended.
        let _ = self.messages.send(Message::LastSlot);
    }

    /// Returns the time from the last slot to the end of the load. If all intervals are equal, it is one interval, so
    /// that N slots take N intervals.
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

    /// Returns the unstarted slots that are not in `known`, then replaces `known` with all unstarted slots. The method
    /// is called twice, because a slot that a worker waited for when the run ended is given back only after the end.
    pub(crate) fn unstarted(&self, known: &mut Vec<(Nanos, u64)>) -> Vec<(Nanos, u64)> {
        let mut all = self.pacer.unstarted(self.recorded_from..self.end());
        self.leave_warm_up_out(&mut all);
        let left = beyond(&all, known);
        *known = all;
        left
    }

    /// Removes the slots of the warm-up, which a pause or a late policy may have moved beyond the end of the warm-up.
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

    /// Ends the run at `at`, or at the planned end if that is earlier. Only the first call has an effect.
    pub(crate) fn end_run(&self, at: Nanos) -> RunEnd {
        self.end_at(at, None)
    }

    /// Ends the run at `at`, or at the planned end if that is earlier. `load_end` is the end of the load, if all its
    /// slots have fallen due.
    fn end_at(&self, at: Nanos, load_end: Option<Nanos>) -> RunEnd {
        let planned = self.planned_end();
        let load_end = load_end.filter(|_| at <= planned);
        let at = at.min(planned);
        *self.ended.get_or_init(|| {
            let is_over = load_end.is_some();
            let asked = if is_over { self.asked_in_all(at) } else { self.asked(at) };
            let recorded =
                self.warm_up().map_or_else(AskedLoad::default, |before| asked.since(before));
            // In an even load, a slot is required only after its interval has passed. Until then, the slot may just
            // have fallen due.
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
                is_paused: self.pacer.is_paused(),
                ledger: ledger_at_end(at - self.start, self.pacer.ledger()),
            }
        })
    }
}

/// Returns the amount of load with `slots` slots. Each slot after the warm-up counts as a whole slot, even if the
/// warm-up ended within an interval.
fn in_all(slots: u64, warm_up: AskedLoad) -> AskedLoad {
    let recorded = slots.saturating_sub(warm_up.slots);
    AskedLoad { slots, count: warm_up.count + human::float(recorded) }
}

/// Returns the slots of `all` that are not in `known`, in batches. The number of slots is exact. If the batches of
/// `all` and `known` have different boundaries, the due time of a slot may be wrong by up to the length of a batch.
fn beyond(all: &[(Nanos, u64)], known: &[(Nanos, u64)]) -> Vec<(Nanos, u64)> {
    let count = |batches: &[(Nanos, u64)]| batches.iter().map(|(_, slots)| slots).sum::<u64>();
    let mut missing = count(all).saturating_sub(count(known));
    // `ahead` is the number of slots by which the batches of `all` so far exceed the known batches that are due by
    // then.
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

/// Subtracts the time since the end of the run, which was `end` after the start, from the elapsed time and the backlog.
/// If the run was paused, the subtracted time may be too short by up to the length of the pauses.
fn ledger_at_end(end: Duration, ledger: Ledger) -> Ledger {
    let mut ended = ledger;
    let behind = ledger.elapsed.saturating_sub(end).min(ledger.backlog);
    ended.elapsed -= behind;
    ended.backlog -= behind;
    ended
}

#[cfg(test)]
mod tests;
