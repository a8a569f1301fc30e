//! Runs several loads at once. Each load has its own schedule, connections and controller; one set of threads runs the
//! workers of all loads whose calls do not block.

use super::args::RunArgs;
use super::compare;
use super::files::{self, Input, ResultFiles};
use super::message::Message;
use super::observed::Observed;
use super::open_files;
use super::outputs::Outputs;
use super::run::{self, INTERRUPTS, OpenLoad, Ran};
use super::setup::{self, Make, Setup};
use super::steering::{Access, Steering};
use super::workers::cores::Core;
use super::workers::threads;
#[cfg(feature = "otlp")]
use crate::console::Progress;
use crate::judged::comparison::demand::{Requirement, is_load_name};
use crate::judged::criteria::Criterion;
use crate::judged::summary::{LoadResults, Summary};
use crate::load::action::{Action, Refusal};
use crate::shown::keys;
use crate::shown::live::Live;
use anyhow::{Context, ensure};
use std::mem;
use std::panic;
use std::slice;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;
use tokio::sync::oneshot;

/// The interval between checks for controller threads that have panicked.
const GLANCE: Duration = Duration::from_millis(250);

pub(crate) struct GivenLoad<'a> {
    pub(crate) args: RunArgs,
    pub(crate) inputs: Vec<Input<'a>>,
    pub(crate) make: Make<'a>,
}

#[derive(Debug)]
pub(crate) struct LoadsSetup {
    pub(crate) args: RunArgs,
    loads: Vec<Setup>,
    /// The number of threads that run the loads whose calls do not block.
    threads: usize,
    cores: Vec<Core>,
    access: Access,
    pub(crate) files: ResultFiles,
}

impl LoadsSetup {
    pub(crate) fn new(
        mut args: RunArgs,
        mut given: Vec<GivenLoad<'_>>,
    ) -> anyhow::Result<LoadsSetup> {
        check_names(&given)?;
        share_requirements(&mut args, &mut given)?;
        compare::baseline(&args)?;
        let loads: Vec<_> = given.iter().map(|load| (&load.args, &load.inputs[..])).collect();
        files::check_all(&args, &loads)?;
        let cores = if args.pin { setup::cores()? } else { Vec::new() };
        let access = Access::open(&args)?;
        let mut loads = Vec::new();
        for GivenLoad { args: own, inputs, make } in given {
            let name = own.name.clone();
            let mut args = RunArgs { realtime: args.realtime, ..own };
            args.given.insert("load".to_owned());
            loads.push(Setup::of_any(args, &inputs, make).with_context(|| format!("load {name}"))?);
        }
        check_criteria(&args.criteria(), &loads)?;
        let threads = args.threads.map_or_else(|| thread_count(&loads), usize::from);
        for load in &mut loads {
            load.args.threads = u16::try_from(threads).ok();
        }
        let each = loads.iter().map(|Setup { target, args, .. }| {
            open_files::needed(target, args.connections.most, args.threads)
        });
        open_files::allow_together(each.sum())?;
        let files = ResultFiles::create(&args)?;
        Ok(LoadsSetup { args, loads, threads, cores, access, files })
    }

    pub(crate) fn run(&mut self) -> anyhow::Result<Ran> {
        let (sender, messages) = mpsc::channel();
        let name = |load: &Setup| Some(load.args.name.clone());
        let observed = self.loads.iter().map(|load| Observed::new(name(load), load.target.name()));
        let (watches, observed): (Vec<_>, Vec<_>) = observed.unzip();
        let steering = Steering::start(&self.args, &self.access, INTERRUPTS, &observed, &sender)?;
        let titles = self.loads.iter().map(|load| (load.args.name.as_str(), load.title(None)));
        let titles: Vec<_> = titles.collect();
        let lives = if self.args.hides_progress() {
            titles.iter().map(|_| Live::Nowhere).collect()
        } else {
            Live::of_loads(&titles, steering.has_keys())
        };
        let mut outputs = Vec::new();
        for ((load, live), watch) in self.loads.iter_mut().zip(lives).zip(watches) {
            outputs.push(Outputs { logs: mem::take(&mut load.logs), live, watch });
        }
        let ran = self.perform(outputs, &sender, &messages);
        steering.end();
        ran
    }

