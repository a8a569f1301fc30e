//! A run from its first thread to its summary.

pub(crate) mod args;
mod controller;
#[cfg_attr(not(test), expect(dead_code, reason = "the run will check its criteria"))]
pub(crate) mod criteria;
mod keyboard;
pub(crate) mod keys;
mod load;
mod message;
mod recording;
pub(crate) mod reporting;
pub(crate) mod setup;
mod status;

use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::target::Target;
use anyhow::Context;
use controller::Controller;
use keyboard::Keyboard;
use load::client::Client;
use load::cpu::CpuDemand;
use load::shared::RunShared;
use load::span::RunSpan;
use load::worker::Worker;
use message::Message;
use recording::hdr_log::HdrLog;
use reporting::summary::Summary;
use setup::Setup;
use std::io;
use std::panic;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, SystemTime};

/// Runs what is set up, to its end.
pub(crate) fn run(setup: &Setup, mut hdr: Option<HdrLog>) -> anyhow::Result<Summary> {
    let shared = RunShared::new(setup.pacer(), setup.args.workers);
    let (sender, messages) = mpsc::channel();
    let stop = sender.clone();
    // The receiver is gone only when the run has ended.
    let interrupt = Interrupt::on_signals(move || drop(stop.send(Message::Stop)))?;
    // Dropped at the end of this function, so the report is printed on an ordinary terminal.
    let keyboard = Keyboard::listen(sender.clone(), interrupt);
    let progress = Progress::new();
    status::introduce(&progress, &setup.title(), keyboard.is_some());
    if let Some(hdr) = &mut hdr {
        hdr.begin(SystemTime::now())?;
    }
    thread::scope(|scope| {
        let workers = start_workers(scope, setup, &shared);
        if workers.is_err() {
            // Workers that did start must not wait for a schedule that never starts.
            shared.pacer.close();
        }
        let span = start_schedule(setup, &shared, sender);
        let workers = workers.context("cannot start the workers")?;
        let mut controller = Controller::new(&shared, span, progress, hdr);
        let outcome = controller.run(&messages);
        let ending = controller.end();
        let demands: Vec<CpuDemand> = workers.into_iter().filter_map(join).collect();
        outcome?;
        controller.sum_up(ending, demands)
    })
}

type WorkerThread<'scope> = ScopedJoinHandle<'scope, Option<CpuDemand>>;

/// Starts the worker threads, which wait for the schedule to start.
fn start_workers<'scope, 'run: 'scope>(
    scope: &'scope Scope<'scope, '_>,
    setup: &Setup,
    shared: &'run RunShared,
) -> io::Result<Vec<WorkerThread<'scope>>> {
    let start = |(index, recorder)| {
        let client = Client::new(&setup.url, setup.args.timeout);
        let core = setup.core(index);
        let worker = Worker { shared, recorder, client, core, busy: Duration::ZERO };
        thread::Builder::new().name("worker".to_owned()).spawn_scoped(scope, || worker.run())
    };
    shared.recorders.iter().enumerate().map(start).collect()
}

/// Starts the schedule, and tells the target and the workers.
fn start_schedule<'run>(
    setup: &Setup,
    shared: &'run RunShared,
    messages: Sender<Message>,
) -> &'run RunSpan {
    // Read before the schedule starts, so that its first slot is not before the run.
    let start = shared.pacer.now();
    shared.pacer.resume();
    setup.target.iter().for_each(Target::schedule_starts);
    shared.span.get_or_init(|| RunSpan::new(&shared.pacer, start, setup.length(), messages))
}

/// What a worker needed of the CPU. A worker's panic continues here.
fn join(worker: WorkerThread<'_>) -> Option<CpuDemand> {
    worker.join().unwrap_or_else(|payload| panic::resume_unwind(payload))
}
