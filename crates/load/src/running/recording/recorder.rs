//! What a load thread records during the run.

use super::in_flight::{Begun, InFlight};
use super::moved::Moved;
use crate::load::details::SetUp;
use crate::recorded::attention::{Attention, Sent};
use crate::recorded::burst::BurstLine;
use crate::recorded::lateness::{IdealConnections, Lateness, Start};
use crate::recorded::operation::{Answer, Operation};
use crate::recorded::outcome::{Ending, Outcome};
use crate::recorded::processor::ProcessorTime;
use crate::recorded::stats::OperationStats;
use nanopace::{Nanos, Pacer};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The record of one thread. Only the collector looks at it too, once in a while.
#[derive(Debug)]
pub(crate) struct Recorder {
    clock: Pacer,
    record: Mutex<Record>,
    /// Of all threads, if the strictness has one. Locked under the record's lock, never around it.
    burst: Option<Arc<Mutex<BurstLine>>>,
}

#[derive(Debug)]
struct Record {
    stats: OperationStats,
    starts: Vec<Nanos>,
    /// Recorded ones.
    in_flight: InFlight,
    outcomes: Vec<Outcome>,
    connections: IdealConnections,
    /// How many of them are being opened, for no call.
    opening: usize,
    moved: Moved,
    attention: Attention,
}

impl Recorder {
    /// An empty record for each thread, which have so many connections, with times by the clock of
    /// `pacer`. A policy of it may give slots up, or none does.
    pub(crate) fn all(pacer: &Pacer, connections: &[usize], gives_up: bool) -> Vec<Arc<Recorder>> {
        let burst = BurstLine::new(pacer.strictness()).map(|line| Arc::new(Mutex::new(line)));
        let each = connections.iter().map(|&count| IdealConnections::new(count));
        each.map(|ideal| Arc::new(Recorder::new(pacer, ideal, burst.clone(), gives_up))).collect()
    }

    fn new(
        pacer: &Pacer,
        connections: IdealConnections,
        burst: Option<Arc<Mutex<BurstLine>>>,
        gives_up: bool,
    ) -> Recorder {
        let record = Record {
            stats: OperationStats::new(),
            starts: Vec::new(),
            in_flight: InFlight::default(),
            outcomes: Vec::new(),
            connections,
            opening: 0,
            moved: Moved::new(pacer, gives_up),
            attention: Attention::new(pacer.now()),
        };
        Recorder { clock: pacer.clone(), record: Mutex::new(record), burst }
    }

    /// An operation starts now. During the warm-up nothing is counted of it, but who was late is
    /// remembered: a policy may make others pay for it later.
    pub(crate) fn start(self: &Arc<Self>, intended_start: Nanos, is_recorded: bool) -> Flight {
        let record = &mut *self.record();
        // Read under the lock: a collector that reads the clock first and takes the starts then has
        // all starts up to its reading.
        let now = self.clock.now();
        let (moved, mut burst) = (record.moved.by(now), self.burst());
        let start = record.connections.start(intended_start, now, moved, burst.as_deref_mut());
        drop(burst);
        record.stats.cause(start.lateness(intended_start));
        let place = is_recorded.then(|| {
            record.starts.push(start.actual);
            record.stats.start(intended_start, start);
            record.in_flight.add(Begun { intended_start, start: start.actual })
        });
        let (sent, paused) = (record.attention.send(now), record.moved.paused(now));
        Flight { recorder: Arc::clone(self), start, sent, paused, place }
    }

    /// What is in flight is unfinished, now: the thread may be stuck. What ends later is not counted.
    pub(crate) fn give_up(&self) {
        let record = &mut *self.record();
        let now = self.clock.now();
        for begun in record.in_flight.give_up() {
            record.unfinished(begun, now);
        }
    }

    /// Notes that the schedule is paused now, or goes on.
    pub(crate) fn pause(&self, is_paused: bool) {
        self.record().moved.pause(self.clock.now(), is_paused);
    }

    /// Notes that the thread waits inside of its calls from now on: all of their time is the target's.
    pub(crate) fn blocks(&self) {
        self.record().attention.blocks();
    }

    /// Whether the thread should have said long ago, and longer than `allowed`, what it has had, and has
    /// not.
    pub(crate) fn is_stuck(&self, allowed: Duration) -> bool {
        self.record().attention.is_stuck(self.clock.now(), allowed)
    }

    /// How many connections the thread is opening for no call. Before all are open, it takes no slot.
    pub(crate) fn opening(&self) -> usize {
        self.record().opening
    }

    /// The thread goes to sleep until something happens. It says what it has had of the processor, if
    /// that is needed.
    pub(crate) fn sleeps(&self, processor: impl FnOnce() -> ProcessorTime) {
        self.record().attention.sleeps(self.clock.now(), processor);
    }

    /// The thread wakes. It says what it has had of the processor, if that is needed.
    pub(crate) fn wakes(&self, processor: impl FnOnce() -> ProcessorTime) {
        self.record().attention.wakes(self.clock.now(), processor);
    }

    /// The thread has had this of the processor, and will say so again within a
    /// [`BEAT`](crate::recorded::attention::BEAT).
    pub(crate) fn beat(&self, processor: ProcessorTime) {
        self.record().attention.beat(self.clock.now(), processor);
    }

    /// Records slots that were due and had not been started when the schedule ended at `end`. They are given as
    /// intended starts, and how many slots have about that one.
    pub(crate) fn unstarted(&self, left: &[(Nanos, u64)], end: Nanos) {
        let record = &mut *self.record();
        let now = self.clock.now();
        let looked = record.looked_until(now);
        let Record { stats, connections, moved, outcomes, .. } = record;
        let (moved, burst) = (moved.by(now), self.burst());
        for &(intended_start, slots) in left {
            let age = end - intended_start;
            let lateness =
                connections.unstarted(intended_start, end, looked, moved, burst.as_deref());
            stats.unstarted(age, lateness, slots);
            let ending = Ending::Unstarted;
            let outcome =
                Outcome { intended_start, wait_time: None, response_time: age, ending, slots };
            outcomes.push(outcome);
        }
    }

