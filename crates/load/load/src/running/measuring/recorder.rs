//! Records the operations of a load thread.

use super::busy_poll::MOST_CONNECTIONS;
use super::connections::ALL;
use super::in_flight::Begun;
use super::record::{Opening, Record};
use crate::console::human::float;
use crate::console::panics::locked;
use crate::load::details::SetUp;
use crate::results::burst::BurstLine;
use crate::results::cpu_time::CpuTime;
use crate::results::lateness::Lateness;
use crate::results::operation::{Answer, Operation};
use crate::results::outcome::{Ending, Outcome};
use crate::results::slot_record::SlotRecord;
use crate::results::stats::OperationStats;
use nanopace::{Nanos, Pacer};
use std::mem;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Recorder {
    clock: Pacer,
    record: Mutex<Record>,
    /// The burst line of all threads, or `None` if the strictness is at most 1. Lock order: the record is locked before
    /// the burst line.
    burst: Option<Arc<Mutex<BurstLine>>>,
    /// The number of skipped slots whose lateness a thread has recorded. All threads share it.
    skipped: Arc<AtomicU64>,
}

impl Recorder {
    /// Creates the recorders of all threads. `connections` contains the number of connections of each thread.
    pub(crate) fn all(pacer: &Pacer, connections: &[usize], gives_up: bool) -> Vec<Arc<Recorder>> {
        let burst = BurstLine::new(pacer.strictness()).map(|line| Arc::new(Mutex::new(line)));
        let skipped = Arc::<AtomicU64>::default();
        let each = connections.iter().map(|&count| {
            let (clock, record) = (pacer.clone(), Mutex::new(Record::new(pacer, count, gives_up)));
            let (burst, skipped) = (burst.clone(), Arc::clone(&skipped));
            Arc::new(Recorder { clock, record, burst, skipped })
        });
        each.collect()
    }

    pub(crate) fn start(self: &Arc<Self>, slot: (u64, Nanos), is_recorded: bool) -> Flight {
        let (start, place) = self.begin(self.clock.now(), slot, is_recorded, ALL);
        Flight { recorder: Arc::clone(self), start, place: Some(place) }
    }

    /// Records the start of an operation. `slot` is the number and the intended start of the operation's slot. The
    /// caller has just read `now` from the clock. `ideal` is the index of the ideal connections that the operation can
    /// use.
    pub(crate) fn start_at(
        &self,
        now: Nanos,
        slot: (u64, Nanos),
        is_recorded: bool,
        ideal: usize,
    ) -> Flight<&Recorder> {
        let (start, place) = self.begin(now, slot, is_recorded, ideal);
        Flight { recorder: self, start, place: Some(place) }
    }

