//! Records the operations of a load thread.

use super::in_flight::{Begun, InFlight};
use super::schedule_shift::ScheduleShift;
use crate::load::details::SetUp;
use crate::results::burst::BurstLine;
use crate::results::cpu_time::CpuTime;
use crate::results::last_poll::LastPoll;
use crate::results::lateness::{IdealConnections, Lateness, Start};
use crate::results::operation::{Answer, Operation};
use crate::results::outcome::{Ending, Outcome};
use crate::results::stats::OperationStats;
use nanopace::{Nanos, Pacer};
use std::mem;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The record of one load thread. The collector also accesses it.
#[derive(Debug)]
pub(crate) struct Recorder {
    clock: Pacer,
    record: Mutex<Record>,
    /// The burst line of all threads, or `None` if the strictness is at most 1. Lock order: the record is locked before
    /// the burst line.
    burst: Option<Arc<Mutex<BurstLine>>>,
}

#[derive(Debug)]
struct Record {
    stats: OperationStats,
    starts: Vec<Nanos>,
    /// The time up to which the collector has taken all starts.
    taken_until: Nanos,
    in_flight: InFlight,
    outcomes: Vec<Outcome>,
    count: usize,
    /// The ideal connections, which simulate a generator without delays: see [`lateness`](crate::results::lateness).
    connections: IdealConnections,
    /// The ideal connections to a target that responds at once. `None` before the first think time of a call.
    instant_target: Option<IdealConnections>,
    /// The number of connections that are being opened outside calls.
    opening: usize,
    moved: ScheduleShift,
    last_poll: LastPoll,
    /// The number of slots that had been skipped when the last operation started.
    skipped: u64,
}

impl Recorder {
    /// Returns one recorder for each thread. `connections` contains the number of connections of each thread.
    pub(crate) fn all(pacer: &Pacer, connections: &[usize], gives_up: bool) -> Vec<Arc<Recorder>> {
        let burst = BurstLine::new(pacer.strictness()).map(|line| Arc::new(Mutex::new(line)));
        let each = connections.iter();
        each.map(|&count| Arc::new(Recorder::new(pacer, count, burst.clone(), gives_up))).collect()
    }

    fn new(
        pacer: &Pacer,
        count: usize,
        burst: Option<Arc<Mutex<BurstLine>>>,
        gives_up: bool,
    ) -> Recorder {
        let record = Record {
            stats: OperationStats::new(),
            starts: Vec::new(),
            taken_until: Nanos::ZERO,
            in_flight: InFlight::default(),
            outcomes: Vec::new(),
            count,
            connections: IdealConnections::new(count),
            instant_target: None,
            opening: 0,
            moved: ScheduleShift::new(pacer, gives_up),
            last_poll: LastPoll::new(pacer.now()),
            skipped: 0,
        };
        Recorder { clock: pacer.clone(), record: Mutex::new(record), burst }
    }

    pub(crate) fn start(self: &Arc<Self>, intended_start: Nanos, is_recorded: bool) -> Flight {
        let (start, place) = self.begin(self.clock.now(), intended_start, is_recorded);
        Flight { recorder: Arc::clone(self), start, place: Some(place) }
    }

    /// Records that an operation starts. The caller has just read `now` from the clock.
    pub(crate) fn start_at(
        &self,
        now: Nanos,
        intended_start: Nanos,
        is_recorded: bool,
    ) -> Flight<&Recorder> {
        let (start, place) = self.begin(now, intended_start, is_recorded);
        Flight { recorder: self, start, place: Some(place) }
    }

