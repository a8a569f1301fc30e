//! A run from the first thread to the summary.

use crate::client::Client;
use crate::conductor::Conductor;
use crate::control::{Command, Interrupt};
use crate::cpu::Demand;
use crate::crew::Crew;
use crate::hdr_log::HdrLog;
use crate::plan::Plan;
use crate::progress::Progress;
use crate::recorder::Recorder;
use crate::span::Span;
use crate::summary::Summary;
use crate::target::Target;
use crate::terminal::Keyboard;
use crate::worker::Worker;
use anyhow::Context;
use nanopace::Pacer;
use std::io;
use std::panic;
use std::sync::OnceLock;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, SystemTime};

/// What the threads of a run share.
#[derive(Debug)]
pub(crate) struct Stage {
    /// Grants the slots.
    pub(crate) pacer: Pacer,
    /// Knows whether any worker is free.
    pub(crate) crew: Crew,
    /// The notes of each worker.
    pub(crate) recorders: Vec<Recorder>,
    /// Set when the schedule starts.
    pub(crate) span: OnceLock<Span>,
}

/// Runs `plan` to its end.
pub(crate) fn run(plan: &Plan, mut hdr: Option<HdrLog>) -> anyhow::Result<Summary> {
    let stage = Stage::new(plan);
    let (sender, commands) = mpsc::channel();
    let interrupt = Interrupt::on_signals(sender.clone())?;
    // Dropped at the end of this function: the report is printed on a terminal as it was before.
    let keyboard = Keyboard::listen(sender.clone(), interrupt);
    let progress = Progress::start(&plan.title(), keyboard.is_some());
    if let Some(hdr) = &mut hdr {
        hdr.begin(SystemTime::now())?;
    }
    thread::scope(|scope| {
        let workers = start_workers(scope, plan, &stage);
        if workers.is_err() {
            // Those that did start must not wait for a schedule that never starts.
            stage.pacer.close();
        }
        let span = start_schedule(plan, &stage, sender);
        let workers = workers.context("cannot start the workers")?;
        let mut conductor = Conductor::new(&stage, span, progress, hdr);
        let conducted = conductor.conduct(&commands);
        let ending = conductor.end();
        let demands: Vec<Demand> = workers.into_iter().filter_map(join).collect();
        conducted?;
        conductor.sum_up(ending, demands)
    })
}

impl Stage {
    fn new(plan: &Plan) -> Stage {
        let pacer = plan.pacer();
        let workers = plan.args.workers;
        let recorders = (0..workers).map(|_| Recorder::new(&pacer)).collect();
        Stage { pacer, crew: Crew::new(workers), recorders, span: OnceLock::new() }
    }
}

type WorkerThread<'scope> = ScopedJoinHandle<'scope, Option<Demand>>;

/// Starts the worker threads, which wait for the schedule to start.
fn start_workers<'scope, 'run: 'scope>(
    scope: &'scope Scope<'scope, '_>,
    plan: &Plan,
    stage: &'run Stage,
) -> io::Result<Vec<WorkerThread<'scope>>> {
    let start = |(index, recorder)| {
        let client = Client::new(&plan.url, plan.args.timeout);
        let worker =
            Worker { stage, recorder, client, core: plan.core(index), busy: Duration::ZERO };
        thread::Builder::new().name("worker".to_owned()).spawn_scoped(scope, || worker.run())
    };
    stage.recorders.iter().enumerate().map(start).collect()
}

/// Starts the schedule now, for everyone who has to know.
fn start_schedule<'run>(plan: &Plan, stage: &'run Stage, commands: Sender<Command>) -> &'run Span {
    // Read before the schedule starts: its first slot must not be from before the run.
    let start = stage.pacer.now();
    stage.pacer.resume();
    plan.target.iter().for_each(Target::schedule_starts);
    stage.span.get_or_init(|| Span::new(&stage.pacer, start, plan.length(), commands))
}

/// What a worker wanted of the CPU; a worker's panic goes on here.
fn join(worker: WorkerThread<'_>) -> Option<Demand> {
    worker.join().unwrap_or_else(|payload| panic::resume_unwind(payload))
}
