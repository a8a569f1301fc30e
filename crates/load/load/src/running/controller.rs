//! Controls a run: handles keys, signals and commands, collects and shows results, and ends the run.

mod checkpoints;
mod commands;
mod machine;
mod run_state;
#[cfg(test)]
mod simulated;
mod totals;

use super::member::Member;
use super::message::{Message, Stage};
use super::outputs::Outputs;
use super::policy::{Deciding, Policy};
use super::workers::connection_slots::ConnectionSlots;
use super::workers::shared::RunShared;
use super::workers::span::RunSpan;
use super::workers::threads::{self, PartThreads};
use crate::console::human::count;
use crate::judged::criteria::{Criterion, Figures};
use crate::judged::summary::{RunResults, Summary, Title};
use crate::load::action::{Action, Refusal};
use crate::results::asked::RunEnd;
use crate::results::percentiles;
use crate::results::think_times::HICCUP;
use crate::shown::keys::Prompt;
use crate::shown::live::Live;
use crate::shown::snapshot::{ObservedState, Phase};
use commands::Commands;
use crossterm::event::KeyEvent;
use nanopace::Nanos;
use run_state::RunState;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use totals::RunTotals;

/// A thread that does not end within this time after the missing responses were given up is left running.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Controller<'run> {
    state: RunState<'run>,
    policy: Policy,
    commands: Commands<'run>,
    totals: RunTotals<'run>,
    live: Live,
    watch: watch::Sender<ObservedState>,
    prompt: Prompt,
    /// A message for the status line, or the text that is being typed.
    note: String,
    /// The intended starts of the slots that were due but had not started at the end of the schedule, with counts.
    left: Vec<(Nanos, u64)>,
    /// The number of sessions that were still being opened when the schedule started.
    unopened: usize,
    is_at_goal: bool,
    lost: Option<Criterion>,
}