    /// Records the start of an operation. Returns the time of the start and the place of the operation. For a slot of
    /// the warm-up, records only the cause of its lateness, because this lateness may make a late policy give up time
    /// after the warm-up.
    fn begin(&self, now: Nanos, intended_start: Nanos, is_recorded: bool) -> (Nanos, usize) {
        let record = &mut *self.record();
        // The collector has taken all starts up to `taken_until`, so this start must be later.
        let now = if now <= record.taken_until { self.clock.now() } else { now };
        let (moved, mut burst) = (record.moved.by(now), self.burst());
        record.skipped = record.moved.skipped();
        let start = record.connections.start(intended_start, now, moved, burst.as_deref_mut());
        drop(burst);
        let instant_target = &mut record.instant_target;
        let instant_target =
            instant_target.as_mut().map(|ideal| ideal.start(intended_start, now, moved, None));
        let late = start.by_generator();
        let lateness = start.lateness_beside(instant_target, intended_start);
        let lateness = lateness.with_queued(record.last_poll.queued_of(late));
        record.last_poll.starts(late);
        record.stats.cause(lateness);
        if is_recorded {
            record.starts.push(start.actual);
            record.stats.start(start.actual - intended_start, lateness);
        }
        let place = record.in_flight.add(Begun {
            intended_start,
            start,
            instant_target,
            is_recorded,
            sent: record.last_poll.send(now),
            paused: record.moved.paused(now),
            busy: Duration::ZERO,
            rested: Duration::ZERO,
            rests_until: None,
        });
        (now, place)
    }

    /// Records a think time from the current time to `until`. The call at this place sends nothing during this time.
    pub(crate) fn rest(&self, place: usize, until: Nanos) {
        let record = &mut *self.record();
        let now = self.clock.now();
        record.begin_to_rest(now);
        let Some(begun) = record.in_flight.at(place) else { return };
        let rest = until - now;
        begun.busy += record.last_poll.busy(begun.sent, now) + rest;
        begun.rested += rest;
        begun.rests_until = Some(until);
        if begun.is_recorded {
            let stopped = record.last_poll.stopped_since(begun.sent);
            record.stats.answered(record.last_poll.queued(), stopped);
            record.stats.think_times.begun += 1;
        }
    }

    /// Records that the think time of the call at this place has ended. Returns the current time.
    pub(crate) fn go_on(&self, place: usize) -> Nanos {
        let record = &mut *self.record();
        let now = self.clock.now();
        let Some(begun) = record.in_flight.at(place) else { return now };
        begun.sent = record.last_poll.send(now);
        if let Some(until) = begun.rests_until.take()
            && begun.is_recorded
        {
            record.stats.late_after_rest(now - until);
        }
        now
    }

    /// Counts all operations in flight as unfinished, because the thread may be stuck. If one of them ends later, its
    /// end is not counted.
    pub(crate) fn give_up(&self) {
        let record = &mut *self.record();
        let now = self.clock.now();
        for begun in record.in_flight.give_up() {
            record.unfinished(&begun, now);
        }
    }

    pub(crate) fn pause(&self, is_paused: bool) {
        self.record().moved.pause(self.clock.now(), is_paused);
    }

    /// Attributes all time in the thread's calls to the target, because calls block the thread.
    pub(crate) fn blocks(&self) {
        self.record().last_poll.blocks();
    }

    /// Returns whether the report of the thread's CPU time is overdue by more than `allowed` plus a fixed time.
    pub(crate) fn is_stuck(&self, allowed: Duration) -> bool {
        self.record().last_poll.is_stuck(self.clock.now(), allowed)
    }

    pub(crate) fn connections(&self) -> usize {
        self.record().count
    }

    /// Returns whether all connections of the thread are busy, and would be busy even if the generator caused no delay.
    /// A slot has been due for `age`, and waits for a connection.
    pub(crate) fn lacks_connection(&self, age: Duration) -> bool {
        let record = &*self.record();
        let now = self.clock.now();
        // A generator without delays would be ahead by up to this time.
        let ahead = record.in_flight.iter().map(|begun| begun.start.by_generator()).max();
        let unseen = now - record.looked_until(now);
        record.connections.are_busy() && age > ahead.unwrap_or_default() + unseen
    }

    /// Takes out an ideal connection to the target, and one to a target that responds at once. Both must be
    /// [swapped](Recorder::swap_ideal) in while slots of their connection are recorded.
    pub(crate) fn split_ideal(&self) -> [IdealConnections; 2] {
        let record = &mut *self.record();
        record.instant_target.get_or_insert_with(|| IdealConnections::new(0));
        [record.connections.split(), IdealConnections::new(1)]
    }

