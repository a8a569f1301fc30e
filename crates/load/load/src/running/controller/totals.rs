//! Collects the records of a run's threads, sums them up, and logs them.

use super::checkpoints::{Checkpoint, Checkpoints};
use super::machine::MachineReading;
use super::run_state::RunState;
use crate::console::human::float;
use crate::load::schedule::args::MAX;
use crate::results::asked::RunEnd;
use crate::results::confidence::Confidence;
use crate::results::cpu_time::{self, CpuTime};
use crate::results::lateness::Lateness;
use crate::results::machine_cpu::Meanwhile;
use crate::results::outcome::Due;
use crate::results::over_time::{Backlog, Brief, Interval, OverTime};
use crate::results::quota::Quota;
use crate::results::stats::OperationStats;
use crate::results::tally::Tally;
use crate::running::measuring::collector::Collector;
use crate::running::policy::Policy;
use crate::running::workers::length::{RunLength, Spacing};
use crate::shown::csv_log::Second;
use crate::shown::logs::Logs;
use crate::shown::snapshot::{Phase, RECENT, Recent, RecentInterval, Snapshot};
use nanopace::{Ledger, Nanos};
use std::collections::VecDeque;
use std::mem;
use std::time::Duration;

const TICK: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub(crate) struct RunTotals<'run> {
    state: RunState<'run>,
    pub(crate) collector: Collector<'run>,
    pub(crate) tally: Tally,
    pub(crate) over_time: OverTime,
    /// The sum of everything collected so far. Set only if requirements can end the run.
    pub(crate) so_far: Option<OperationStats>,
    recent: VecDeque<RecentInterval>,
    /// The numbers of requested and of achieved slots so far, as views show them.
    shown: (f64, f64),
    checkpoints: Checkpoints,
    backlog: Backlog,
    logs: Logs,
    /// The first reading after the warm-up, and the reading at the end of the schedule.
    machine: [Option<MachineReading>; 2],
    ended: Option<Ledger>,
}