impl<'run> Controller<'run> {
    pub(crate) fn new(
        shared: &'run RunShared,
        span: &'run RunSpan,
        member: Option<&'run Member>,
        policy: Policy,
        outputs: Outputs,
    ) -> Controller<'run> {
        let state = RunState { shared, span, member };
        let Outputs { logs, live, watch } = outputs;
        Controller {
            state,
            commands: Commands::new(state),
            totals: RunTotals::new(state, &policy, logs),
            policy,
            live,
            watch,
            prompt: Prompt::default(),
            note: String::new(),
            left: Vec::new(),
            unopened: 0,
            is_at_goal: false,
            lost: None,
        }
    }

    pub(crate) fn expect(&mut self, labels: &[&str]) {
        self.totals.expect(labels);
    }

    pub(crate) fn run(&mut self, messages: &Receiver<Message>) {
        let recorders = &self.state.shared.recorders;
        self.unopened = recorders.iter().map(|recorder| recorder.opening()).sum();
        loop {
            let next = self.totals.next_tick().min(self.state.span.end());
            let message = messages.recv_timeout(next - self.state.now());
            let is_stopped = message.is_ok_and(|message| message.reach(self));
            // The end is checked after each message, because messages may arrive without a pause.
            if is_stopped || self.state.now() >= self.state.span.end() || self.is_over() {
                return;
            }
            if let Some(is_second) = self.totals.tick() {
                self.show(self.state.phase(), is_second);
                if self.is_settled(is_second) {
                    return;
                }
            }
        }
    }

    /// Returns whether the node has ended because another run has replaced its run or, with `--when-blind stop`,
    /// because the store was unavailable for too long.
    fn is_over(&self) -> bool {
        self.state.standing().is_some_and(|standing| standing.is_over)
    }

    fn is_settled(&mut self, is_second: bool) -> bool {
        self.is_at_goal = is_second && self.has_come_to_its_goal();
        self.is_at_goal || self.is_decided()
    }

    /// Returns whether a requirement is certain to be missed. In a step of a search, also returns true if all
    /// requirements are certain to hold. The generator's own lateness may reveal nothing about the target. If it
    /// exceeds the target's lateness in a step, a requirement counts as lost only if the p99 wait time is at most
    /// [`HICCUP`] and the requirement would be missed even without the wait times.
    fn is_decided(&mut self) -> bool {
        let decided = self.policy.deciding.as_ref().zip(self.totals.so_far.as_ref());
        let Some((Deciding { criteria, is_search, .. }, so_far)) = decided else { return false };
        if self.state.now() < self.state.span.recorded_from {
            return false;
        }
        let (figures, most) = (Figures::so_far(so_far), self.most_requests());
        let is_late_itself = *is_search && so_far.lateness.generator > so_far.lateness.target;
        let is_late = percentiles::at(&so_far.wait, 0.99) > HICCUP;
        let is_lost = |criterion: &&Criterion| {
            if is_late_itself {
                return !is_late && criterion.is_lost_without_waiting(&figures, most);
            }
            criterion.is_lost(&figures, most)
        };
        self.lost = criteria.iter().find(is_lost).cloned();
        let is_certain = || criteria.iter().all(|it| it.is_certain(&figures, most));
        self.lost.is_some() || *is_search && is_certain()
    }

    /// Returns the maximum number of requests, or `None` if it is unknown. It is unknown after a change of the load,
    /// except in a run with a fixed number of requests.
    fn most_requests(&self) -> Option<u64> {
        let length = self.state.span.length();
        let of_load = self.policy.deciding.as_ref().and_then(|deciding| deciding.most_requests);
        let of_load = of_load.filter(|_| !self.commands.has_changed_load);
        let counted = length.counted.map(|counted| counted.slots);
        [counted, length.slots, of_load].into_iter().flatten().min()
    }

    fn has_come_to_its_goal(&self) -> bool {
        self.policy.goal.as_ref().is_some_and(|goal| goal.is_reached(&self.totals.confidence()))
    }

    fn show(&self, phase: Phase, is_time_for_a_line: bool) {
        let snapshot = Arc::new(self.totals.snapshot(phase, &self.note));
        self.live.show(&snapshot, &self.totals.over_time, &self.prompt, is_time_for_a_line);
        self.watch.send_replace(ObservedState::Started(snapshot));
    }

    pub(crate) fn end(&mut self) -> RunEnd {
        let RunState { shared, span, .. } = self.state;
        let mut run_end = span.end_run(shared.pacer.now());
        run_end.ledger = shared.with_waiting_claims(run_end.ledger, run_end.at);
        self.totals.end_schedule(&run_end, &self.policy);
        shared.pacer.close();
        shared.connection_slots.iter().for_each(ConnectionSlots::give_back);
        // Ends a pause, so that its time does not count as lateness. No slots start, because the pacer is closed.
        shared.pacer.resume();
        // The value is set nowhere else, so this cannot fail.
        let _ = shared.ended.set(());
        self.count_left(&run_end);
        run_end
    }

    /// Counts the slots that had not started at the end of the schedule, each only once. In a closed loop, no slot is
    /// due before a worker is free.
    fn count_left(&mut self, run_end: &RunEnd) {
        let RunState { shared, span, .. } = self.state;
        if span.length().is_closed {
            return;
        }
        let left = span.unstarted(&mut self.left);
        if let Some(recorder) = shared.recorders.first() {
            recorder.unstarted(&left, run_end.at);
        }
    }

    /// Waits until all responses have arrived or have been given up. Requests that are still in flight after that count
    /// as unfinished, even if their thread is stuck. Does not wait for threads that are still opening sessions.
    pub(crate) fn wait_for_answers(&mut self, messages: &Receiver<Message>, threads: &PartThreads) {
        let mut answers = Answers { controller: self, given_up: None };
        while threads.are_at_work() && !answers.is_out_of_patience() {
            match messages.recv_timeout(threads::GLANCE) {
                Ok(message) => drop(message.reach(&mut answers)),
                Err(_) => answers.tick(threads),
            }
        }
        self.state.shared.recorders.iter().for_each(|recorder| recorder.give_up());
    }

    pub(crate) fn sum_up(
        mut self,
        run_end: RunEnd,
        title: Title,
        resolved_in: Duration,
    ) -> (Summary, anyhow::Result<()>) {
        // Workers that were waiting for a slot when the schedule ended have given back their slots, so these slots are
        // counted here.
        self.count_left(&run_end);
        let is_time_for_a_line = self.totals.has_ended_between_lines(&run_end);
        self.totals.settle(&run_end, &self.policy);
        self.show(Phase::Over, is_time_for_a_line);
        self.live.end();
        let (processor, meanwhile) = (self.totals.processor(), self.totals.meanwhile());
        let quota = self.totals.quota();
        let logged = self.totals.end_logs();
        let RunTotals { collector, over_time, .. } = self.totals;
        let changes_rate = self.commands.changes_rate(run_end.at);
        let is_cut_short = self.commands.is_cut_short || self.lost.is_some();
        let summary = Summary::new(RunResults {
            title,
            has_begun: run_end.at > self.state.span.start,
            recorded_from: self.state.span.recorded_from,
            run_end,
            constant_hz: self.commands.constant_hz,
            changes_rate,
            is_closed: self.state.span.length().is_closed,
            over_time,
            stats: collector.total(),
            gaps: collector.gap_quality(),
            randomness: collector.randomness(),
            is_cut_short: self.state.member.is_none().then_some(is_cut_short),
            lost: self.lost.map(|lost| lost.to_string()),
            goal: self.policy.goal.as_ref().map(|goal| (goal, self.is_at_goal)),
            reported: self.policy.reported,
            meanwhile,
            quota,
            unopened: self.unopened,
            processor,
            resolved_in,
        });
        (summary, logged)
    }
}

