//! Controls a run: acts on keys, signals and programs, collects and shows, and ends the run.

use super::member::Member;
use super::message::Message;
use super::recording::collector::Collector;
use super::workers::shared::RunShared;
use super::workers::span::RunSpan;
use super::workers::threads::{self, Threads};
use crate::console::human::{float, four_digits};
use crate::judged::summary::{Ending, RunResults, Summary, Title};
use crate::judged::verdict::HICCUP;
use crate::load::action::{Action, Refusal};
use crate::recorded::asked::RunEnd;
use crate::recorded::lateness::Lateness;
use crate::recorded::outcome::Due;
use crate::recorded::over_time::{Backlog, Brief, Interval, OverTime};
use crate::recorded::processor::{self, ProcessorTime};
use crate::recorded::tally::Tally;
use crate::shown::csv_log::Second;
use crate::shown::keys::Prompt;
use crate::shown::live::Live;
use crate::shown::logs::Logs;
use crate::shown::snapshot::{Phase, RECENT, Recent, Snapshot};
use crate::shown::standing::Standing;
use nanopace::{Ledger, Nanos, Pacer, Rate, Shape};
use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;
use tokio::sync::watch;

/// How often everything is collected for the live views.
const TICK: Duration = Duration::from_millis(250);

/// How often progress is shown and the interval log is written.
const SECOND: Duration = Duration::from_secs(1);

/// Changes the rate, and collects what the load threads record.
#[derive(Debug)]
pub(crate) struct Controller<'run> {
    pacer: Pacer,
    shared: &'run RunShared,
    /// The node of a fleet that this is.
    member: Option<&'run Member>,
    has_left: bool,
    span: &'run RunSpan,
    /// The slots per second of a load that has always been the same rate.
    constant_hz: Option<f64>,
    over_time: OverTime,
    /// The last intervals.
    recent: VecDeque<Interval>,
    tally: Tally,
    collector: Collector<'run>,
    live: Live,
    logs: Logs,
    prompt: Prompt,
    /// What the last key did, for the status.
    note: String,
    /// What the last collection found; to show again when a key changes something.
    last: Collected,
    /// The backlog then.
    backlog: Backlog,
    /// Where the last second began.
    second: Collected,
    /// For whoever wants to know how the run is going.
    watch: watch::Sender<Option<Arc<Snapshot>>>,
    /// Where things stood at the end of the warm-up.
    warm: Collected,
    /// The ledger at the end of the schedule.
    ended: Option<Ledger>,
    /// Whether somebody ended it before its time, and how many slots were overdue at its end.
    is_cut_short: bool,
    overdue: u64,
    policy: Policy,
}

/// What may happen to slots that are late, and when a run is over early.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    /// Slots that are later than this are skipped.
    pub(crate) skip_later_than: Option<Duration>,
    /// Whether slots keep their intended starts, and all that are due before the end belong to the
    /// run. Then it is known exactly how many were skipped.
    pub(crate) keeps_slots: bool,
    /// With more failures than this the run is over.
    pub(crate) most_failures: f64,
}

/// Where things stood at a collection.
#[derive(Clone, Debug)]
struct Collected {
    at: Nanos,
    /// How many slots had been asked for, parts of them included.
    asked: f64,
    skipped: u64,
    idle: Duration,
    /// Of each load thread.
    processor: Vec<ProcessorTime>,
}

