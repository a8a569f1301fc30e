//! Tests complete runs in virtual time. The load, the decisions of the workers and the report are real. The
//! connections, the target and the clock are simulated.

mod early_end;
mod laws;
mod merged;

use super::Controller;
use crate::console::machine::Machine;
use crate::judged::summary::{Summary, Title};
use crate::load::action::{Action, Refusal};
use crate::load::backend::Backend;
use crate::load::target::{Done, Failure, Slot};
use crate::results::confidence::simulated::Random;
use crate::results::cpu_time::CpuTime;
use crate::results::last_poll::BEAT;
use crate::results::operation::Answer;
use crate::results::over_time::Interval;
use crate::running::args::RunArgs;
use crate::running::before_start::Begin;
use crate::running::measuring::recorder::{Flight, Recorder};
use crate::running::message::{Message, Stage};
use crate::running::outputs::Outputs;
use crate::running::run::start_schedule;
use crate::running::setup::Setup;
use crate::running::workers::shared::RunShared;
use crate::running::workers::span::{Admission, RunSpan};
use crate::shown::live::Live;
use crate::shown::snapshot::{Phase, Recent};
use clap::Parser;
use nanopace::{Grant, ManualClock, Nanos, Refused};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, SystemTime};
use toml::Table;

const STEP: Duration = Duration::from_millis(4);
const CONNECTIONS: usize = 4;

#[derive(Debug, Parser)]
#[command(args_override_self = true)]
struct CommandLine {
    #[command(flatten)]
    run: RunArgs,
}

struct Nothing(Option<u64>);

impl Backend for Nothing {
    type Session = ();

    async fn connect(&self, _index: usize) -> Result<(), Failure> {
        Ok(())
    }

    async fn call(&self, _session: &mut (), _slot: Slot) -> Result<Done, Failure> {
        Ok(Done::new())
    }

    fn name(&self) -> String {
        "nothing".to_owned()
    }

    fn most_slots(&self) -> Option<u64> {
        self.0
    }
}

/// Returns the setup of a run. In the values of options, underscores stand for spaces.
fn set_up(options: &str, most: Option<u64>) -> Setup {
    let words = ["test"].into_iter().chain(options.split_whitespace());
    let line = CommandLine::try_parse_from(words.map(|word| word.replace('_', " "))).unwrap();
    Setup::new(line.run, &[], |_| Ok(Nothing(most))).unwrap()
}

enum Connection {
    Free,
    /// The thread has been granted a slot, and decides about it at this time.
    Granted(Grant, Nanos),
    Busy(Flight, Nanos, Result<Done, Failure>),
    Gone,
}

/// The events of a simulated run, in milliseconds since its start. The target does not respond during `stalls`, and the
/// threads do nothing during `freezes`.
#[derive(Clone, Debug, Default)]
struct Course {
    stalls: Vec<(u64, u64)>,
    freezes: Vec<(u64, u64)>,
    /// Each time this number of slots has been granted, the decision about the last of them is delayed. If the number
    /// is 0, no decision is delayed.
    hold_every: u64,
    actions: Vec<(u64, Action)>,
    begins_paused: bool,
    server: Option<Server>,
    most: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Server {
    seed: u64,
    mean: Duration,
    failed_share: f64,
}

impl Server {
    fn serve(self, slot: u64) -> (Duration, Result<Done, Failure>) {
        let mut random = Random((self.seed << 32) | slot);
        let time = self.mean.mul_f64(random.exponential());
        let fails = random.exponential() >= -self.failed_share.ln();
        (time, if fails { Err(Failure::new("down")) } else { Ok(Done::new()) })
    }
}

struct Ran {
    summary: Summary,
    refused: Vec<Refusal>,
    warm_up: u64,
    rates: Vec<(String, Recent)>,
    has_last_line: bool,
}

impl Ran {
    fn intervals(&self) -> &[Interval] {
        self.summary.over_time.intervals()
    }

    fn asked(&self) -> f64 {
        self.intervals().iter().map(|interval| interval.asked).sum()
    }
}

struct Run<'run> {
    course: &'run Course,
    clock: ManualClock,
    shared: &'run RunShared,
    span: &'run RunSpan,
    connections: Vec<Connection>,
    granted: u64,
    next_beat: Nanos,
    free_at: Nanos,
}

