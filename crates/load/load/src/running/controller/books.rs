//! Keeps the books of a run: collects what its threads record, adds it up and logs it.

use super::course::Course;
use super::looks::{Look, Looks};
use super::machine::MachineLook;
use crate::console::human::float;
use crate::load::schedule::args::MAX;
use crate::recorded::asked::RunEnd;
use crate::recorded::confidence::Confidence;
use crate::recorded::lateness::Lateness;
use crate::recorded::outcome::Due;
use crate::recorded::over_time::{Backlog, Brief, Interval, OverTime};
use crate::recorded::processor::{self, ProcessorTime};
use crate::recorded::processors::Meanwhile;
use crate::recorded::quota::Quota;
use crate::recorded::tally::Tally;
use crate::running::policy::Policy;
use crate::running::recording::collector::Collector;
use crate::running::workers::length::Spacing;
use crate::shown::csv_log::Second;
use crate::shown::logs::Logs;
use crate::shown::snapshot::{Phase, RECENT, Recent, Snapshot};
use nanopace::{Ledger, Nanos};
use std::collections::VecDeque;
use std::mem;
use std::time::Duration;

/// How often everything is collected for the live views.
const TICK: Duration = Duration::from_millis(250);

/// What is known of a run so far.
#[derive(Debug)]
pub(crate) struct Books<'run> {
    course: Course<'run>,
    pub(crate) collector: Collector<'run>,
    pub(crate) tally: Tally,
    pub(crate) over_time: OverTime,
    /// The last intervals.
    recent: VecDeque<Interval>,
    looks: Looks,
    /// The backlog at the last look.
    backlog: Backlog,
    logs: Logs,
    /// The machine, at the first look after the warm-up and at the end of the schedule.
    machine: [Option<MachineLook>; 2],
    /// The ledger at the end of the schedule.
    ended: Option<Ledger>,
}

impl<'run> Books<'run> {
    /// The books of a schedule that has just started.
    pub(crate) fn new(course: Course<'run>, logs: Logs) -> Books<'run> {
        let spacing = course.span.length().spacing;
        Books {
            course,
            collector: Collector::new(
                course.pacer(),
                &course.shared.recorders,
                spacing == Spacing::Even,
                spacing == Spacing::Poisson,
            ),
            tally: Tally::default(),
            over_time: OverTime::new(),
            recent: VecDeque::new(),
            looks: Looks::new(&course),
            backlog: Backlog::default(),
            logs,
            machine: [None, None],
            ended: None,
        }
    }

    /// From now on these labels are told, whether any operation of theirs has ended or not.
    pub(crate) fn expect(&mut self, labels: &[&str]) {
        self.collector.expect(labels);
        self.tally.expect(labels);
    }

    /// A tick also ends the warm-up, so that what follows is collected apart; and in a fleet each second of
    /// the load, so that what all nodes did in it can be added up.
    pub(crate) fn next_tick(&self) -> Nanos {
        let (last, warm) = (self.looks.last.at, self.course.span.recorded_from);
        let member = self.course.member;
        let next = member.map_or(last + TICK, |member| (last + TICK).min(member.next_second(last)));
        if last < warm { next.min(warm) } else { next }
    }

    /// Collects what there is, if it is time. Returns whether that has ended a second.
    pub(crate) fn tick(&mut self) -> Option<bool> {
        // The channel's clock and the pacer's may differ slightly.
        (self.course.now() >= self.next_tick()).then(|| {
            let second = self.looks.second.at;
            self.collect(Nanos::ZERO);
            second != self.looks.second.at
        })
    }

    /// Collects what there is, up to now, or to `until` if that is later.
    fn collect(&mut self, until: Nanos) {
        // Before the clock is read, so that there is an interval for all of them.
        self.collector.take_outcomes();
        let at = self.course.now().max(until);
        let look = Look::new(&self.course, at, self.looks.last.asked);
        let before = mem::replace(&mut self.looks.last, look);
        if at <= self.course.span.recorded_from {
            // What is before is warm-up.
            self.looks.warm = self.looks.last.clone();
        } else if self.machine[0].is_none() {
            self.machine[0] = Some(MachineLook::now());
        }
        let stats = self.collector.collect();
        self.tally.add(stats);
        let brief = Brief::of(stats);
        self.backlog = self.backlog_now();
        self.add(&before, brief);
        if self.looks.is_second_over(&self.course) {
            self.end_second();
        }
    }

    /// Adds what happened between a look and the last one.
    fn add(&mut self, before: &Look, brief: Brief) {
        let Books { course, looks, .. } = self;
        let (start, recorded_from) = (course.span.start, course.span.recorded_from);
        let (from, to) = (course.recorded(before.at), course.recorded(looks.last.at));
        let asked = course.asked(looks.asked_since(before, course), brief.started());
        let (backlog, due) = (self.backlog, Due::new());
        let interval = Interval { from: from - start, to: to - start, asked, backlog, brief, due };
        self.over_time.add(interval.clone());
        for outcome in self.collector.outcomes() {
            self.over_time.count(outcome.intended_start - start, outcome);
        }
        if let Some(member) = course.member {
            member.record(from, &interval, self.collector.outcomes());
        }
        let (from, to) = (before.at - start, looks.last.at - start);
        let asked = course.asked(looks.last.asked - before.asked, interval.brief.started());
        self.recent.push_back(Interval { from, to, asked, ..interval });
        // Of the warm-up nothing is known.
        let known = if looks.last.at > recorded_from { RECENT } else { 0 };
        self.recent.drain(..self.recent.len().saturating_sub(known));
    }

    /// Logs what was collected since the last second ended.
    fn end_second(&mut self) {
        let before = mem::replace(&mut self.looks.second, self.looks.last.clone());
        let (start, at) = (self.course.span.start, self.looks.last.at);
        let asked = self.looks.asked_since(&before, &self.course);
        let stats = self.collector.end_second();
        let asked = self.course.asked(asked, stats.started());
        let (from, to, backlog) = (before.at - start, at - start, self.backlog);
        self.logs.write(&Second { from, to, asked, backlog, stats });
        if let Some(member) = self.course.member {
            member.tell(at, self.collector.total());
        }
    }

    /// Notes that the schedule has ended.
    pub(crate) fn end(&mut self, run_end: &RunEnd, policy: &Policy) {
        if let Some(limit) = policy.skip_later_than {
            self.collector.look_at_last_skipped(limit, run_end.at);
        }
        self.ended = Some(run_end.ledger);
        self.machine[1] = Some(MachineLook::now());
    }

    /// Collects what is left, once the threads are done, and counts what policies took from the run.
    pub(crate) fn close(&mut self, run_end: &RunEnd, policy: &Policy) {
        // All answers may be there before the run ends, which is an interval after its last slot.
        self.collect(run_end.at);
        self.end_second();
        let (due, warm) = (self.collector.total().due(), &self.looks.warm);
        let skipped = match policy.skip_later_than {
            None => 0,
            Some(_) if policy.keeps_slots => run_end.recorded.slots.saturating_sub(due),
            Some(_) => self.looks.last.skipped - warm.skipped,
        };
        let limit = policy.skip_later_than.unwrap_or_default();
        let forfeited = run_end.ledger.idle.saturating_sub(warm.idle);
        self.collector.settle(skipped, limit, forfeited);
    }

    /// How sure times are, up to the end of the last second.
    pub(crate) fn confidence(&self) -> Confidence<'_> {
        Confidence::new(self.collector.total(), &self.over_time)
    }