impl<'run> RunTotals<'run> {
    pub(crate) fn new(state: RunState<'run>, policy: &Policy, logs: Logs) -> RunTotals<'run> {
        let RunLength { spacing, constant_hz, .. } = *state.span.length();
        // The gaps between starts follow a constant rate only if no slots and no schedule time are given up.
        let constant_hz = constant_hz.filter(|_| !state.shared.gives_up);
        RunTotals {
            state,
            collector: Collector::new(
                state.pacer(),
                &state.shared.recorders,
                constant_hz,
                spacing == Spacing::Even,
                spacing == Spacing::Poisson,
            ),
            tally: Tally::default(),
            over_time: OverTime::new(),
            so_far: policy.deciding.as_ref().map(|_| OperationStats::new()),
            recent: VecDeque::new(),
            shown: (0.0, 0.0),
            checkpoints: Checkpoints::new(&state),
            backlog: Backlog::default(),
            logs,
            machine: [None, None],
            ended: None,
        }
    }

    pub(crate) fn expect(&mut self, labels: &[&str]) {
        self.collector.expect(labels);
        self.tally.expect(labels);
    }

    /// Returns the time of the next tick. A tick at the end of the warm-up separates the results before and after it.
    /// In a fleet, a tick at each second of the load allows the results of all nodes to be added.
    pub(crate) fn next_tick(&self) -> Nanos {
        let (last, warm) = (self.checkpoints.last.at, self.state.span.recorded_from);
        let member = self.state.member;
        let next = member.map_or(last + TICK, |member| (last + TICK).min(member.next_second(last)));
        if last < warm { next.min(warm) } else { next }
    }

    /// Collects the records if the next tick is due, and then returns whether a second of the logs has ended with it.
    pub(crate) fn tick(&mut self) -> Option<bool> {
        // The wait may end slightly before the tick, because the channel and the pacer use different clocks.
        (self.state.now() >= self.next_tick()).then(|| {
            let second = self.checkpoints.second.at;
            self.collect(Nanos::ZERO);
            second != self.checkpoints.second.at
        })
    }

    fn collect(&mut self, until: Nanos) {
        // Outcomes are taken before the clock is read, so that an interval exists for each of them.
        self.collector.take_outcomes();
        let at = self.state.now().max(until);
        let checkpoint = Checkpoint::new(&self.state, at, self.checkpoints.last.asked);
        let before = mem::replace(&mut self.checkpoints.last, checkpoint);
        let warm_up_end = self.state.span.recorded_from;
        if at - warm_up_end <= warm_up_end - self.checkpoints.warm.at {
            self.checkpoints.warm = self.checkpoints.last.clone();
        }
        if at > warm_up_end && self.machine[0].is_none() {
            self.machine[0] = Some(MachineReading::now());
        }
        let stats = self.collector.collect();
        self.tally.add(stats);
        self.so_far.iter_mut().for_each(|so_far| so_far.add(stats));
        let brief = Brief::of(stats);
        self.backlog = self.backlog_now();
        self.add(&before, brief);
        if self.checkpoints.is_second_over(&self.state) {
            self.end_second();
        }
    }

    /// Adds the interval since `before` without its parts before the end of the warm-up and after the end of the run.
    fn add(&mut self, before: &Checkpoint, brief: Brief) {
        let RunTotals { state, checkpoints, .. } = self;
        let (start, recorded_from) = (state.span.start, state.span.recorded_from);
        let (from, to) =
            (state.within_recorded(before.at), state.within_recorded(checkpoints.last.at));
        let asked = state.asked(checkpoints.asked_since(before, state), brief.started());
        let (backlog, due) = (self.backlog, Due::new());
        let recorded = Interval { from: from - start, to: to - start, asked, backlog, brief, due };
        self.over_time.add(recorded.clone());
        for outcome in self.collector.outcomes() {
            self.over_time.count(outcome.intended_start - start, outcome);
        }
        if let Some(member) = state.member {
            member.record(from, &recorded, self.collector.outcomes());
        }
        // Views do not show the intervals of the warm-up.
        let known = if checkpoints.last.at > recorded_from { RECENT } else { 0 };
        let achieved = self.achieved(asked);
        self.recent.push_back(RecentInterval { interval: recorded, achieved });
        self.recent.drain(..self.recent.len().saturating_sub(known));
    }

    /// Returns the number of slots that were started in an interval in which `asked` slots were requested. A slot is
    /// requested gradually, during the interval that begins when it is due. If the numbers of started and of requested
    /// slots differ by at most one, the starts are therefore on time, and both numbers count as equal.
    fn achieved(&mut self, asked: f64) -> f64 {
        let (asked_before, achieved_before) = self.shown;
        let (asked, started) = (asked_before + asked, float(self.tally.started));
        self.shown = (asked, asked.clamp(started - 1.0, started + 1.0));
        self.shown.1 - achieved_before
    }

    fn end_second(&mut self) {
        let before = mem::replace(&mut self.checkpoints.second, self.checkpoints.last.clone());
        let (start, at) = (self.state.span.start, self.checkpoints.last.at);
        let asked = self.checkpoints.asked_since(&before, &self.state);
        let stats = self.collector.end_second();
        let asked = self.state.asked(asked, stats.started());
        let (from, to, backlog) = (before.at - start, at - start, self.backlog);
        self.logs.write(&Second { from, to, asked, backlog, stats });
        if let Some(member) = self.state.member {
            member.tell(at, self.collector.total());
        }
    }

    /// Takes the readings at the end of the schedule, while requests may still be in flight.
    pub(crate) fn end_schedule(&mut self, run_end: &RunEnd, policy: &Policy) {
        if policy.skip_later_than.is_some() {
            self.collector.look_at_last_skipped(run_end.at);
        }
        self.ended = Some(run_end.ledger);
        self.machine[1] = Some(MachineReading::now());
    }

    /// Collects the last records after the last response, and adds the skipped slots and the forfeited time.
    pub(crate) fn settle(&mut self, run_end: &RunEnd, policy: &Policy) {
        // The end of the run may be later than the last response, because the last slot is followed by one interval.
        self.collect(run_end.at);
        self.end_second();
        let (due, warm) = (self.collector.total().due(), &self.checkpoints.warm);
        let skipped = match policy.skip_later_than {
            None => 0,
            Some(_) if policy.keeps_slots => run_end.recorded.slots.saturating_sub(due),
            Some(_) => self.checkpoints.last.skipped - warm.skipped,
        };
        let limit = policy.skip_later_than.unwrap_or_default();
        let forfeited = run_end.ledger.idle.saturating_sub(warm.idle);
        self.collector.settle(skipped, limit, forfeited);
    }

    /// Returns whether the run has ended so long after the last status line that another line is worth showing.
    pub(crate) fn has_ended_between_lines(&self, run_end: &RunEnd) -> bool {
        run_end.at - self.checkpoints.second.at >= TICK * 2
    }

    pub(crate) fn confidence(&self) -> Confidence<'_> {
        Confidence::new(self.collector.total(), &self.over_time)
    }