impl Run<'_> {
    fn now(&self) -> Nanos {
        self.shared.pacer.now()
    }

    fn at(&self, ms: u64) -> Nanos {
        self.span.start + Duration::from_millis(ms)
    }

    fn after(&self, stops: &[(u64, u64)], moment: Nanos) -> Nanos {
        let inside = |&&(from, to): &&(u64, u64)| (self.at(from)..self.at(to)).contains(&moment);
        stops.iter().find(inside).map_or(moment, |&(_, to)| self.at(to))
    }

    fn step(&mut self) {
        let recorder = Arc::clone(&self.shared.recorders[0]);
        let is_frozen = || self.after(&self.course.freezes, self.now()) > self.now();
        if !is_frozen() {
            recorder.sleeps(CpuTime::default);
        }
        self.clock.advance(STEP);
        if is_frozen() {
            return;
        }
        recorder.wakes(CpuTime::default);
        if self.now() >= self.next_beat {
            recorder.beat(CpuTime::default());
            self.next_beat = self.now() + BEAT;
        }
        for index in 0..self.connections.len() {
            let connection = std::mem::replace(&mut self.connections[index], Connection::Gone);
            self.connections[index] = self.go_on(connection, &recorder);
        }
    }

    fn go_on(&mut self, connection: Connection, recorder: &Arc<Recorder>) -> Connection {
        let now = self.now();
        match connection {
            Connection::Busy(flight, done, result) if done <= now => {
                let sent = flight.started();
                flight.end(Answer::new(sent, result));
                self.take(recorder)
            }
            Connection::Granted(grant, until) if until <= now => self.decide(grant, recorder),
            Connection::Free => self.take(recorder),
            waits => waits,
        }
    }

    fn take(&mut self, recorder: &Arc<Recorder>) -> Connection {
        match self.shared.pacer.try_acquire() {
            Ok(grant) => {
                self.granted += 1;
                let is_held = self.course.hold_every > 0
                    && self.granted.is_multiple_of(self.course.hold_every);
                if is_held {
                    return Connection::Granted(grant, self.now() + 10 * STEP);
                }
                self.decide(grant, recorder)
            }
            Err(Refused::Finished | Refused::Closed) => {
                self.span.end_if_over();
                Connection::Gone
            }
            Err(_) => Connection::Free,
        }
    }

    fn decide(&mut self, grant: Grant, recorder: &Arc<Recorder>) -> Connection {
        let (now, intended) = (self.now(), grant.intended_start());
        let slot = (grant.slot(), intended);
        let is_recorded = match self.span.admit(slot, now) {
            Admission::Recorded => true,
            Admission::WarmUp => false,
            Admission::Unstarted => {
                recorder.unstarted(&[(intended, 1)], self.span.end());
                return Connection::Gone;
            }
            Admission::Over => return Connection::Gone,
        };
        let (time, result) =
            self.course.server.map_or((STEP, Ok(Done::new())), |server| server.serve(grant.slot()));
        let idle_from = if self.course.server.is_some() { self.free_at } else { now };
        self.free_at = self.after(&self.course.stalls, now.max(idle_from) + time);
        Connection::Busy(recorder.start(slot, is_recorded), self.free_at, result)
    }

    fn is_at_work(&self) -> bool {
        self.connections
            .iter()
            .any(|it| matches!(it, Connection::Busy(..) | Connection::Granted(..)))
    }
}

fn controls(
    controller: &mut Controller<'_>,
    messages: &Receiver<Message>,
    rates: &mut Vec<(String, Recent)>,
) -> bool {
    let is_stopped = messages.try_iter().any(|message| message.reach(controller));
    let is_over = is_stopped || controller.state.now() >= controller.state.span.end();
    let second = if is_over { None } else { controller.totals.tick() };
    let Some(is_second) = second else { return !is_over };
    let snapshot = controller.totals.snapshot(Phase::Running, "");
    rates.push((snapshot.rate(), snapshot.recent));
    !controller.is_settled(is_second)
}

fn run(options: &str, course: &Course) -> Ran {
    run_setup(&set_up(options, course.most), course)
}

fn run_setup(setup: &Setup, course: &Course) -> Ran {
    let clock = ManualClock::new();
    let pacer = setup.pacer_builder().unwrap().clock(clock.clone()).build();
    clock.advance(Duration::from_secs(7));
    let shared = RunShared::new(pacer, Duration::MAX, &[CONNECTIONS], setup.gives_up());
    let limit = setup.args.skip_later_than.unwrap_or_default();
    shared.recorders.iter().for_each(|recorder| recorder.skip_later_than(limit));
    let (sender, messages) = mpsc::channel();
    let begin = Some(Begin { at: shared.pacer.now(), is_paused: course.begins_paused });
    let span = start_schedule(setup, None, &shared, sender, begin).unwrap();
    assert_eq!(shared.pacer.is_paused(), course.begins_paused);
    let outputs = Outputs::only(Live::Nowhere);
    let mut controller = Controller::new(&shared, span, None, setup.policy().unwrap(), outputs);
    if course.begins_paused {
        controller.act(Action::Pause).unwrap();
    }
    let connections = (0..CONNECTIONS).map(|_| Connection::Free).collect();
    let (granted, next_beat, free_at) = (0, Nanos::ZERO, Nanos::ZERO);
    let mut run =
        Run { course, clock, shared: &shared, span, connections, granted, next_beat, free_at };
    let (mut actions, mut refused) = (course.actions.iter().peekable(), Vec::new());
    let mut rates = Vec::new();
    while controls(&mut controller, &messages, &mut rates) {
        run.step();
        while let Some((_, action)) = actions.next_if(|(at, _)| run.at(*at) <= run.now()) {
            refused.extend(controller.act(action.clone()).err());
        }
    }
    let run_end = controller.end();
    while run.is_at_work() {
        run.step();
        if controller.totals.tick().is_some() {
            let snapshot = controller.totals.snapshot(Phase::WaitingForAnswers, "");
            rates.push((snapshot.rate(), snapshot.recent));
        }
    }
    let title = Title {
        url: String::new(),
        scenario_hash: None,
        start_at: None,
        start: SystemTime::UNIX_EPOCH,
        settings: Table::new(),
        given: BTreeSet::new(),
        rate_is_default: false,
        machine: Machine::here(),
    };
    let has_last_line = controller.totals.has_ended_between_lines(&run_end);
    let (summary, _) = controller.sum_up(run_end, title, Duration::ZERO);
    let warm_up = span.length().counted.map_or(0, |counted| counted.warm_up);
    Ran { summary, refused, warm_up, rates, has_last_line }
}
