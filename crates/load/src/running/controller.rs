//! Controls a run: acts on keys, signals and programs, collects and shows, and ends the run.

mod audience;
mod books;
mod course;
mod helm;
mod looks;

use super::member::Member;
use super::message::{Message, Stage};
use super::outlets::Outlets;
use super::policy::Policy;
use super::workers::shared::RunShared;
use super::workers::span::RunSpan;
use super::workers::threads::{self, Threads};
use crate::judged::summary::{Ending, RunResults, Summary, Title};
use crate::judged::verdict::HICCUP;
use crate::load::action::{Action, Refusal};
use crate::recorded::asked::RunEnd;
use crate::shown::snapshot::Phase;
use audience::Audience;
use books::Books;
use course::Course;
use crossterm::event::KeyEvent;
use helm::Helm;
use nanopace::Nanos;
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// Changes the load, and collects what the load threads record. It is the stage of a run in which slots
/// start.
#[derive(Debug)]
pub(crate) struct Controller<'run> {
    course: Course<'run>,
    policy: Policy,
    helm: Helm<'run>,
    books: Books<'run>,
    audience: Audience,
    /// Slots that were due and not started at the end, in batches.
    left: Vec<(Nanos, u64)>,
    /// How many of them were overdue.
    overdue: u64,
}

impl<'run> Controller<'run> {
    /// The controller of a schedule that has just started.
    pub(crate) fn new(
        shared: &'run RunShared,
        span: &'run RunSpan,
        member: Option<&'run Member>,
        policy: Policy,
        outlets: Outlets,
    ) -> Controller<'run> {
        let course = Course { shared, span, member };
        let Outlets { logs, live, watch } = outlets;
        Controller {
            course,
            policy,
            helm: Helm::new(course),
            books: Books::new(course, logs),
            audience: Audience::new(live, watch),
            left: Vec::new(),
            overdue: 0,
        }
    }

    /// Returns when the schedule should end.
    pub(crate) fn run(&mut self, messages: &Receiver<Message>) {
        loop {
            let next = self.books.next_tick().min(self.course.span.end());
            let message = messages.recv_timeout(next - self.course.now());
            let is_stopped = message.is_ok_and(|message| message.reach(self));
            // Also between messages: there may always be another one.
            if is_stopped || self.course.now() >= self.course.span.end() || self.is_over() {
                return;
            }
            if let Some(is_second) = self.books.tick() {
                self.show(self.course.phase(), is_second);
            }
        }
    }

    /// Whether a fleet goes on without this node, or too many requests have failed.
    fn is_over(&self) -> bool {
        self.books.has_failed_more_than(self.policy.most_failures)
            || self.course.standing().is_some_and(|standing| standing.is_over)
    }

    /// Shows how the run is going to whoever watches, and as a line if it is time for that.
    fn show(&self, phase: Phase, is_time_for_a_line: bool) {
        let snapshot = self.books.snapshot(phase, &self.audience.note);
        self.audience.show(snapshot, &self.books.over_time, is_time_for_a_line);
    }

    /// Ends the schedule, unless it has ended already, and counts the slots that were due.
    pub(crate) fn end(&mut self) -> RunEnd {
        let Course { shared, span, .. } = self.course;
        let run_end = span.end_run(shared.pacer.now());
        self.books.end(&run_end);
        shared.pacer.close();
        // What was late when it was paused is not later now.
        shared.pacer.resume();
        self.count_left(&run_end);
        run_end
    }

    /// Counts the slots that were due and not started, unless they were counted before.
    fn count_left(&mut self, run_end: &RunEnd) {
        let Course { shared, span, .. } = self.course;
        let left = span.unstarted(&mut self.left);
        if let Some(recorder) = shared.recorders.first() {
            recorder.unstarted(&left, run_end.at);
        }
        let is_overdue = |(intended, _): &&(Nanos, u64)| run_end.at - *intended > HICCUP;
        self.overdue += left.iter().filter(is_overdue).map(|(_, slots)| slots).sum::<u64>();
    }

    /// Waits until all answers are there, or nobody wants to wait for them.
    pub(crate) fn wait_for_answers(&mut self, messages: &Receiver<Message>, threads: &Threads) {
        let mut answers = Answers(self);
        while threads.ended() < threads.count() {
            match messages.recv_timeout(threads::GLANCE) {
                Ok(message) => drop(message.reach(&mut answers)),
                Err(_) => answers.tick(),
            }
        }
    }

    /// The results, once the threads are done, and whether the logs are complete.
    pub(crate) fn sum_up(
        mut self,
        run_end: RunEnd,
        title: Title,
        resolved_in: Duration,
    ) -> (Summary, anyhow::Result<()>) {
        // Who waited for a slot when the schedule ended has given it back by now.
        self.count_left(&run_end);
        self.books.close(&run_end, self.policy);
        self.show(Phase::Over, false);
        self.audience.end();
        let (processor, logged) = (self.books.processor(), self.books.end_logs());
        let Books { collector, over_time, .. } = self.books;
        let ending = Ending { is_cut_short: self.helm.is_cut_short, overdue: self.overdue };
        let summary = Summary::new(RunResults {
            title,
            recorded_from: self.course.span.recorded_from,
            run_end,
            constant_hz: self.helm.constant_hz,
            over_time,
            stats: collector.total(),
            gaps: collector.gap_quality(),
            ending: self.course.member.is_none().then_some(ending),
            processor,
            resolved_in,
        });
        (summary, logged)
    }
}