    /// Exchanges the ideal connections of the thread with the given ones.
    pub(crate) fn swap_ideal(&self, [connections, instant_target]: &mut [IdealConnections; 2]) {
        let record = &mut *self.record();
        mem::swap(&mut record.connections, connections);
        record.instant_target.iter_mut().for_each(|it| mem::swap(it, instant_target));
    }

    /// Adds a connection that the thread begins to open during the run.
    pub(crate) fn add_connection(&self) -> Start {
        let record = &mut *self.record();
        let now = self.clock.now();
        let moved = record.moved.by(now);
        record.count += 1;
        let ideal = [Some(&mut record.connections), record.instant_target.as_mut()];
        ideal.into_iter().flatten().for_each(|ideal| ideal.add(now, moved));
        record.connections.start(now, now, moved, None)
    }

    /// Returns the number of connections being opened outside calls. Until this number is 0, the thread takes no slot.
    pub(crate) fn opening(&self) -> usize {
        self.record().opening
    }

    /// Records that the thread goes to sleep. Calls `processor` for the thread's CPU time only if it is needed.
    pub(crate) fn sleeps(&self, processor: impl FnOnce() -> CpuTime) {
        self.record().last_poll.sleeps(self.clock.now(), processor);
    }

    /// Records that the thread has woken up. Calls `processor` for the thread's CPU time only if it is needed.
    pub(crate) fn wakes(&self, processor: impl FnOnce() -> CpuTime) {
        self.record().last_poll.wakes(self.clock.now(), processor);
    }

    /// Records the thread's CPU time. The thread must report again within a [`BEAT`](crate::results::last_poll::BEAT).
    pub(crate) fn beat(&self, processor: CpuTime) {
        self.record().last_poll.beat(self.clock.now(), processor);
    }

    /// Records the slots that had not started at `end`. Each entry of `left` is an intended start, and the number of
    /// slots with about this intended start.
    pub(crate) fn unstarted(&self, left: &[(Nanos, u64)], end: Nanos) {
        let record = &mut *self.record();
        let now = self.clock.now();
        let looked = record.looked_until(now);
        let (moved, burst) = (record.moved.by(now), self.burst());
        for &(intended_start, slots) in left {
            let age = end - intended_start;
            let lateness = record.lateness(intended_start, [end, looked], moved, burst.as_deref());
            let Record { stats, outcomes, .. } = record;
            stats.unstarted(age, lateness, slots);
            let ending = Ending::Unstarted;
            let outcome =
                Outcome { intended_start, wait_time: None, response_time: age, ending, slots };
            outcomes.push(outcome);
        }
    }

    pub(crate) fn skipped(&self) -> u64 {
        self.record().skipped
    }

    /// Attributes the lateness of `slots` slots that were skipped at `end` and had about this intended start.
    pub(crate) fn skipped_at(&self, end: Nanos, intended_start: Nanos, slots: f64) {
        let record = &mut *self.record();
        let (moved, burst) = (record.moved.by(end), self.burst());
        let lateness = record.lateness(intended_start, [end, end], moved, burst.as_deref());
        record.stats.cause(lateness.times(slots));
    }

    /// Returns the lateness so far of a waiting slot that has been due for `age`.
    pub(crate) fn waiting(&self, age: Duration) -> Lateness {
        let record = &mut *self.record();
        let now = self.clock.now();
        let intended = Nanos::ZERO + (now - Nanos::ZERO).saturating_sub(age);
        let (looked, moved, burst) = (record.looked_until(now), record.moved.by(now), self.burst());
        record.lateness(intended, [now, looked], moved, burst.as_deref())
    }

    /// Records that the thread begins to open a connection. No slot can use it until it is [opened](Recorder::opened).
    pub(crate) fn open(&self) -> Start {
        let record = &mut *self.record();
        let now = self.clock.now();
        record.opening += 1;
        record.connections.start(now, now, Duration::ZERO, None)
    }

    /// Records that the attempt to open the connection has ended. All of its time is attributed to the target.
    pub(crate) fn opened(&self, start: Start) {
        let record = &mut *self.record();
        let now = self.clock.now();
        let paused = record.moved.paused(now);
        record.connections.end(start, (now - start.actual).saturating_sub(paused));
        // A connection that is added during the run is not counted.
        record.opening = record.opening.saturating_sub(1);
    }

