//! Performs a run, from starting its threads to its summary.

use super::before_start::BeforeStart;
use super::compare;
use super::control::Control;
use super::controller::Controller;
use super::invitation::Invitation;
use super::keyboard::Keyboard;
use super::measuring::steps::StepRecorders;
use super::member::Member;
use super::member::part_times::PartTimes;
use super::message::Message;
use super::outputs::Outputs;
#[cfg(feature = "otlp")]
use super::push::Push;
use super::setup::Setup;
use super::workers::shared::RunShared;
use super::workers::span::RunSpan;
use super::workers::threads::Threads;
use crate::console::Progress;
use crate::console::interrupt::Interrupt;
use crate::console::machine::Machine;
use crate::judged::summary::{Summary, Title};
use crate::shown::live::Live;
use crate::shown::logs::Logs;
use anyhow::Context;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::watch;

/// The number of interrupts that a run handles: the first ends the schedule, the second ends the wait for responses.
pub(crate) const INTERRUPTS: usize = 2;

/// The number of additional interrupts for a node of a fleet, which first leaves the fleet and starts the slots that it
/// has claimed.
const LEAVES: usize = 1;

#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) summary: Summary,
    /// An error if a log is incomplete.
    pub(crate) logged: anyhow::Result<()>,
    /// In a fleet, the number of slots that were granted to this node but not started.
    pub(crate) not_started: u64,
}

#[derive(Debug)]
pub(crate) struct NotJoined;

impl std::fmt::Display for NotJoined {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the fleet can't be joined")
    }
}

/// Returns the results and, in a fleet, the node. Returns `None` if the run was stopped before its fleet started.
pub(crate) fn run(setup: &Setup, logs: Logs) -> anyhow::Result<Option<(Ran, Option<Member>)>> {
    let (sender, messages) = mpsc::channel();
    let stop = sender.clone();
    // The receiver is dropped only when the run has ended, so an error has no effect.
    let interrupts = INTERRUPTS + setup.invitation.as_ref().map_or(0, |_| LEAVES);
    let interrupt = Interrupt::on_signals(interrupts, move || drop(stop.send(Message::Stop)))?;
    let interrupted = interrupt.flag();
    // The keyboard is dropped at the end of this function, so that the report is printed on a restored terminal.
    let keyboard = Keyboard::listen(sender.clone(), interrupt);
    let (watch, snapshots) = watch::channel(None);
    let control = setup.control_listener.as_ref().map(|control_listener| {
        // The line is printed before the full-screen view opens, because no other output is visible during it.
        Progress::of_a_job().add_line(&format!("control at {}", control_listener.url()));
        Control::start(control_listener, &setup.target.name(), snapshots.clone(), sender.clone())
    });
    let control = control.transpose()?;
    #[cfg(feature = "otlp")]
    let push = setup.collector.as_ref().map(|collector| {
        let every = setup.args.push.otlp_interval;
        Push::start(Arc::clone(collector), every, snapshots, sender.clone())
    });
    #[cfg(feature = "otlp")]
    let push = push.transpose()?;
    let target = Arc::clone(&setup.target);
    let parts = PartTimes::new(move || target.take_own_times());
    let member = match &setup.invitation {
        None => None,
        Some(invitation) => {
            match join(invitation, &messages, interrupted, parts).context(NotJoined)? {
                None => return Ok(None),
                member => member,
            }
        }
    };
    let title = setup.title(member.as_ref());
    let live = Live::new(&title, keyboard.is_some(), !setup.args.no_tui);
    let outputs = Outputs { logs, live, watch };
    let done = perform(setup, member.as_ref(), outputs, &sender, &messages);
    drop(control);
    #[cfg(feature = "otlp")]
    push.and_then(Push::end).iter().for_each(|told| Progress::of_a_job().add_line(told));
    Ok(Some((done?, member)))
}