    /// Returns the time of the start and the place of the operation. For a slot of the warm-up, only the cause of its
    /// lateness is recorded, because a late policy may give up time for this lateness after the warm-up.
    fn begin(
        &self,
        now: Nanos,
        (slot, intended_start): (u64, Nanos),
        is_recorded: bool,
        ideal: usize,
    ) -> (Nanos, usize) {
        let record = &mut *self.record();
        // The collector has taken all starts up to `taken_until`, so this start must be later.
        let now = if now <= record.taken_until { self.clock.now() } else { now };
        let before = record.moved.before(now);
        let (moved, mut burst) = (record.moved.by(now), self.burst());
        let skipped = self.newly_skipped(record.moved.skipped());
        if skipped > 0 && is_recorded {
            record.skipped(float(skipped), intended_start, before, burst.as_deref());
        }
        let connections = record.connections.ideal(ideal);
        let start = connections.to_target.start(intended_start, now, moved, burst.as_deref_mut());
        drop(burst);
        let instant_target = connections.to_instant_target.as_mut();
        let instant_target =
            instant_target.map(|ideal| ideal.start(intended_start, now, moved, None));
        let late = start.by_generator();
        let lateness = start.lateness_beside(instant_target, intended_start);
        let lateness = lateness.with_queued(record.last_poll.queued_of(late));
        record.last_poll.starts(late);
        record.busy_poll.starts(start.actual - intended_start);
        record.stats.cause(lateness);
        if is_recorded {
            record.starts.push(start.actual);
            record.stats.start(start.actual - intended_start, lateness);
        }
        let place = record.in_flight.add(Begun {
            slot,
            intended_start,
            start,
            instant_target,
            ideal,
            is_recorded,
            sent: record.last_poll.send(now),
            paused: record.moved.paused(now),
            busy: Duration::ZERO,
            rested: Duration::ZERO,
            rests_until: None,
        });
        (now, place)
    }

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
            record.stats.answered(record.last_poll.queued(begun.sent, now), stopped);
            record.stats.think_times.begun += 1;
        }
    }

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

    /// Counts all operations in flight as unfinished, because the thread may be stuck. Later ends of these operations
    /// are not counted.
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

    pub(crate) fn is_stuck(&self, allowed: Duration) -> bool {
        self.record().last_poll.is_stuck(self.clock.now(), allowed)
    }

    pub(crate) fn connections(&self) -> usize {
        self.record().connections.count
    }

    pub(crate) fn lacks_connection(&self, age: Duration) -> bool {
        self.record().lacks_connection(self.clock.now(), age)
    }

    pub(crate) fn split_connection(&self) -> usize {
        self.record().connections.split()
    }

    /// Returns the number of connections that are being opened. Until it is 0, the thread takes no slot.
    pub(crate) fn opening(&self) -> usize {
        self.record().connections.opening
    }

    /// Records that the thread begins to open a connection. No slot can use the connection until it is
    /// [opened](Recorder::opened).
    pub(crate) fn open(&self) -> Opening {
        let Record { connections, moved, .. } = &mut *self.record();
        let now = self.clock.now();
        connections.opening += 1;
        let start = connections.ideal(ALL).to_target.start(now, now, Duration::ZERO, None);
        Opening { start, paused: moved.paused(now) }
    }

    pub(crate) fn opened(&self, opening: Opening) {
        let record = &mut *self.record();
        record.connections.opening -= 1;
        record.connection_opened(opening, self.clock.now());
    }

    pub(crate) fn add(&self) -> Opening {
        let Record { connections, moved, .. } = &mut *self.record();
        let now = self.clock.now();
        Opening { start: connections.add(now, moved.by(now)), paused: moved.paused(now) }
    }

    pub(crate) fn added(&self, opening: Opening) {
        self.record().connection_opened(opening, self.clock.now());
    }

    pub(crate) fn poll_if_late(&self, least_wait: Duration) {
        self.record().busy_poll.least_wait = least_wait;
    }

    /// Records that the thread is about to sleep, and returns whether it polls instead. Calls `processor` only if the
    /// CPU time is needed.
    pub(crate) fn sleeps(&self, processor: impl FnOnce() -> CpuTime) -> bool {
        let (record, now) = (&mut *self.record(), self.clock.now());
        record.last_poll.sleeps(now, processor);
        record.connections.count <= MOST_CONNECTIONS && record.busy_poll.polls(now)
    }

    pub(crate) fn wakes(&self, processor: impl FnOnce() -> CpuTime) {
        self.record().last_poll.wakes(self.clock.now(), processor);
    }

    /// Records the CPU time of the thread at a beat. The next call must follow within a
    /// [`BEAT`](crate::results::last_poll::BEAT).
    pub(crate) fn beat(&self, processor: CpuTime) {
        self.record().last_poll.beat(self.clock.now(), processor);
    }

    /// Records the slots that were not started. Each entry of `left` is an intended start, and the number of slots with
    /// about this intended start.
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

    /// Sets the lateness beyond which slots are skipped.
    pub(crate) fn skip_later_than(&self, limit: Duration) {
        self.record().skip_later_than = limit;
    }

    /// Returns how many of `all` skipped slots have not been returned to any thread yet.
    pub(crate) fn newly_skipped(&self, all: u64) -> u64 {
        // Relaxed: no other memory depends on this counter. The load spares each start a write to a shared line.
        if all <= self.skipped.load(Ordering::Relaxed) {
            return 0;
        }
        all.saturating_sub(self.skipped.fetch_max(all, Ordering::Relaxed))
    }

    /// Records the lateness of `slots` slots that were skipped after the last start, the last of them at about `end`.
    pub(crate) fn skipped_before(&self, end: Nanos, slots: f64) {
        let record = &mut *self.record();
        let (before, burst) = (record.moved.before(end), self.burst());
        record.skipped(slots, end - record.skip_later_than, before, burst.as_deref());
    }

    pub(crate) fn waiting(&self, age: Duration) -> Lateness {
        let record = &mut *self.record();
        let now = self.clock.now();
        let intended = Nanos::ZERO + (now - Nanos::ZERO).saturating_sub(age);
        let (looked, moved, burst) = (record.looked_until(now), record.moved.by(now), self.burst());
        record.lateness(intended, [now, looked], moved, burst.as_deref())
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
        self.record().outcomes.swap(outcomes);
    }

    pub(crate) fn record_slots(&self, slots: Option<SlotRecord>) {
        self.record().slots = slots.map(Box::new);
    }

    pub(crate) fn take_slots(&self) -> Option<SlotRecord> {
        self.record().slots.take().map(|slots| *slots)
    }

    pub(crate) fn swap_stats(&self, stats: &mut OperationStats) {
        mem::swap(stats, &mut self.record().stats);
    }

    fn burst(&self) -> Option<MutexGuard<'_, BurstLine>> {
        self.burst.as_deref().map(locked)
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        locked(&self.record)
    }
}

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

    pub(crate) fn end(mut self, answer: Answer) -> Nanos {
        let record = &mut *self.recorder.record();
        let end = self.recorder.clock.now();
        let begun = self.place.take().and_then(|place| record.in_flight.end(place));
        let Some(begun) = begun else { return end };
        let paused = record.moved.paused(end).saturating_sub(begun.paused);
        let busy = (begun.busy + record.last_poll.busy(begun.sent, end)).saturating_sub(paused);
        record.connections.ideal(begun.ideal).end(&begun, busy);
        record.busy_poll.ends();
        if begun.is_recorded {
            let operation = Operation { intended_start: begun.intended_start, end, answer };
            let stopped = record.last_poll.stopped_since(begun.sent);
            let queued = record.last_poll.queued(begun.sent, end);
            record.stats.answered(queued.min(operation.service_time()), stopped);
            let ending = answer.outcome.map_or_else(Ending::Failed, |()| Ending::Completed);
            record.stats.end(&operation);
            if let Some(slots) = &mut record.slots {
                slots.add(begun.slot, begun.start.actual, &operation);
            }
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

    #[test]
    fn a_thread_polls_after_a_response_to_an_operation_that_started_late() {
        let clock = ManualClock::new();
        let pacer = Pacer::builder(Rate::per_second(1).unwrap()).clock(clock.clone()).build();
        let recorders = Recorder::all(&pacer, &[MOST_CONNECTIONS, MOST_CONNECTIONS + 1], false);
        clock.advance(Duration::from_secs(1));
        for (recorder, least_wait, polls) in [
            (&recorders[0], None, false),
            (&recorders[0], Some(1), true),
            (&recorders[0], Some(2), false),
            (&recorders[1], Some(1), false),
        ] {
            let _ = least_wait.map(|secs| recorder.poll_if_late(Duration::from_secs(secs)));
            recorder.start((0, Nanos::ZERO), true).end(Answer::completed(Nanos::ZERO));
            assert_eq!(recorder.sleeps(CpuTime::default), polls, "{least_wait:?}");
        }
    }

    #[test]
    fn no_response_waited_for_the_cpu_for_longer_than_its_service_time() {
        let ms = Duration::from_millis;
        let clock = ManualClock::new();
        let pacer = Pacer::builder(Rate::per_second(1).unwrap()).clock(clock.clone()).build();
        let recorder = Recorder::all(&pacer, &[1], false).remove(0);
        recorder.beat(CpuTime { had: Duration::ZERO, wanted: ms(5) });
        let flight = recorder.start((0, Nanos::ZERO), true);
        clock.advance(ms(3));
        recorder.rest(flight.place(), Nanos::ZERO + ms(3));
        recorder.go_on(flight.place());
        clock.advance(ms(3));
        flight.end(Answer::completed(Nanos::ZERO + ms(4)));
        let mut stats = OperationStats::new();
        recorder.swap_stats(&mut stats);
        assert_eq!(stats.queued, ms(3 + 2));
    }

    #[test]
    fn a_slow_request_has_the_number_of_its_slot() {
        let clock = ManualClock::new();
        let pacer = Pacer::builder(Rate::per_second(1).unwrap()).clock(clock.clone()).build();
        let recorder = Recorder::all(&pacer, &[2], false).remove(0);
        recorder.record_slots(Some(SlotRecord::new(9, None)));
        let flights = [7, 3].map(|slot| recorder.start((slot, Nanos::ZERO), true));
        for flight in flights {
            clock.advance(Duration::from_secs(1));
            flight.end(Answer::completed(Nanos::ZERO));
        }
        let slots = recorder.take_slots().unwrap();
        assert_eq!(slots.slowest().map(|(slot, ..)| slot).collect::<Vec<_>>(), [3, 7]);
    }
}