    /// The lateness so far of a slot that waits now and has this age.
    pub(crate) fn waiting(&self, age: Duration) -> Lateness {
        let record = &mut *self.record();
        let now = self.clock.now();
        let intended = Nanos::ZERO + (now - Nanos::ZERO).saturating_sub(age);
        let (looked, moved, burst) = (record.looked_until(now), record.moved.by(now), self.burst());
        record.connections.unstarted(intended, now, looked, moved, burst.as_deref())
    }

    /// The thread opens a connection: no slot can have it until it is [opened](Recorder::opened).
    pub(crate) fn open(&self) -> Start {
        let record = &mut *self.record();
        let now = self.clock.now();
        record.opening += 1;
        record.connections.start(now, now, Duration::ZERO, None)
    }

    /// Records that the connection is open, or can't be opened. The target took all the time for that.
    pub(crate) fn opened(&self, start: Start) {
        let record = &mut *self.record();
        let now = self.clock.now();
        let paused = record.moved.paused(now);
        record.connections.end(start, (now - start.actual).saturating_sub(paused));
        record.opening -= 1;
    }

    /// A step of a call has ended.
    pub(crate) fn step(&self, step: &Operation) {
        self.record().stats.answer(step);
    }

    /// A connection was opened, for no call.
    pub(crate) fn set_up(&self, set_up: SetUp) {
        self.record().stats.set_up(set_up);
    }

    /// The thread has spun for this long.
    pub(crate) fn spun(&self, time: Duration) {
        self.record().stats.spun += time;
    }

    /// Moves the starts recorded so far to the end of `starts`.
    pub(crate) fn take_starts(&self, starts: &mut Vec<Nanos>) {
        starts.append(&mut self.record().starts);
    }

    /// Swaps what became of slots for others.
    pub(crate) fn swap_outcomes(&self, outcomes: &mut Vec<Outcome>) {
        mem::swap(outcomes, &mut self.record().outcomes);
    }

    /// Swaps the stats for others.
    pub(crate) fn swap_stats(&self, stats: &mut OperationStats) {
        mem::swap(stats, &mut self.record().stats);
    }

    fn burst(&self) -> Option<MutexGuard<'_, BurstLine>> {
        self.burst.as_ref().map(|line| line.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        // A thread that panics ends the run with its own message; its record must not add another.
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Record {
    /// Until when answers that had come would have been found by now. A thread that opens its connections
    /// has none to look for.
    fn looked_until(&self, now: Nanos) -> Nanos {
        if self.opening > 0 { now } else { self.attention.looked_until(now) }
    }

    fn unfinished(&mut self, begun: Begun, now: Nanos) {
        let outcome = begun.outcome(now, Ending::Unfinished);
        self.stats.unfinished(outcome.response_time);
        self.outcomes.push(outcome);
    }
}

/// An operation that has started. It is counted as unfinished if this is dropped.
#[derive(Debug)]
#[must_use = "an operation that is dropped is unfinished"]
pub(crate) struct Flight {
    recorder: Arc<Recorder>,
    start: Start,
    sent: Sent,
    /// How long the schedule had been paused until then.
    paused: Duration,
    /// Where it is in the record, until it has ended. None in the warm-up.
    place: Option<usize>,
}

impl Flight {
    /// When the operation started.
    pub(crate) fn started(&self) -> Nanos {
        self.start.actual
    }

    /// Records that the operation has ended, now. Returns when.
    pub(crate) fn end(mut self, answer: Answer) -> Nanos {
        let record = &mut *self.recorder.record();
        let end = self.recorder.clock.now();
        let busy = record.attention.busy(self.sent, end);
        let paused = record.moved.paused(end).saturating_sub(self.paused);
        record.connections.end(self.start, busy.saturating_sub(paused));
        if let Some(begun) = self.place.take().and_then(|place| record.in_flight.end(place)) {
            record.stats.queued += record.attention.queued();
            record.stats.stopped(record.attention.stopped_since(self.sent));
            let operation = Operation { intended_start: begun.intended_start, end, answer };
            let ending = answer.outcome.map_or_else(Ending::Failed, |()| Ending::Completed);
            record.stats.end(&operation);
            record.outcomes.push(begun.outcome(end, ending));
        }
        end
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let Some(place) = self.place else { return };
        let record = &mut *self.recorder.record();
        let now = self.recorder.clock.now();
        if let Some(begun) = record.in_flight.end(place) {
            record.unfinished(begun, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nanopace::{ManualClock, Rate};

    #[test]
    fn a_thread_is_stuck_that_has_beaten_and_does_not_any_more() {
        let clock = ManualClock::new();
        let pacer = Pacer::builder(Rate::per_second(1).unwrap()).clock(clock.clone()).build();
        let recorder = Recorder::all(&pacer, &[1], false).remove(0);
        clock.advance(Duration::from_secs(5));
        assert!(!recorder.is_stuck(Duration::ZERO));
        recorder.beat(ProcessorTime::default());
        clock.advance(Duration::from_secs(1));
        assert!(!recorder.is_stuck(Duration::ZERO));
        clock.advance(Duration::from_secs(1));
        assert!(recorder.is_stuck(Duration::ZERO) && !recorder.is_stuck(Duration::from_secs(1)));
        recorder.beat(ProcessorTime::default());
        assert!(!recorder.is_stuck(Duration::ZERO));
    }
}