    pub(crate) fn step(&self, step: &Operation) {
        self.record().stats.answer(step);
    }

    pub(crate) fn set_up(&self, set_up: SetUp) {
        self.record().stats.set_up(set_up);
    }

    pub(crate) fn spun(&self, time: Duration) {
        self.record().stats.spun += time;
    }

    /// Moves the starts recorded so far to the end of `starts`. Later starts will be after `now`, the current time.
    pub(crate) fn take_starts(&self, now: Nanos, starts: &mut Vec<Nanos>) {
        let record = &mut *self.record();
        record.taken_until = now;
        starts.append(&mut record.starts);
    }

    pub(crate) fn swap_outcomes(&self, outcomes: &mut Vec<Outcome>) {
        mem::swap(outcomes, &mut self.record().outcomes);
    }

    pub(crate) fn swap_stats(&self, stats: &mut OperationStats) {
        mem::swap(stats, &mut self.record().stats);
    }

    fn burst(&self) -> Option<MutexGuard<'_, BurstLine>> {
        self.burst.as_ref().map(|line| line.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        // A panic of a thread ends the run with its message. The poisoned lock must not cause another panic.
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Record {
    /// Returns the time up to which the thread has found all responses that have arrived. This is the current time if
    /// the thread is opening connections, because it then awaits no responses.
    fn looked_until(&self, now: Nanos) -> Nanos {
        if self.opening > 0 { now } else { self.last_poll.looked_until(now) }
    }

    /// Returns the lateness at `now` of a slot that has not started. The thread has found all responses that arrived
    /// before `looked`.
    fn lateness(
        &self,
        intended: Nanos,
        [now, looked]: [Nanos; 2],
        moved: Duration,
        burst: Option<&BurstLine>,
    ) -> Lateness {
        let lateness = self.connections.unstarted(intended, now, looked, moved, burst);
        let late = Duration::from_secs_f64(lateness.generator);
        let lateness = lateness.with_queued(self.last_poll.queued_of(late));
        let in_use = self
            .in_flight
            .iter()
            .filter_map(|it| it.instant_target.map(|start| (start, it.rested)));
        let free = self
            .instant_target
            .as_ref()
            .and_then(|instant_target| instant_target.free_from(in_use, moved));
        lateness.but_for_rests(free.map_or(Duration::ZERO, |free| free.min(now) - intended))
    }

    /// At the first think time, creates the ideal connections to a target that responds at once.
    fn begin_to_rest(&mut self, now: Nanos) {
        if self.instant_target.is_some() {
            return;
        }
        let moved = self.moved.by(now);
        let instant_target = self.instant_target.insert(IdealConnections::new(self.count));
        for begun in self.in_flight.iter_mut() {
            let (intended, actual) = (begun.intended_start, begun.start.actual);
            begun.instant_target = Some(instant_target.start(intended, actual, moved, None));
        }
    }

    fn unfinished(&mut self, begun: &Begun, now: Nanos) {
        if begun.is_recorded {
            let outcome = begun.outcome(now, Ending::Unfinished);
            self.stats.unfinished(outcome.response_time);
            self.outcomes.push(outcome);
        }
    }
}

/// An operation that has started. If it is dropped before it ends, it counts as unfinished.
#[derive(Debug)]
#[must_use = "an operation that is dropped is unfinished"]
pub(crate) struct Flight<R: Deref<Target = Recorder> = Arc<Recorder>> {
    recorder: R,
    start: Nanos,
    place: Option<usize>,
}

impl<R: Deref<Target = Recorder>> Flight<R> {
    pub(crate) fn started(&self) -> Nanos {
        self.start
    }

    pub(crate) fn place(&self) -> usize {
        self.place.unwrap_or_default()
    }

    /// Ends the operation at the current time, and returns this time.
    pub(crate) fn end(mut self, answer: Answer) -> Nanos {
        let record = &mut *self.recorder.record();
        let end = self.recorder.clock.now();
        let begun = self.place.take().and_then(|place| record.in_flight.end(place));
        let Some(begun) = begun else { return end };
        let paused = record.moved.paused(end).saturating_sub(begun.paused);
        let busy = (begun.busy + record.last_poll.busy(begun.sent, end)).saturating_sub(paused);
        record.connections.end(begun.start, busy);
        if let (Some(instant_target), Some(start)) =
            (&mut record.instant_target, begun.instant_target)
        {
            instant_target.end(start, begun.rested.min(busy));
        }
        if begun.is_recorded {
            let stopped = record.last_poll.stopped_since(begun.sent);
            record.stats.answered(record.last_poll.queued(), stopped);
            let operation = Operation { intended_start: begun.intended_start, end, answer };
            let ending = answer.outcome.map_or_else(Ending::Failed, |()| Ending::Completed);
            record.stats.end(&operation);
            record.outcomes.push(begun.outcome(end, ending));
        }
        end
    }
}

impl<R: Deref<Target = Recorder>> Drop for Flight<R> {
    fn drop(&mut self) {
        let Some(place) = self.place else { return };
        let record = &mut *self.recorder.record();
        let now = self.recorder.clock.now();
        if let Some(begun) = record.in_flight.end(place) {
            record.unfinished(&begun, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nanopace::{ManualClock, Rate};

    fn two() -> (Arc<Recorder>, ManualClock) {
        let clock = ManualClock::new();
        let pacer = Pacer::builder(Rate::per_second(200).unwrap()).clock(clock.clone()).build();
        let recorder = Recorder::all(&pacer, &[2], false).remove(0);
        recorder.blocks();
        (recorder, clock)
    }

    fn at(ms: u64) -> Nanos {
        Nanos::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn a_slot_lacks_a_connection_only_if_all_are_busy_and_none_was_started_as_late() {
        let (recorder, clock) = two();
        let lacks = |ms| recorder.lacks_connection(Duration::from_millis(ms));
        let first = recorder.start(at(0), true);
        clock.advance(Duration::from_millis(10));
        assert!(!lacks(5));
        let second = recorder.start(at(8), true);
        assert!(!lacks(2) && lacks(3));
        first.end(Answer::completed(at(0)));
        assert!(!lacks(3));
        drop(second);
    }

    /// The first connection is busy until 25 ms. The second one is free, but its slot of 10 ms starts at 25 ms.
    #[test]
    fn a_slot_waits_for_its_own_connection_or_for_the_generator() {
        let (recorder, clock) = two();
        let mut own = [(); 2].map(|()| recorder.split_ideal());
        let mut start = |connection: usize, intended: u64, ended: Option<Flight>| {
            recorder.swap_ideal(&mut own[connection]);
            ended.map(|flight| flight.end(Answer::completed(at(0))));
            let flight = recorder.start(at(intended), true);
            recorder.swap_ideal(&mut own[connection]);
            flight
        };
        let first = start(0, 0, None);
        clock.advance(Duration::from_millis(25));
        let next = [start(0, 5, Some(first)), start(1, 10, None)];
        let mut stats = OperationStats::new();
        recorder.swap_stats(&mut stats);
        let Lateness { target, generator, .. } = stats.lateness;
        assert!((target - 0.020).abs() < 1e-9 && (generator - 0.015).abs() < 1e-9, "{target}");
        drop(next);
    }

    #[test]
    fn a_thread_is_stuck_if_its_beats_have_stopped() {
        let clock = ManualClock::new();
        let pacer = Pacer::builder(Rate::per_second(1).unwrap()).clock(clock.clone()).build();
        let recorder = Recorder::all(&pacer, &[1], false).remove(0);
        clock.advance(Duration::from_secs(5));
        assert!(!recorder.is_stuck(Duration::ZERO));
        recorder.beat(CpuTime::default());
        clock.advance(Duration::from_secs(1));
        assert!(!recorder.is_stuck(Duration::ZERO));
        clock.advance(Duration::from_secs(1));
        assert!(recorder.is_stuck(Duration::ZERO) && !recorder.is_stuck(Duration::from_secs(1)));
        recorder.beat(CpuTime::default());
        assert!(!recorder.is_stuck(Duration::ZERO));
    }
}