impl<'run> Controller<'run> {
    /// The controller of a schedule that has just started.
    pub(crate) fn new(
        shared: &'run RunShared,
        member: Option<&'run Member>,
        span: &'run RunSpan,
        live: Live,
        logs: Logs,
        policy: Policy,
        watch: watch::Sender<Option<Arc<Snapshot>>>,
    ) -> Controller<'run> {
        let pacer = &shared.pacer;
        let processor = shared.threads.times();
        let start =
            Collected { at: span.start, asked: 0.0, skipped: 0, idle: Duration::ZERO, processor };
        let length = span.length();
        Controller {
            pacer: pacer.clone(),
            shared,
            member,
            has_left: false,
            span,
            constant_hz: length.constant_hz,
            over_time: OverTime::new(),
            recent: VecDeque::new(),
            tally: Tally::default(),
            collector: Collector::new(pacer, &shared.recorders, length.is_even),
            live,
            logs,
            prompt: Prompt::default(),
            note: String::new(),
            last: start.clone(),
            backlog: Backlog::default(),
            second: start.clone(),
            watch,
            warm: start,
            ended: None,
            is_cut_short: false,
            overdue: 0,
            policy,
        }
    }

    /// Returns when the schedule should end.
    pub(crate) fn run(&mut self, messages: &Receiver<Message>) {
        loop {
            let next = self.next_tick().min(self.span.end());
            match messages.recv_timeout(next - self.pacer.now()) {
                Ok(Message::LastSlot) => return,
                Ok(Message::Stop) if self.is_stopped() => return,
                #[cfg(feature = "otlp")]
                Ok(Message::Tell(text)) => self.live.tell(text),
                Ok(Message::Key(key)) => match self.prompt.press(key) {
                    Some(Action::Stop) if self.is_stopped() => return,
                    action => self.answer_key(action),
                },
                Ok(Message::Ask(Action::Stop, answer)) => {
                    let is_stopped = self.is_stopped();
                    let phase = if is_stopped { Phase::WaitingForAnswers } else { self.phase() };
                    self.show(phase, false);
                    let _ = answer.send(Ok(()));
                    if is_stopped {
                        return;
                    }
                }
                Ok(Message::Ask(action, answer)) => {
                    let done = self.act(action);
                    self.show(self.phase(), false);
                    // Whoever asks may have gone meanwhile.
                    let _ = answer.send(done);
                }
                Ok(Message::Ready | Message::Stop) | Err(_) => {}
            }
            // Also between messages: there may always be another one.
            if self.pacer.now() >= self.span.end() || self.is_over() {
                return;
            }
            self.tick();
        }
    }

    /// Whether to end the schedule when that is asked for. The first time, a node only leaves: it starts
    /// what it can't give back.
    fn is_stopped(&mut self) -> bool {
        let Some(member) = self.member.filter(|_| !self.has_left) else {
            self.is_cut_short = self.span.has_end();
            return true;
        };
        self.has_left = true;
        self.note = match member.leave() {
            Ok(()) => "leaving".to_owned(),
            Err(error) => format!("leaving; {}", member.told(error)),
        };
        false
    }

    /// Whether a fleet goes on without this node, or too many requests have failed.
    fn is_over(&self) -> bool {
        float(self.tally.failed()) > self.policy.most_failures
            || self.standing().is_some_and(|standing| standing.is_over)
    }

    fn standing(&self) -> Option<Standing> {
        self.member.map(Member::standing)
    }

    /// A tick also ends the warm-up, so that what follows is collected apart; and in a fleet each second of
    /// the load, so that what all nodes did in it can be added up.
    fn next_tick(&self) -> Nanos {
        let (next, warm) = (self.last.at + TICK, self.span.recorded_from);
        let next = self.member.map_or(next, |member| next.min(member.next_second(self.last.at)));
        if self.last.at < warm { next.min(warm) } else { next }
    }

    /// Collects and shows, if it is time.
    fn tick(&mut self) {
        // The channel's clock and the pacer's may differ slightly.
        if self.pacer.now() >= self.next_tick() {
            let second = self.second.at;
            self.collect(Nanos::ZERO);
            let phase = self.phase();
            self.show(phase, second != self.second.at);
        }
    }

    fn phase(&self) -> Phase {
        match self.pacer.now() {
            _ if self.is_paused() => Phase::Paused,
            now if now < self.span.recorded_from => Phase::WarmUp,
            _ => Phase::Running,
        }
    }

    fn is_paused(&self) -> bool {
        self.standing().map_or_else(|| self.pacer.is_paused(), |standing| standing.is_paused)
    }

    /// Shows how the run is going to whoever watches, and as a line if it is time for that.
    fn show(&self, phase: Phase, is_time_for_a_line: bool) {
        let snapshot = Arc::new(self.snapshot(phase));
        self.live.show(&snapshot, &self.over_time, &self.prompt, is_time_for_a_line);
        self.watch.send_replace(Some(snapshot));
    }

    /// Ends the schedule, unless it has ended already, and counts the slots that were due.
    pub(crate) fn end(&mut self) -> RunEnd {
        let run_end = self.span.end_run(self.pacer.now());
        self.ended = Some(run_end.ledger);
        self.pacer.close();
        // What was late when it was paused is not later now.
        self.pacer.resume();
        let left = self.span.unstarted();
        if let Some(recorder) = self.shared.recorders.first() {
            recorder.unstarted(&left, run_end.at);
        }
        let is_overdue = |(intended, _): &&(Nanos, u64)| run_end.at - *intended > HICCUP;
        self.overdue = left.iter().filter(is_overdue).map(|(_, slots)| slots).sum();
        run_end
    }

    /// Waits until all answers are there, or nobody wants to wait for them.
    pub(crate) fn wait_for_answers(&mut self, messages: &Receiver<Message>, threads: &Threads) {
        while threads.ended() < threads.count() {
            match messages.recv_timeout(threads::GLANCE) {
                Ok(Message::Stop) => self.give_up(),
                Ok(Message::Ask(Action::Stop, answer)) => {
                    self.give_up();
                    let _ = answer.send(Ok(()));
                }
                Ok(Message::Ask(_, answer)) => drop(answer.send(Err(Refusal::Over))),
                #[cfg(feature = "otlp")]
                Ok(Message::Tell(text)) => self.live.tell(text),
                Ok(Message::Key(key)) => {
                    if let Some(Action::Stop) = self.prompt.press(key) {
                        self.give_up();
                    }
                    self.show(Phase::WaitingForAnswers, false);
                }
                Err(_) if self.pacer.now() >= self.next_tick() => {
                    let second = self.second.at;
                    self.collect(Nanos::ZERO);
                    self.note = match self.tally.in_flight() {
                        0 => String::new(),
                        missing => format!("waiting for {missing} answers; Ctrl-C gives them up"),
                    };
                    self.show(Phase::WaitingForAnswers, second != self.second.at);
                }
                _ => {}
            }
        }
    }

    fn give_up(&self) {
        let _ = self.shared.give_up.send(true);
    }

    /// The results, once the threads are done, and whether the logs are complete.
    pub(crate) fn sum_up(
        mut self,
        run_end: RunEnd,
        title: Title,
        resolved_in: Duration,
    ) -> (Summary, anyhow::Result<()>) {
        // All answers may be there before the run ends, which is an interval after its last slot.
        self.collect(run_end.at);
        self.end_second();
        self.settle(&run_end);
        self.show(Phase::Over, false);
        self.live.end();
        let lost = self.logs.end();
        let summary = Summary::new(RunResults {
            title,
            recorded_from: self.span.recorded_from,
            run_end,
            constant_hz: self.constant_hz,
            over_time: self.over_time,
            stats: self.collector.total(),
            gaps: self.collector.gap_quality(),
            ending: self
                .member
                .is_none()
                .then_some(Ending { is_cut_short: self.is_cut_short, overdue: self.overdue }),
            processor: processor::sum(processor::since(&self.last.processor, &self.warm.processor)),
            resolved_in,
        });
        (summary, lost)
    }

    /// The pacer's ledger; from the end of the schedule on, as it was then.
    fn ledger(&self) -> Ledger {
        self.ended.unwrap_or_else(|| self.pacer.ledger())
    }

    /// What is due and has not started. What falls due after the end is not asked for any more.
    fn backlog_now(&self) -> Backlog {
        let (ledger, unstarted) = (self.ledger(), self.tally.unstarted);
        match self.ended {
            Some(_) if unstarted == 0 => Backlog::default(),
            Some(_) => Backlog { slots: unstarted, time: ledger.backlog },
            None => Backlog { slots: ledger.backlog_slots, time: ledger.backlog },
        }
    }

    /// Collects what there is, up to now, or to `until` if that is later.
    fn collect(&mut self, until: Nanos) {
        // Before the clock is read, so that there is an interval for all of them.
        self.collector.take_outcomes();
        let at = self.pacer.now().max(until);
        let ledger = self.pacer.ledger();
        let now = Collected {
            at,
            // A load that is corrected to less has not come so far again.
            asked: self.span.asked(at).count.max(self.last.asked),
            skipped: ledger.skipped,
            idle: ledger.idle,
            processor: self.shared.threads.times(),
        };
        let before = mem::replace(&mut self.last, now);
        if self.last.at <= self.span.recorded_from {
            // What is before is warm-up.
            self.warm = self.last.clone();
        }
        let (from, to) = (self.recorded(before.at), self.recorded(self.last.at));
        let stats = self.collector.collect();
        self.tally.add(stats);
        let brief = Brief::of(stats);
        self.backlog = self.backlog_now();
        let interval = Interval {
            from: from - self.span.start,
            to: to - self.span.start,
            asked: self.asked_since(&before),
            backlog: self.backlog,
            brief,
            due: Due::new(),
        };
        self.over_time.add(interval.clone());
        for outcome in self.collector.outcomes() {
            self.over_time.count(outcome.intended_start - self.span.start, outcome);
        }
        if let Some(member) = self.member {
            member.record(from, &interval, self.collector.outcomes());
        }
        self.recent.push_back(Interval {
            from: before.at - self.span.start,
            to: self.last.at - self.span.start,
            asked: self.last.asked - before.asked,
            ..interval
        });
        // Of the warm-up nothing is known.
        let known = if self.last.at > self.span.recorded_from { RECENT } else { 0 };
        self.recent.drain(..self.recent.len().saturating_sub(known));
        if self.is_second_over() || self.last.at == self.span.recorded_from {
            self.end_second();
        }
    }

    fn is_second_over(&self) -> bool {
        let (from, to) = (self.second.at, self.last.at);
        let of_load = |member: &Member| member.second(from) < member.second(to);
        self.member.map_or_else(|| to - from >= SECOND, of_load)
    }

    /// The moment, or the next one that is recorded, or the last.
    fn recorded(&self, at: Nanos) -> Nanos {
        at.max(self.span.recorded_from).min(self.span.end())
    }

    /// How many recorded slots were asked for between an earlier collection and the last one.
    fn asked_since(&self, before: &Collected) -> f64 {
        let recorded = |from: f64| self.last.asked.max(from) - before.asked.max(from);
        self.span.warm_up().map_or(0.0, |warm_up| recorded(warm_up.count))
    }

    /// Logs what was collected since the last second ended.
    fn end_second(&mut self) {
        let before = mem::replace(&mut self.second, self.last.clone());
        let asked = self.asked_since(&before);
        let stats = self.collector.end_second();
        self.logs.write(&Second {
            from: before.at - self.span.start,
            to: self.last.at - self.span.start,
            asked,
            backlog: self.backlog,
            stats,
        });
        if let Some(member) = self.member {
            member.tell(self.last.at, self.collector.total());
        }
    }

    /// Counts what policies took from the run, once everything else is known.
    fn settle(&mut self, run_end: &RunEnd) {
        let total = self.collector.total();
        let skipped = match self.policy.skip_later_than {
            None => 0,
            Some(_) if self.policy.keeps_slots => {
                run_end.recorded.slots.saturating_sub(total.due())
            }
            Some(_) => self.last.skipped - self.warm.skipped,
        };
        let limit = self.policy.skip_later_than.unwrap_or_default();
        let forfeited = run_end.ledger.idle.saturating_sub(self.warm.idle);
        self.collector.settle(skipped, limit, forfeited);
    }

    /// Does what a key asks for, if anything, and shows what came of it.
    fn answer_key(&mut self, action: Option<Action>) {
        self.note = match action.map(|action| self.act(action)) {
            Some(Ok(())) => String::new(),
            Some(Err(why)) => why.text().to_owned(),
            None => self.prompt.line(),
        };
        self.show(self.phase(), true);
    }

    fn act(&mut self, action: Action) -> Result<(), Refusal> {
        let is_pause = matches!(action, Action::Pause | Action::Resume | Action::TogglePause);
        if !is_pause && self.pacer.is_finished() {
            return Err(Refusal::NoRequestsLeft);
        }
        if let Some(member) = self.member {
            let done = member.act(action, self.hz());
            return done.map_err(|error| Refusal::Fleet(member.told(error)));
        }
        match action {
            Action::SetRate(rate) => self.set_rate(rate),
            Action::SetShape(shape) => self.set_shape(shape),
            Action::Faster => self.scale_rate(1.1),
            Action::Slower => self.scale_rate(1.0 / 1.1),
            Action::Pause => self.pause(true),
            Action::Resume => self.pause(false),
            Action::TogglePause => self.pause(!self.pacer.is_paused()),
            // The loops end before they come here.
            Action::Stop => {}
        }
        Ok(())
    }

    fn pause(&mut self, is_paused: bool) {
        if is_paused == self.pacer.is_paused() {
            return;
        }
        self.change(if is_paused { Pacer::pause } else { Pacer::resume });
        self.shared.recorders.iter().for_each(|recorder| recorder.pause(is_paused));
    }

    fn scale_rate(&mut self, factor: f64) {
        // A rate at the end of the range stays as it is.
        if let Ok(rate) = Rate::from_hz(four_digits(self.hz() * factor)) {
            self.set_rate(rate);
        }
    }

    fn set_rate(&mut self, rate: Rate) {
        self.change(|pacer| pacer.set_rate(rate));
    }

    fn set_shape(&mut self, shape: Shape) {
        let length = shape.duration();
        self.change(|pacer| pacer.set_shape(shape));
        self.span.follow(self.pacer.now(), length);
    }

    fn change(&mut self, change: impl FnOnce(&Pacer)) {
        self.span.warm_up();
        self.collector.change(change);
        self.constant_hz = None;
    }

    /// The slots per second of all processes that are asked for now, or would be but for a pause.
    fn hz(&self) -> f64 {
        match self.pacer.rate() {
            // It has none.
            Rate::SLOWEST if self.pacer.shape().is_some() => 0.0,
            rate => rate.as_hz(),
        }
    }

    /// What was asked for in the last second; of the warm-up, what is asked for now.
    fn asked_hz(&self) -> f64 {
        let second: Duration = self.recent.iter().map(Interval::length).sum();
        if second.is_zero() {
            return self.hz();
        }
        self.recent.iter().map(|interval| interval.asked).sum::<f64>() / second.as_secs_f64()
    }

    fn snapshot(&self, phase: Phase) -> Snapshot {
        let shape = self.pacer.shape();
        let load = |shape: &Shape| shape.to_string();
        Snapshot {
            start: self.span.began,
            elapsed: self.pacer.now() - self.span.start,
            planned_end: self.planned_end().map(|end| end - self.span.start),
            phase,
            load: shape.as_ref().map_or_else(|| self.pacer.rate().to_string(), load),
            is_shape: shape.is_some(),
            ledger: self.ledger(),
            backlog: self.backlog_now(),
            recent: Recent::new(&self.recent, self.asked_hz()),
            tally: self.tally.clone(),
            lateness: self.tally.lateness.plus(self.waiting(phase)),
            note: self.note.clone(),
            fleet: self.standing(),
        }
    }

    /// The lateness so far of the slots that wait now, until they are counted.
    fn waiting(&self, phase: Phase) -> Lateness {
        let is_counted = matches!(phase, Phase::Running | Phase::Paused);
        let Backlog { slots, time } = self.backlog_now();
        if !is_counted || slots == 0 {
            return Lateness::default();
        }
        // They are about as late as the one in the middle.
        let each = self.shared.recorders.iter().map(|recorder| recorder.waiting(time / 2));
        let (all, threads) =
            each.fold((Lateness::default(), 0), |(all, n), one| (all.plus(one), n + 1));
        all.times(float(slots) / float(threads))
    }

    fn planned_end(&self) -> Option<Nanos> {
        let length = || self.pacer.shape()?.duration();
        let of_fleet = self.member.and_then(|member| Some(member.begins() + length()?));
        Some(of_fleet.unwrap_or_else(|| self.span.end())).filter(|&end| end < Nanos::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::float_cmp, reason = "a rounded rate is the number as it is written")]
    fn a_step_up_and_a_step_down_end_where_they_began() {
        for hz in [5_000.0, 333.3, 0.5, 1e6, 7.0] {
            assert_eq!(four_digits(four_digits(hz * 1.1) / 1.1), hz);
        }
    }
}
