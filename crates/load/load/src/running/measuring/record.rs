//! Holds the record of one load on one thread: its operations, its connections, and the causes of the lateness of its
//! slots.

use super::busy_poll::BusyPoll;
use super::connections::{ALL, Connections};
use super::in_flight::{Begun, InFlight};
use super::schedule_shift::ScheduleShift;
use crate::results::burst::BurstLine;
use crate::results::last_poll::LastPoll;
use crate::results::lateness::{Lateness, Start};
use crate::results::outcome::{Ending, Outcome};
use crate::results::slot_record::SlotRecord;
use crate::results::stats::OperationStats;
use nanopace::{Nanos, Pacer};
use std::mem;
use std::time::Duration;

const LATEST: usize = 32;

/// The number of skipped slots that are examined at once. If more were skipped, these stand for all of them.
const EXAMINED: f64 = 64.0;

#[derive(Debug)]
pub(super) struct Record {
    pub(super) stats: OperationStats,
    pub(super) starts: Vec<Nanos>,
    /// The time up to which the collector has taken all starts.
    pub(super) taken_until: Nanos,
    pub(super) in_flight: InFlight,
    pub(super) outcomes: Outcomes,
    pub(super) slots: Option<Box<SlotRecord>>,
    pub(super) connections: Connections,
    pub(super) moved: ScheduleShift,
    pub(super) last_poll: LastPoll,
    pub(super) busy_poll: BusyPoll,
    pub(super) skip_later_than: Duration,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening {
    pub(super) start: Start,
    /// The total time for which the schedule had been paused when the thread began to open the connection.
    pub(super) paused: Duration,
}

/// The outcomes that the collector has not taken yet. The collector has read the memory of `earlier` on another core,
/// so each write to it is slow. The thread therefore writes [`LATEST`] outcomes together.
#[derive(Debug, Default)]
pub(super) struct Outcomes {
    earlier: Vec<Outcome>,
    latest: Vec<Outcome>,
}

impl Outcomes {
    pub(super) fn push(&mut self, outcome: Outcome) {
        self.latest.push(outcome);
        if self.latest.len() == LATEST {
            self.earlier.append(&mut self.latest);
        }
    }

    pub(super) fn swap(&mut self, outcomes: &mut Vec<Outcome>) {
        self.earlier.append(&mut self.latest);
        mem::swap(outcomes, &mut self.earlier);
    }
}

impl Record {
    pub(super) fn new(pacer: &Pacer, count: usize, gives_up: bool) -> Record {
        Record {
            stats: OperationStats::new(),
            starts: Vec::new(),
            taken_until: Nanos::ZERO,
            in_flight: InFlight::default(),
            outcomes: Outcomes::default(),
            slots: None,
            connections: Connections::new(count),
            moved: ScheduleShift::new(pacer, gives_up),
            last_poll: LastPoll::new(pacer.now()),
            busy_poll: BusyPoll::never(),
            skip_later_than: Duration::ZERO,
        }
    }

    /// Returns the time up to which the thread has found all responses. While the thread opens the first connections,
    /// it awaits no responses, so it has missed none before `now`.
    pub(super) fn looked_until(&self, now: Nanos) -> Nanos {
        if self.connections.opening > 0 { now } else { self.last_poll.looked_until(now) }
    }

    /// Returns the lateness of a slot that has not started. The thread has found all responses that arrived before
    /// `looked`.
    pub(super) fn lateness(
        &self,
        intended: Nanos,
        [now, looked]: [Nanos; 2],
        moved: Duration,
        burst: Option<&BurstLine>,
    ) -> Lateness {
        let ideal = self.connections.all();
        let lateness = ideal.to_target.unstarted(intended, now, looked, moved, burst);
        let late = Duration::from_secs_f64(lateness.generator);
        let lateness = lateness.with_queued(self.last_poll.queued_of(late));
        let in_use = self
            .in_flight
            .iter()
            .filter_map(|it| it.instant_target.map(|start| (start, it.rested)));
        let instant_target = ideal.to_instant_target.as_ref();
        let free = instant_target.and_then(|ideal| ideal.free_from(in_use, moved));
        lateness.but_for_rests(free.map_or(Duration::ZERO, |free| free.min(now) - intended))
    }

    /// Records the lateness of `slots` slots that were skipped before `next`, the intended start of a later slot. Each of
    /// them was late until the last of them was skipped. `moved` is the time by which the schedule had been moved before.
    pub(super) fn skipped(
        &mut self,
        slots: f64,
        next: Nanos,
        moved: Duration,
        burst: Option<&BurstLine>,
    ) {
        let interval = self.moved.interval();
        let until = next - interval + self.skip_later_than;
        let each = (slots / EXAMINED).max(1.0);
        let mut left = slots;
        while left > 0.0 {
            let intended = next - interval.mul_f64(slots - left + 1.0);
            let lateness = self.lateness(intended, [until, until], moved, burst);
            self.stats.lateness = self.stats.lateness.plus(lateness.times(each.min(left)));
            left -= each;
        }
    }

    /// Records the beginning of a think time. The first call creates ideal connections to a target that responds at
    /// once, and starts the operations in flight on them.
    pub(super) fn begin_to_rest(&mut self, now: Nanos) {
        if self.connections.all().to_instant_target.is_some() {
            return;
        }
        let moved = self.moved.by(now);
        let instant_target = self.connections.add_instant_target();
        for begun in self.in_flight.iter_mut() {
            let (intended, actual) = (begun.intended_start, begun.start.actual);
            begun.instant_target = Some(instant_target.start(intended, actual, moved, None));
        }
    }

    pub(super) fn unfinished(&mut self, begun: &Begun, now: Nanos) {
        if begun.is_recorded {
            let outcome = begun.outcome(now, Ending::Unfinished);
            self.stats.unfinished(outcome.response_time);
            self.outcomes.push(outcome);
        }
    }

    /// Returns whether all connections are busy, and would be busy even if the generator had caused no delays.
    pub(super) fn lacks_connection(&self, now: Nanos, age: Duration) -> bool {
        // A generator without delays would be ahead of this thread by up to this time.
        let ahead = self.in_flight.iter().map(|begun| begun.start.by_generator()).max();
        let unseen = now - self.looked_until(now);
        let are_busy = self.connections.all().to_target.are_busy();
        are_busy && age > ahead.unwrap_or_default() + unseen
    }

    /// Records that an attempt to open a connection has ended. The time of the attempt, without pauses, is attributed
    /// to the target, even if the attempt failed.
    pub(super) fn connection_opened(&mut self, Opening { start, paused }: Opening, now: Nanos) {
        let paused = self.moved.paused(now).saturating_sub(paused);
        let busy = (now - start.actual).saturating_sub(paused);
        self.connections.ideal(ALL).to_target.end(start, busy);
    }
}
