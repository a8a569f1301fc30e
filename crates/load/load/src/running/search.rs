//! Runs `nanopace search`: finds the highest rate that meets an objective.
//!
//! Each step is a run over new connections. A step waits until all its requests have ended, so that the target usually
//! has no work left when the next step starts. Slots that were due at the end of the step but had not started are given
//! up. A step ends as soon as its objective is certain to be missed or certain to be met. If a step misses the
//! objective and none of its requests succeeds, single requests are sent until one succeeds. If the single requests
//! still fail after three seconds, the rate is not the cause, so the search ends.

mod alone;
pub(crate) mod args;

use super::args::RunArgs;
use super::files::Input;
use super::message::Message;
use super::outputs::Outputs;
use super::run::{self, INTERRUPTS};
use super::setup::{Make, Setup, boxed, check};
use crate::console::chart as console;
use crate::console::interrupt::Interrupt;
use crate::console::{Progress, ResultFile, human};
use crate::judged::search::judge::{Measured, Promise};
use crate::judged::search::method::{Bounds, Search, Step};
use crate::judged::search::results::{End, Results};
use crate::load::backend::Backend;
use crate::shown::live::Live;
use crate::shown::search::report::{SearchLine, SearchReport};
use crate::shown::search::{object, plot};
use anyhow::ensure;
use args::SearchArgs;
use std::fmt::{self, Debug, Formatter};
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant, SystemTime};

pub(crate) struct Job {
    setup: Setup,
    promise: Promise,
    bounds: Bounds,
    least: Duration,
    longest: Duration,
    svg: Option<ResultFile>,
    interrupt: Arc<Interrupt>,
    sender: Sender<Message>,
    messages: Receiver<Message>,
}

impl Job {
    pub(crate) fn new<T: Backend>(
        args: SearchArgs,
        inputs: &[Input<'_>],
        make: impl FnOnce(&RunArgs) -> anyhow::Result<T>,
    ) -> anyhow::Result<Job> {
        Job::of_any(args, inputs, boxed(make))
    }

    fn of_any(args: SearchArgs, inputs: &[Input<'_>], make: Make<'_>) -> anyhow::Result<Job> {
        args.check()?;
        let bounds = Bounds {
            from: args.from.as_hz(),
            min: args.min_hz(),
            max: args.max.map_or(HIGHEST, nanopace::Rate::as_hz),
            precision: args.precision,
            max_steps: usize::from(args.max_steps),
        };
        let promise = Promise::new(args.until.clone());
        let longest = args.longest.unwrap_or(Duration::MAX);
        let first = promise.length(bounds.from, args.step).saturating_add(args.settle);
        ensure!(
            first <= longest,
            "--for: the first step takes {}: write a longer --for, a shorter --step or a higher --from",
            human::time(first)
        );
        let (least, svg) = (args.step, args.svg.clone());
        let until = args.until.clone();
        let make: Make<'_> = Box::new(|args| {
            let target = make(args)?;
            check(&*target, &until)?;
            let stops = target.most_slots().is_some();
            ensure!(
                !stops,
                "--data-end stop: a search sends as many requests as it needs: leave --data-end out"
            );
            Ok(target)
        });
        let mut setup = Setup::of_any(args.into_run(), inputs, make)?;
        setup.objective = promise.all().cloned().collect();
        let svg = ResultFile::optional("--svg", svg.as_deref())?;
        let (sender, messages) = mpsc::channel();
        let stop = sender.clone();
        // The receiver is dropped only when the search has ended, so an error has no effect.
        let interrupt = Interrupt::on_signals(INTERRUPTS, move || drop(stop.send(Message::Stop)))?;
        Ok(Job { setup, promise, bounds, least, longest, svg, interrupt, sender, messages })
    }

    pub(crate) fn run(&mut self) -> anyhow::Result<Results> {
        let (progress, began) = (Progress::of_a_job(), Instant::now());
        let start = SystemTime::now();
        progress.add_line(&self.title());
        let mut search = Search::new(self.bounds);
        let (mut steps, mut failure): (Vec<Measured>, _) = (Vec::new(), None);
        let end = loop {
            let Some(step) = search.next() else { break End::of(&search) };
            let length = self.promise.length(step.hz, self.least);
            let whole = length.saturating_add(self.setup.args.warmup);
            if began.elapsed().saturating_add(whole) > self.longest {
                break End::Time;
            }
            let Some(measured) = self.perform(step, length)? else { break End::Interrupted };
            let line = SearchLine { number: steps.len() + 1, step: &measured }.to_string();
            progress.add_line(line.trim_end());
            if measured.has_no_success() {
                let Setup { args, target, .. } = &self.setup;
                failure = alone::failure(target, args.timeout, || !self.interrupt.is_triggered())?;
            }
            let outcome = measured.outcome;
            steps.push(measured);
            if failure.is_some() {
                break End::TargetFailing;
            }
            search.result(step, outcome);
        };
        let quota = steps.iter().rev().find_map(|step| step.quota.clone());
        Ok(Results {
            url: self.setup.target.name(),
            connections: self.setup.args.connections.most,
            start,
            took: began.elapsed(),
            warnings: self.setup.target.warnings().into_iter().chain(quota).collect(),
            conclusion: search.conclusion(),
            contradictions: search.contradictions(),
            precision: self.bounds.precision,
            steps,
            end,
            failure,
        })
    }

    fn perform(&mut self, step: Step, length: Duration) -> anyhow::Result<Option<Measured>> {
        // The previous step has ended, so its messages are dropped.
        while self.messages.try_recv().is_ok() {}
        // An interrupt sets its flag before it sends a message, so no interrupt is lost with the dropped messages.
        if self.interrupt.is_triggered() {
            return Ok(None);
        }
        self.setup.change(step.hz, length)?;
        let progress = Progress::of_a_part();
        let (sender, messages) = (&self.sender, &self.messages);
        let outputs = Outputs::only(Live::Lines(progress));
        let run::Ran { summary, .. } = run::perform(&self.setup, None, outputs, sender, messages)?;
        if self.interrupt.is_triggered() {
            return Ok(None);
        }
        let connections = self.setup.args.connections.most;
        Ok(Some(self.promise.judge(step, &summary, connections)))
    }

    fn title(&self) -> String {
        let Setup { args, target, .. } = &self.setup;
        let (name, remark) = (target.name(), target.remark());
        let least = human::time(self.least);
        format!(
            "{name}{remark}: {} on {}, {} arrivals, steps of at least {least}; objective: {}",
            human::count(args.connections, "connection"),
            human::count(self.setup.connections().len(), "thread"),
            args.schedule.arrivals,
            self.promise.text(),
        )
    }

    pub(crate) fn publish(&self, results: &Results) -> [io::Result<()>; 3] {
        let promise = &self.promise;
        let json = self.setup.files.output.write_json(|| object::Object::new(results, promise));
        let drawn = self.svg.as_ref().map_or(Ok(()), |svg| {
            let picture = plot::svg(results, promise).map_err(io::Error::other)?;
            svg.write_text(&picture)
        });
        let width = console::width(io::stdout().is_terminal());
        [json, drawn, self.setup.files.output.write_text(&SearchReport { results, promise, width })]
    }
}

impl Debug for Job {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("setup", &self.setup).finish_non_exhaustive()
    }
}

const HIGHEST: f64 = 1e10;