    fn perform(
        &mut self,
        outputs: Vec<Outputs>,
        sender: &Sender<Message>,
        messages: &Receiver<Message>,
    ) -> anyhow::Result<Ran> {
        let setups: Vec<_> = self.loads.iter().collect();
        let (threads, loads) = run::open(&setups, None, self.threads, &self.cores)?;
        let is_wanted = run::wait_until_open(&loads, messages);
        let ran = side_by_side(loads, is_wanted, outputs, sender, messages);
        threads.join()?;
        let mut ran: Vec<Ran> = ran.into_iter().collect::<anyhow::Result<_>>()?;
        for (load, ran) in self.loads.iter_mut().zip(&mut ran) {
            ran.summary.warnings.extend(load.prepared.tear_down());
        }
        Ok(self.sum_up(ran))
    }

    pub(crate) fn run_quietly(
        &mut self,
        sender: &Sender<Message>,
        messages: &Receiver<Message>,
    ) -> anyhow::Result<Ran> {
        let outputs = self.loads.iter().map(|_| Outputs::only(Live::Nowhere)).collect();
        self.perform(outputs, sender, messages)
    }

    fn sum_up(&self, ran: Vec<Ran>) -> Ran {
        let (mut logged, mut loads) = (Ok(()), Vec::new());
        for (Setup { args, .. }, ran) in self.loads.iter().zip(ran) {
            logged = logged.and(ran.logged);
            loads.push(LoadResults {
                name: args.name.clone(),
                start: args.start,
                recorded_from: args.start + args.warmup,
                summary: Arc::new(ran.summary),
            });
        }
        let mut settings = self.args.settings.clone();
        settings.retain(|name, _| self.args.given.contains(name));
        let mut summary = Summary::of_loads(loads, settings);
        summary.require(&self.args.criteria());
        if self.args.is_versus {
            compare::sides(self.args.demands(), &mut summary);
        }
        let required: Vec<_> = summary.loads.iter().flat_map(LoadResults::required).collect();
        for required in required {
            summary.note(required);
        }
        Ran { summary, logged, not_started: 0 }
    }
}

