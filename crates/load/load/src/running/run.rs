//! Performs a run, from starting its threads to its summary.

use super::args::RunArgs;
use super::before_start::{BeforeStart, Begin};
use super::compare;
use super::controller::Controller;
use super::invitation::Invitation;
use super::measuring::busy_poll;
use super::measuring::steps::StepRecorders;
use super::member::Member;
use super::message::{Message, Stage};
use super::observed::Observed;
use super::outputs::Outputs;
use super::setup::Setup;
use super::slow_requests;
use super::steering::Steering;
use super::workers::connection_slots::ConnectionSlots;
use super::workers::cores::Core;
use super::workers::realtime::Realtime;
use super::workers::shared::RunShared;
use super::workers::span::RunSpan;
use super::workers::threads::{LoadPart, PartThreads, Threads};
use crate::console::Progress;
use crate::console::machine::Machine;
use crate::judged::summary::{Summary, Title};
use crate::load::action::Action;
use crate::results::repetition::Repetition;
use crate::results::slot_record::SlotRecord;
use crate::results::started_at::StartedAt;
use crate::shown::live::Live;
use crate::shown::logs::Logs;
use anyhow::Context;
use nanopace::driver::Drive;
use nanopace::{Nanos, StdClock};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, SystemTime};
use thiserror::Error;

/// The number of interrupts that a run handles: the first ends the schedule, the second ends the wait for responses.
pub(crate) const INTERRUPTS: usize = 2;

/// A node of a fleet handles one more interrupt, at which it leaves the fleet and starts the slots that it has claimed.
const LEAVES: usize = 1;

#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) summary: Summary,
    pub(crate) logged: anyhow::Result<()>,
    /// The number of slots that were granted to this node of a fleet but not started. The number has no meaning for
    /// other runs.
    pub(crate) not_started: u64,
}

#[derive(Debug, Error)]
#[error("the fleet can't be joined")]
pub(crate) struct NotJoined;

/// Performs the run. Returns `None` if the run was stopped before its fleet started, or during the countdown to its
/// start.
pub(crate) fn run(setup: &Setup, logs: Logs) -> anyhow::Result<Option<(Ran, Option<Member>)>> {
    let (sender, messages) = mpsc::channel();
    let interrupts = INTERRUPTS + setup.invitation.as_ref().map_or(0, |_| LEAVES);
    let (watch, observed) = Observed::new(None, setup.target.name());
    // `steering` ends before this function returns, so that the report is printed on a restored terminal.
    let steering = Steering::start(&setup.args, &setup.access, interrupts, &[observed], &sender)?;
    let interrupted = Arc::clone(&steering.interrupted);
    let member = match &setup.invitation {
        None => None,
        Some(invitation) => {
            match join(setup, invitation, &messages, interrupted).context(NotJoined)? {
                None => return Ok(None),
                member => member,
            }
        }
    };
    let start_at = setup.args.start_at.as_ref();
    if start_at.is_some_and(|at| !at.count_down(setup.args.connections.first, &messages)) {
        return Ok(None);
    }
    let title = setup.title(member.as_ref());
    let live = if setup.args.hides_progress() {
        Live::Nowhere
    } else {
        Live::new(&title, steering.has_keys(), !setup.args.no_tui)
    };
    let outputs = Outputs { logs, live, watch };
    let done = perform(setup, member.as_ref(), outputs, &sender, &messages);
    steering.end();
    Ok(Some((done?, member)))
}