impl Stage for Controller<'_> {
    fn stop(&mut self) -> bool {
        let leaving_note = self.commands.stop();
        let is_stopped = leaving_note.is_none();
        if let Some(note) = leaving_note {
            self.note = note;
        }
        let phase = if is_stopped { Phase::WaitingForAnswers } else { self.state.phase() };
        self.show(phase, false);
        is_stopped
    }

    fn press(&mut self, key: KeyEvent) -> bool {
        self.note = match self.prompt.press(key) {
            Some(Action::Stop) => return self.stop(),
            None => self.prompt.line(),
            Some(action) => {
                let done = self.commands.act(action, &mut self.totals.collector);
                done.map_or_else(|why| why.text().to_owned(), |()| String::new())
            }
        };
        self.show(self.state.phase(), true);
        false
    }

    fn act(&mut self, action: Action) -> Result<(), Refusal> {
        let done = self.commands.act(action, &mut self.totals.collector);
        self.show(self.state.phase(), false);
        done
    }

    fn last_slot(&mut self) -> bool {
        true
    }

    #[cfg(feature = "otlp")]
    fn tell(&mut self, text: String) {
        self.live.tell(text);
    }
}

struct Answers<'control, 'run> {
    controller: &'control mut Controller<'run>,
    given_up: Option<Instant>,
}

impl Answers<'_, '_> {
    fn tick(&mut self, threads: &PartThreads) {
        let Some(is_second) = self.controller.totals.tick() else { return };
        let tally = &self.controller.totals.tally;
        let (answers, rests) = (tally.in_flight(), tally.think_times.now());
        self.controller.note = missing(answers, rests, threads.stuck());
        self.controller.show(Phase::WaitingForAnswers, is_second);
    }

    fn is_out_of_patience(&self) -> bool {
        self.given_up.is_some_and(|given_up| given_up.elapsed() > PATIENCE)
    }
}

fn missing(answers: u64, rests: u64, stuck: usize) -> String {
    if answers + rests == 0 && stuck == 0 {
        return String::new();
    }
    let counts = [(answers, "response"), (rests, "think time")];
    let counts = counts.into_iter().filter(|(of, _)| *of > 0).map(|(of, noun)| count(of, noun));
    let counts = counts.collect::<Vec<_>>().join(" and ");
    let waiting = if counts.is_empty() { String::new() } else { format!("waiting for {counts}; ") };
    let stuck = match stuck {
        0 => String::new(),
        1 => "1 thread is stuck; ".to_owned(),
        threads => format!("{threads} threads are stuck; "),
    };
    format!("{waiting}{stuck}Ctrl-C gives up")
}

impl Stage for Answers<'_, '_> {
    fn stop(&mut self) -> bool {
        let _ = self.controller.state.shared.give_up.send(true);
        self.given_up.get_or_insert_with(Instant::now);
        true
    }

    fn press(&mut self, key: KeyEvent) -> bool {
        let is_stop =
            matches!(self.controller.prompt.press(key), Some(Action::Stop)) && self.stop();
        self.controller.show(Phase::WaitingForAnswers, false);
        is_stop
    }

    fn act(&mut self, _action: Action) -> Result<(), Refusal> {
        Err(Refusal::Over)
    }

    #[cfg(feature = "otlp")]
    fn tell(&mut self, text: String) {
        self.controller.live.tell(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_counts_what_a_run_waits_for() {
        let told = "waiting for 3 responses; Ctrl-C gives up";
        assert_eq!((missing(0, 0, 0), missing(3, 0, 0)), (String::new(), told.to_owned()));
        let thinking = "waiting for 2 think times; Ctrl-C gives up";
        assert_eq!(missing(0, 2, 0), thinking);
        assert_eq!(missing(1, 0, 1), "waiting for 1 response; 1 thread is stuck; Ctrl-C gives up");
        assert_eq!(missing(0, 0, 1), "1 thread is stuck; Ctrl-C gives up");
        assert_eq!(
            missing(3, 0, 2),
            "waiting for 3 responses; 2 threads are stuck; Ctrl-C gives up"
        );
    }
}