/// Joins the fleet and waits for the other nodes. Returns `None` if the user ended the run before the fleet started.
fn join(
    invitation: &Invitation,
    messages: &Receiver<Message>,
    interrupted: Arc<AtomicBool>,
    parts: PartTimes,
) -> anyhow::Result<Option<Member>> {
    let progress = Progress::of_a_job();
    let mut shown = None;
    let member = invitation.join(|waits| {
        if shown.replace(waits) != Some(waits) {
            progress.show(&format!("{waits}; Ctrl-C leaves"));
        }
        let mut before_start = BeforeStart;
        if messages.try_iter().any(|message| message.reach(&mut before_start)) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    let member = member.and_then(|node| {
        let member = |(node, control)| {
            Member::new(invitation.at().clone(), node, control, interrupted, parts)
        };
        node.map(member).transpose()
    });
    progress.end();
    match &member {
        Ok(None) => progress.add_line("left before the run started"),
        Ok(Some(member)) if member.is_late() => progress.add_line(&member.to_string()),
        _ => {}
    }
    member
}

/// Performs a run. The first [`Message::Stop`] ends the schedule, and the second one ends the wait for responses.
pub(crate) fn perform(
    setup: &Setup,
    member: Option<&Member>,
    mut outputs: Outputs,
    sender: &Sender<Message>,
    messages: &Receiver<Message>,
) -> anyhow::Result<Ran> {
    let connections = setup.connections();
    let (pacer, timeout) = (setup.pacer(member)?, setup.args.timeout);
    setup.target.paced_by(&pacer);
    let shared = Arc::new(RunShared::new(pacer, timeout, &connections, setup.gives_up()));
    setup.target.counted_by(Arc::new(StepRecorders::new(&shared.recorders, &connections)));
    let threads = Threads::start(&setup.target, &shared, &connections, &setup.cores)?;
    let is_wanted = BeforeStart.wait(messages, &threads, &shared);
    let span = start_schedule(setup, member, &shared, sender.clone(), is_wanted)?;
    outputs.logs.begin(span.began);
    let mut controller = Controller::new(&shared, span, member, setup.policy()?, outputs);
    controller.expect(&setup.target.labels());
    match member {
        _ if is_wanted => controller.run(messages),
        // Slots that cannot be given back are lost, and the account of the fleet counts them as lost.
        Some(member) => drop(member.leave()),
        None => {}
    }
    let run_end = controller.end();
    controller.wait_for_answers(messages, &threads);
    threads.join()?;
    let title = Title {
        url: setup.target.name(),
        scenario_hash: setup.target.scenario_hash(),
        start: span.began,
        settings: setup.args.settings.clone(),
        given: setup.args.given.clone(),
        rate_is_default: setup.args.rate_is_default(),
        machine: Machine::here(),
    };
    let (mut summary, logged) = controller.sum_up(run_end, title, setup.target.resolved_in());
    summary.note_own(member.map_or_else(|| setup.target.take_own_times(), Member::own_times));
    summary.warnings.extend(setup.target.warnings());
    if member.is_none() {
        summary.require(&setup.args.criteria());
    }
    if let Some(baseline) = &setup.baseline {
        compare::beside(baseline, setup.args.demands(), &mut summary);
    }
    Ok(Ran { summary, logged, not_started: span.not_started() })
}

/// Starts the schedule, and notifies the target and the workers. If `is_wanted` is false, the schedule ends before any
/// slot can start.
pub(super) fn start_schedule<'run>(
    setup: &Setup,
    member: Option<&Member>,
    shared: &'run RunShared,
    messages: Sender<Message>,
    is_wanted: bool,
) -> anyhow::Result<&'run RunSpan> {
    let pacer = &shared.pacer;
    let span = if let Some(member) = member {
        let length = member.length(setup.args.warmup);
        RunSpan::new(pacer, member.starts(), length, messages)
    } else {
        // Claiming the first slot fixes the exact start of the schedule. The slot is given back before a worker looks
        // for it, because a worker ends if it finds no slot.
        let first = pacer.claim()?;
        pacer.resume();
        let start = first.due()? - setup.first;
        RunSpan::new(pacer, start, setup.length()?, messages)
    };
    if !is_wanted {
        span.end_run(span.start);
    }
    setup.target.schedule_starts();
    // The value is set nowhere else, so this cannot fail.
    let _ = shared.span.set(span);
    shared.span.get().context("the schedule has not started")
}