    /// What the load threads had of the processor since the warm-up.
    pub(crate) fn processor(&self) -> Option<ProcessorTime> {
        let Looks { last, warm, .. } = &self.looks;
        processor::sum(processor::since(&last.processor, &warm.processor))
    }

    /// What the machine's processors did, if that is known.
    pub(crate) fn meanwhile(&self) -> Option<Meanwhile> {
        let [first, last] = &self.machine;
        last.as_ref()?.meanwhile(first.as_ref()?)
    }

    /// The CPU quota that was reached, if one was.
    pub(crate) fn quota(&self) -> Option<Quota> {
        let [first, last] = &self.machine;
        last.as_ref()?.quota(first.as_ref()?)
    }

    /// An error tells why a log is not complete.
    pub(crate) fn end_logs(&mut self) -> anyhow::Result<()> {
        mem::take(&mut self.logs).end()
    }

    /// The pacer's ledger; from the end of the schedule on, as it was then.
    fn ledger(&self) -> Ledger {
        self.ended.unwrap_or_else(|| self.course.pacer().ledger())
    }

    /// What is due and has not started. What falls due after the end is not asked for any more, and in a closed
    /// loop nothing is due that nobody is free for.
    fn backlog_now(&self) -> Backlog {
        let (ledger, unstarted) = (self.ledger(), self.tally.unstarted);
        match self.ended {
            _ if self.course.span.length().is_closed => Backlog::default(),
            Some(_) if unstarted == 0 => Backlog::default(),
            Some(_) => Backlog { slots: unstarted, time: ledger.backlog },
            None => Backlog { slots: ledger.backlog_slots, time: ledger.backlog },
        }
    }

    /// How the run is going. The note is what the last key did.
    pub(crate) fn snapshot(&self, phase: Phase, note: &str) -> Snapshot {
        let Books { course, .. } = self;
        let (span, pacer) = (course.span, course.pacer());
        let (shape, backlog) = (pacer.shape(), self.backlog_now());
        Snapshot {
            start: span.began,
            elapsed: course.now() - span.start,
            planned_end: course.planned_end().map(|end| end - span.start),
            phase,
            load: match &shape {
                Some(shape) => shape.to_string(),
                None if span.length().is_closed => MAX.to_owned(),
                None => pacer.rate().to_string(),
            },
            is_shape: shape.is_some(),
            is_load_over: span.has_come(),
            ledger: self.ledger(),
            backlog,
            recent: Recent::new(&self.recent, self.asked_hz()),
            tally: self.tally.clone(),
            lateness: self.tally.lateness.plus(self.waiting(phase, backlog)),
            note: note.to_owned(),
            fleet: course.standing(),
        }
    }

    /// The lateness so far of the slots that wait now, until they are counted.
    fn waiting(&self, phase: Phase, backlog: Backlog) -> Lateness {
        match phase {
            Phase::Running | Phase::Paused => self.course.waiting(backlog),
            _ => Lateness::default(),
        }
    }

    /// What was asked for in the last second; of the warm-up, what is asked for now.
    fn asked_hz(&self) -> f64 {
        let second: Duration = self.recent.iter().map(Interval::length).sum();
        if second.is_zero() {
            return self.course.hz();
        }
        self.recent.iter().map(|interval| interval.asked).sum::<f64>() / second.as_secs_f64()
    }

    /// Whether more have failed than that.
    pub(crate) fn has_failed_more_than(&self, most: f64) -> bool {
        float(self.tally.failed()) > most
    }
}