fn join(
    setup: &Setup,
    invitation: &Invitation,
    messages: &Receiver<Message>,
    interrupted: Arc<AtomicBool>,
) -> anyhow::Result<Option<Member>> {
    let progress = Progress::of_a_job();
    let mut shown = None;
    let member = invitation.join(|waits| {
        if shown.replace(waits) != Some(waits) {
            progress.show(&format!("{waits}; Ctrl-C leaves the fleet"));
        }
        let mut before_start = BeforeStart;
        if messages.try_iter().any(|message| message.reach(&mut before_start)) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    let member = member.and_then(|node| {
        let member = |(node, control)| {
            let target = Arc::clone(&setup.target);
            Member::new(invitation.at().clone(), node, control, interrupted, target)
        };
        node.map(member).transpose()
    });
    progress.end();
    match &member {
        Ok(None) => progress.add_line("this node left before the run started"),
        Ok(Some(member)) if member.is_late() => progress.add_line(&member.to_string()),
        _ => {}
    }
    member
}

pub(crate) fn perform(
    setup: &Setup,
    member: Option<&Member>,
    outputs: Outputs,
    sender: &Sender<Message>,
    messages: &Receiver<Message>,
) -> anyhow::Result<Ran> {
    let count = setup.connections().len();
    let (threads, loads) = open(&[setup], member, count, &setup.cores)?;
    let is_wanted = wait_until_open(&loads, messages)
        && setup.args.start_at.as_ref().is_none_or(|at| at.wait(messages));
    let run = |load: OpenLoad<'_>| {
        let begin = load.shared.pacer.now() + setup.args.start;
        load.run(is_wanted.then_some(begin), member, outputs, sender, messages)
    };
    let ran = loads.into_iter().next().map(run).context("no load")?;
    threads.join()?;
    ran
}

pub(crate) struct OpenLoad<'run> {
    pub(super) setup: &'run Setup,
    pub(super) shared: Arc<RunShared>,
    pub(super) threads: PartThreads,
}

/// Opens the sessions of all loads. `count` threads run the loads whose calls do not block.
pub(super) fn open<'run>(
    setups: &[&'run Setup],
    member: Option<&Member>,
    count: usize,
    cores: &[Core],
) -> anyhow::Result<(Threads, Vec<OpenLoad<'run>>)> {
    let clock = StdClock::new();
    let parts = setups.iter().map(|setup| part(setup, member, &clock));
    let parts: Vec<_> = parts.collect::<anyhow::Result<_>>()?;
    let (threads, by_part) = Threads::start(&parts, count, cores)?;
    let shared = parts.into_iter().map(|part| part.shared);
    let loads = setups.iter().zip(shared).zip(by_part);
    let open = loads.map(|((setup, shared), threads)| OpenLoad { setup, shared, threads });
    Ok((threads, open.collect()))
}

pub(super) fn wait_until_open(loads: &[OpenLoad<'_>], messages: &Receiver<Message>) -> bool {
    let are_ready = || loads.iter().all(OpenLoad::is_ready);
    BeforeStart.wait(messages, are_ready, || loads.iter().any(|load| load.threads.have_ended()))
}

fn part(setup: &Setup, member: Option<&Member>, clock: &StdClock) -> anyhow::Result<LoadPart> {
    let connections = setup.connections();
    let (pacer, timeout) = (setup.pacer(member, clock)?, setup.args.timeout);
    setup.target.paced_by(&pacer);
    let connection_slots =
        setup.args.per_connection.map(|_| ConnectionSlots::new(connections.iter().sum()));
    let realtime = setup.args.realtime.then(Realtime::default);
    let shared = RunShared::new(pacer, timeout, &setup.first(&connections), setup.gives_up());
    for recorder in &shared.recorders {
        recorder.record_slots(slow_requests::record(&setup.args, setup.repeats.as_ref()));
        recorder.poll_if_late(least_wait_to_poll(&setup.args));
        recorder.skip_later_than(setup.args.skip_later_than.unwrap_or_default());
    }
    let repeats = setup.repeats.clone();
    let shared = Arc::new(RunShared { connection_slots, realtime, repeats, ..shared });
    setup.target.counted_by(Arc::new(StepRecorders::new(&shared.recorders, &connections)));
    Ok(LoadPart { target: Arc::clone(&setup.target), shared, connections })
}

/// Threads with real-time priority never poll, because they would keep a target on this machine from running. Threads
/// of a closed loop always poll.
fn least_wait_to_poll(args: &RunArgs) -> Duration {
    match (args.realtime, args.schedule.is_closed) {
        (true, _) => Duration::MAX,
        (_, true) => Duration::ZERO,
        _ => busy_poll::LATE,
    }
}

impl OpenLoad<'_> {
    /// Returns whether all threads are ready. Threads that are still blocked after the timeout count as ready.
    pub(super) fn is_ready(&self) -> bool {
        let OpenLoad { shared, threads, .. } = self;
        *shared.ready.borrow() + threads.held(shared.timeout) >= threads.count()
    }

    pub(super) fn run(
        self,
        begin: Option<Nanos>,
        member: Option<&Member>,
        mut outputs: Outputs,
        sender: &Sender<Message>,
        messages: &Receiver<Message>,
    ) -> anyhow::Result<Ran> {
        let OpenLoad { setup, shared, threads } = self;
        let begin =
            begin.and_then(|at| Begin::at(at).wait(messages, &shared.pacer, &outputs.watch));
        let span = start_schedule(setup, member, &shared, sender.clone(), begin)?;
        outputs.logs.begin(span.began);
        let mut controller = Controller::new(&shared, span, member, setup.policy()?, outputs);
        controller.expect(&setup.target.labels());
        if begin.is_some_and(|begin| begin.is_paused) {
            let _ = controller.act(Action::Pause);
        }
        match member {
            _ if begin.is_some() => controller.run(messages),
            // Slots that cannot be given back count as lost in the account of the fleet.
            Some(member) => drop(member.leave()),
            None => {}
        }
        let run_end = controller.end();
        controller.wait_for_answers(messages, &threads);
        let title = title(setup, span.began);
        let (mut summary, logged) = controller.sum_up(run_end, title, setup.target.resolved_in());
        summary.note_own(member.map_or_else(|| setup.target.take_own_times(), Member::own_times));
        summary.warnings.extend(setup.target.warnings());
        summary.warnings.extend(summary.title.start_at.as_ref().and_then(StartedAt::warning));
        summary.note_realtime(shared.realtime.as_ref().map(Realtime::result));
        summary.pool = shared.pool.growth(setup.args.connections, span.start);
        if member.is_none() {
            summary.require(&setup.args.criteria());
        }
        let logged = logged.and(note_slots(setup, &shared, span.start, &mut summary));
        if let Some(baseline) = &setup.baseline {
            compare::add_comparison(baseline, setup.args.demands(), &mut summary);
        }
        Ok(Ran { summary, logged, not_started: span.not_started() })
    }
}