    pub(crate) fn processor(&self) -> Option<CpuTime> {
        let Checkpoints { last, warm, .. } = &self.checkpoints;
        cpu_time::sum(cpu_time::since(&last.processor, &warm.processor))
    }

    pub(crate) fn meanwhile(&self) -> Option<Meanwhile> {
        let [first, last] = &self.machine;
        last.as_ref()?.meanwhile(first.as_ref()?)
    }

    pub(crate) fn quota(&self) -> Option<Quota> {
        let [first, last] = &self.machine;
        last.as_ref()?.quota(first.as_ref()?)
    }

    pub(crate) fn end_logs(&mut self) -> anyhow::Result<()> {
        mem::take(&mut self.logs).end()
    }

    fn ledger(&self) -> Ledger {
        self.ended.unwrap_or_else(|| self.state.shared.ledger())
    }

    /// Returns the current backlog. After the end of the schedule, no more slots fall due. A schedule that is paused at
    /// its start has no backlog, although its first slot is due at the time 0.
    fn backlog_now(&self) -> Backlog {
        let (ledger, unstarted) = (self.ledger(), self.tally.unstarted);
        match self.ended {
            _ if self.state.span.length().is_closed => Backlog::default(),
            _ if ledger.elapsed.is_zero() => Backlog::default(),
            Some(_) if unstarted == 0 => Backlog::default(),
            Some(_) => Backlog { slots: unstarted, time: ledger.backlog },
            None => Backlog { slots: ledger.backlog_slots, time: ledger.backlog },
        }
    }

    pub(crate) fn snapshot(&self, phase: Phase, note: &str) -> Snapshot {
        let RunTotals { state, .. } = self;
        let (span, pacer) = (state.span, state.pacer());
        let (shape, backlog) = (pacer.shape(), self.backlog_now());
        let own_hz = state.own_hz();
        Snapshot {
            start: span.began,
            elapsed: state.now() - span.start,
            planned_end: state.planned_end().map(|end| end - span.start),
            phase,
            load: match &shape {
                Some(shape) => shape.to_string(),
                None if span.length().is_closed => MAX.to_owned(),
                None => pacer.rate().to_string(),
            },
            is_shape: shape.is_some(),
            is_load_over: self.ended.is_some() || span.has_come(),
            own_hz,
            ledger: self.ledger(),
            backlog,
            recent: Recent::new(&self.recent, if self.ended.is_some() { 0.0 } else { own_hz }),
            tally: self.tally.clone(),
            lateness: self.tally.lateness.plus(self.waiting(phase, backlog)),
            note: note.to_owned(),
            fleet: state.standing(),
        }
    }

    /// Returns the lateness of the slots in the backlog that has not been recorded yet. After the schedule, all of it
    /// has been recorded.
    fn waiting(&self, phase: Phase, backlog: Backlog) -> Lateness {
        match phase {
            Phase::Running | Phase::Paused => self.state.waiting(backlog),
            _ => Lateness::default(),
        }
    }
}
