//! A run from its first thread to its summary.

mod action;
pub(crate) mod args;
mod asked;
pub(crate) mod client;
mod control;
mod controller;
pub(crate) mod criteria;
mod files;
mod headline;
mod keyboard;
pub(crate) mod keys;
mod leftover;
pub(crate) mod live;
mod load;
pub(crate) mod message;
mod metrics;
#[cfg(feature = "otlp")]
mod push;
pub(crate) mod recording;
pub(crate) mod reporting;
mod screen;
pub(crate) mod setup;
mod snapshot;
mod status;
mod typed;

use crate::interrupt::Interrupt;
use crate::target::Target;
use action::{Action, Refusal};
use anyhow::Context;
use control::Control;
use controller::Controller;
use keyboard::Keyboard;
use live::Live;
use load::shared::RunShared;
use load::span::RunSpan;
use load::threads::{self, Threads};
use message::Message;
use nanopace_console::Progress;
#[cfg(feature = "otlp")]
use push::Push;
use recording::logs::Logs;
use reporting::machine::Machine;
use reporting::summary::{Summary, Title};
use setup::Setup;
use snapshot::Snapshot;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::watch;

/// The first interrupt ends the schedule, the second one the waiting for answers.
pub(crate) const INTERRUPTS: usize = 2;

/// Runs what is set up, to its end. Returns the results, and whether the logs are complete.
pub(crate) fn run(setup: &Setup, logs: Logs) -> anyhow::Result<(Summary, anyhow::Result<()>)> {
    let (sender, messages) = mpsc::channel();
    let stop = sender.clone();
    // The receiver is gone only when the run has ended.
    let interrupt = Interrupt::on_signals(INTERRUPTS, move || drop(stop.send(Message::Stop)))?;
    // Dropped at the end of this function, so the report is printed on an ordinary terminal.
    let keyboard = Keyboard::listen(sender.clone(), interrupt);
    let (watch, snapshots) = watch::channel(None);
    let control = setup.door.as_ref().map(|door| {
        // While the full-screen view is shown, nothing else is.
        Progress::of_a_job().add_line(&format!("control at {}", door.url()));
        Control::start(door, &setup.url, snapshots.clone(), sender.clone())
    });
    let control = control.transpose()?;
    #[cfg(feature = "otlp")]
    let push = setup.collector.as_ref().map(|collector| {
        let every = setup.args.push.otlp_interval;
        Push::start(Arc::clone(collector), every, snapshots, sender.clone())
    });
    #[cfg(feature = "otlp")]
    let push = push.transpose()?;
    let live = Live::new(&setup.title(), keyboard.is_some(), !setup.args.no_tui);
    let done = perform(setup, logs, live, watch, &sender, &messages);
    drop(control);
    #[cfg(feature = "otlp")]
    push.and_then(Push::end).iter().for_each(|told| Progress::of_a_job().add_line(told));
    done
}

/// Runs what is set up, as the messages say. The first [`Message::Stop`] ends the schedule, the
/// second one the waiting for answers.
pub(crate) fn perform(
    setup: &Setup,
    mut logs: Logs,
    live: Live,
    watch: watch::Sender<Option<Arc<Snapshot>>>,
    sender: &Sender<Message>,
    messages: &Receiver<Message>,
) -> anyhow::Result<(Summary, anyhow::Result<()>)> {
    let connections = setup.connections();
    let shared = Arc::new(RunShared::new(setup.pacer()?, Arc::clone(&setup.plan), &connections));
    let threads = Threads::start(&shared, &connections, &setup.cores, sender)?;
    let is_wanted = wait_until_ready(messages, &threads);
    let span = start_schedule(setup, &shared, sender.clone())?;
    logs.begin(span.began);
    let asked = setup.asked(span.start)?;
    let mut controller = Controller::new(&shared, span, asked, live, logs, setup.policy(), watch);
    if is_wanted {
        controller.run(messages);
    }
    let run_end = controller.end();
    controller.wait_for_answers(messages, &threads);
    threads.join()?;
    let title = Title {
        url: setup.url.clone(),
        start: span.began,
        settings: setup.args.settings.clone(),
        machine: Machine::here(),
    };
    let (mut summary, lost) = controller.sum_up(run_end, title);
    summary.require(&setup.args.criteria());
    Ok((summary, lost))
}

/// Waits until all threads have opened their connections. False if the run should end already.
fn wait_until_ready(messages: &Receiver<Message>, threads: &Threads) -> bool {
    let mut ready = 0;
    while ready < threads.count() {
        match messages.recv_timeout(threads::GLANCE) {
            Ok(Message::Ready) => ready += 1,
            Ok(Message::Stop) => return false,
            Ok(Message::Ask(Action::Stop, answer)) => {
                let _ = answer.send(Ok(()));
                return false;
            }
            Ok(Message::Ask(_, answer)) => drop(answer.send(Err(Refusal::NotStarted))),
            Ok(Message::Key(key)) if keys::is_stop(key) => return false,
            Err(_) if threads.ended() > 0 => return false,
            _ => {}
        }
    }
    true
}

/// Starts the schedule, and tells the target and the workers.
fn start_schedule<'run>(
    setup: &Setup,
    shared: &'run RunShared,
    messages: Sender<Message>,
) -> anyhow::Result<&'run RunSpan> {
    // The first slot says when the schedule starts, exactly. It goes back, and a worker gets it.
    let first = shared.pacer.claim()?;
    shared.pacer.resume();
    let start = first.due()? - setup.first;
    let span = RunSpan::new(&shared.pacer, start, setup.length(), messages);
    setup.target.iter().for_each(Target::schedule_starts);
    // It is not set anywhere else.
    let _ = shared.span.set(span);
    drop(first);
    shared.span.get().context("the schedule has not started")
}