fn note_slots(
    setup: &Setup,
    shared: &RunShared,
    start: Nanos,
    summary: &mut Summary,
) -> anyhow::Result<()> {
    let slots = shared.recorders.iter().filter_map(|recorder| recorder.take_slots());
    let Some(slots) = slots.reduce(SlotRecord::merge) else { return Ok(()) };
    summary.repetition = Repetition::new(&slots);
    let Some(file) = &setup.files.slowest else { return Ok(()) };
    Ok(slow_requests::write(file, &slots, (setup.args.schedule.seed, start), &*setup.target)?)
}

fn title(setup: &Setup, start: SystemTime) -> Title {
    Title {
        url: setup.target.name(),
        scenario_hash: setup.target.scenario_hash(),
        start,
        start_at: setup.args.start_at.as_ref().map(|at| at.started(start)),
        settings: setup.args.settings.clone(),
        given: setup.args.given.clone(),
        rate_is_default: setup.args.rate_is_default(),
        machine: Machine::here(),
    }
}

/// Starts the schedule. If `begin` is `None`, the run should already end, so the schedule ends before any slot can
/// start.
pub(super) fn start_schedule<'run>(
    setup: &Setup,
    member: Option<&Member>,
    shared: &'run RunShared,
    messages: Sender<Message>,
    begin: Option<Begin>,
) -> anyhow::Result<&'run RunSpan> {
    let pacer = &shared.pacer;
    let span = if let Some(member) = member {
        let length = member.length(setup.args.warmup);
        RunSpan::new(pacer, member.starts(), length, messages)
    } else {
        // Claiming the first slot fixes the exact start of the schedule. The slot is given back before any worker asks
        // for a slot, because a worker that finds no slot ends.
        let first = pacer.claim()?;
        let begin = begin.unwrap_or_else(|| Begin::at(pacer.now()));
        let start = if begin.is_paused {
            begin.at
        } else {
            pacer.resume_at(begin.at);
            first.due()? - setup.first
        };
        RunSpan::new(pacer, start, setup.length()?, messages)
    };
    if begin.is_none() {
        span.end_run(span.start);
    }
    setup.target.schedule_starts();
    // The value is set nowhere else, so this cannot fail.
    let _ = shared.span.set(span);
    shared.span.get().context("the schedule has not started")
}