fn check_names(given: &[GivenLoad<'_>]) -> anyhow::Result<()> {
    for (index, GivenLoad { args: RunArgs { name, .. }, .. }) in given.iter().enumerate() {
        ensure!(
            is_load_name(name),
            "{name:?} cannot be the name of a load: write another with letters, digits, -, _ and ., as in name = \"reads\""
        );
        ensure!(
            given[..index].iter().all(|other| other.args.name != *name),
            "two loads have the name {name:?}: rename one of them, as in name = \"{name}-2\""
        );
    }
    Ok(())
}

fn share_requirements(args: &mut RunArgs, given: &mut [GivenLoad<'_>]) -> anyhow::Result<()> {
    let names: Vec<_> = given.iter().map(|load| load.args.name.clone()).collect();
    for requirement in mem::take(&mut args.fail_if) {
        let Requirement::OfLoad(name, criterion) = requirement else {
            args.fail_if.push(requirement);
            continue;
        };
        let load = given.iter_mut().find(|load| load.args.name == name);
        let load = load.with_context(|| {
            format!(
                "--fail-if \"{name}: {criterion}\": no load has this name: write one of {}",
                names.join(", ")
            )
        })?;
        load.args.fail_if.push(Requirement::Figure(criterion));
    }
    Ok(())
}

/// Returns an error if a requirement on the whole run names a figure that none of the loads can have.
fn check_criteria(criteria: &[Criterion], loads: &[Setup]) -> anyhow::Result<()> {
    criteria.iter().try_for_each(|criterion| {
        let check = |load: &Setup| setup::check(&*load.target, slice::from_ref(criterion));
        loads.iter().map(check).min_by_key(Result::is_err).unwrap_or(Ok(()))
    })
}

/// Returns the number of threads for all loads: the sum of the numbers that [`suitable`](threads::suitable) returns for
/// each load at its rate, but at most the largest number that it returns for one of the loads if the rate is ignored.
fn thread_count(loads: &[Setup]) -> usize {
    let loads = loads.iter().filter(|load| Arc::clone(&load.target).blocking().is_none());
    let suitable = |load: &Setup, hz| threads::suitable(&load.target, hz);
    let most = loads.clone().map(|load| suitable(load, None)).max();
    let needed = loads.map(|load| suitable(load, load.hz())).sum();
    most.unwrap_or(0).min(needed)
}

/// Runs all loads at once. The times of all schedules are measured from the same moment.
fn side_by_side(
    loads: Vec<OpenLoad<'_>>,
    is_wanted: bool,
    outputs: Vec<Outputs>,
    sender: &Sender<Message>,
    messages: &Receiver<Message>,
) -> Vec<anyhow::Result<Ran>> {
    let begin = loads.first().map(|load| load.shared.pacer.now()).filter(|_| is_wanted);
    thread::scope(|scope| {
        let (mut senders, mut running) = (Vec::new(), Vec::new());
        for (load, outputs) in loads.into_iter().zip(outputs) {
            let begin = begin.map(|begin| begin + load.setup.args.start);
            let (own, told) = mpsc::channel();
            senders.push(own.clone());
            running.push(scope.spawn(move || {
                let ran = load.run(begin, None, outputs, &own, &told);
                let _ = sender.send(Message::LastSlot);
                ran
            }));
        }
        let mut ended = 0;
        // A thread that has panicked sends no message, so the threads are checked too.
        while ended < running.len() && running.iter().any(|load| !load.is_finished()) {
            match messages.recv_timeout(GLANCE) {
                Ok(Message::LastSlot) => ended += 1,
                Ok(message) => pass_on(message, &senders),
                Err(_) => {}
            }
        }
        let ran = running.into_iter().map(thread::ScopedJoinHandle::join);
        ran.map(|ran| ran.unwrap_or_else(|payload| panic::resume_unwind(payload))).collect()
    })
}

/// Passes a key to all loads if the key is an action on its own. A key that begins the input of a rate or a shape is
/// dropped.
fn pass_on(message: Message, loads: &[Sender<Message>]) {
    match message {
        Message::Stop => loads.iter().for_each(|load| drop(load.send(Message::Stop))),
        Message::Key(key) if keys::action(key).is_some() => {
            for load in loads {
                drop(load.send(Message::Key(key)));
            }
        }
        Message::Ask(load, action, answer) => {
            let asked = load.and_then(|load| loads.get(load..=load)).unwrap_or(loads);
            let _ = answer.send(ask(asked, &action));
        }
        #[cfg(feature = "otlp")]
        Message::Tell(text) => Progress::of_a_job().add_line(&text),
        Message::Key(_) | Message::LastSlot => {}
    }
}

fn ask(loads: &[Sender<Message>], action: &Action) -> Result<(), Refusal> {
    let mut answers = Vec::new();
    for load in loads {
        let (sender, answer) = oneshot::channel();
        let _ = load.send(Message::Ask(None, action.clone(), sender));
        answers.push(answer);
    }
    let answers = answers.into_iter().map(|answer| answer.blocking_recv());
    let mut done: Vec<_> = answers.map(|answer| answer.unwrap_or(Err(Refusal::Over))).collect();
    done.sort_by_key(Result::is_err);
    done.into_iter().next().unwrap_or(Ok(()))
}