/// While slots start.
impl Stage for Controller<'_> {
    fn stop(&mut self) -> bool {
        let left = self.helm.stop();
        let is_stopped = left.is_none();
        if let Some(note) = left {
            self.audience.note = note;
        }
        let phase = if is_stopped { Phase::WaitingForAnswers } else { self.course.phase() };
        self.show(phase, false);
        is_stopped
    }

    /// Does what a key asks for, if anything, and shows what came of it.
    fn press(&mut self, key: KeyEvent) -> bool {
        self.audience.note = match self.audience.press(key) {
            Some(Action::Stop) => return self.stop(),
            None => self.audience.typed(),
            Some(action) => {
                let done = self.helm.act(action, &mut self.books.collector);
                done.map_or_else(|why| why.text().to_owned(), |()| String::new())
            }
        };
        self.show(self.course.phase(), true);
        false
    }

    fn act(&mut self, action: Action) -> Result<(), Refusal> {
        let done = self.helm.act(action, &mut self.books.collector);
        self.show(self.course.phase(), false);
        done
    }

    fn last_slot(&mut self) -> bool {
        true
    }

    #[cfg(feature = "otlp")]
    fn tell(&mut self, text: String) {
        self.audience.tell(text);
    }
}

/// The stage behind the schedule: answers are missing.
struct Answers<'control, 'run>(&'control mut Controller<'run>);

impl Answers<'_, '_> {
    fn tick(&mut self) {
        let Answers(controller) = self;
        let Some(is_second) = controller.books.tick() else { return };
        controller.audience.note = match controller.books.tally.in_flight() {
            0 => String::new(),
            missing => format!("waiting for {missing} answers; Ctrl-C gives them up"),
        };
        controller.show(Phase::WaitingForAnswers, is_second);
    }
}

impl Stage for Answers<'_, '_> {
    /// They are given up.
    fn stop(&mut self) -> bool {
        let _ = self.0.course.shared.give_up.send(true);
        true
    }

    fn press(&mut self, key: KeyEvent) -> bool {
        let is_stop = matches!(self.0.audience.press(key), Some(Action::Stop)) && self.stop();
        self.0.show(Phase::WaitingForAnswers, false);
        is_stop
    }

    fn act(&mut self, _action: Action) -> Result<(), Refusal> {
        Err(Refusal::Over)
    }

    #[cfg(feature = "otlp")]
    fn tell(&mut self, text: String) {
        self.0.audience.tell(text);
    }
}
