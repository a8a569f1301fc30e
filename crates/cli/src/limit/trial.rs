//! A trial of requests that come when they come: from its options to its report.

use crate::limit::args::LimitArgs;
use crate::limit::candidate::{Candidate, Phasing};
use crate::limit::chosen::Chosen;
use crate::limit::error::Error;
use crate::limit::input::{Faults, Input};
use crate::limit::json;
use crate::limit::load::{Load, LoadPhases};
use crate::limit::plot;
use crate::limit::report::Report;
use crate::limit::request::{self, Request};
use crate::limit::results::{Results, Rows};
use crate::limit::times::{self, seconds};
use crate::limit::watch::Watch;
use anyhow::{Context, anyhow, ensure};
use nanopace::Nanos;
use nanopace_limits::Rejected;
use nanopace_load::console::{Output, ResultFile, chart, is_stdout, keep_apart};
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Where requests come from.
enum Source {
    Input(Input),
    Load(Load),
}

/// A trial that is ready: the files can be written, and every limiter can be made.
pub(crate) struct Trial {
    args: LimitArgs,
    chosen: Chosen,
    source: Source,
    watch: Watch,
    output: Output,
    svg: Option<ResultFile>,
}

impl Trial {
    /// Finds the files and makes each limiter once. When `interrupted` is set, the trial will end
    /// early and report what it has.
    pub(crate) fn new(args: LimitArgs, interrupted: Arc<AtomicBool>) -> anyhow::Result<Trial> {
        check_options(&args)?;
        let chosen = Chosen::by(&args)?;
        keep_apart_files(&args)?;
        let output = Output::create(args.json.as_deref())?;
        let svg = args.svg.as_deref().map(ResultFile::create).transpose()?;
        let source = source(&args, &interrupted)?;
        Ok(Trial { args, chosen, source, watch: Watch::new(interrupted), output, svg })
    }

    /// Takes all requests through the limiters, and writes the results.
    pub(crate) fn run(mut self) -> Result<(), Error> {
        let Some(first) = self.next().map_err(Error::Input)? else {
            return Err(Error::Input(self.no_requests()));
        };
        let mut results = self.empty_results(&first);
        self.decide_all(first, &mut results)?;
        self.watch.end();
        self.conclude(&mut results);
        self.publish(&results).map_err(Error::Output)
    }

    fn empty_results(&self, first: &Request) -> Results {
        let origin = match &self.source {
            Source::Load(load) => load.start(),
            Source::Input(_) => first.at,
        };
        let phasing = Phasing { origin, phase_ns: phase_ns(&self.args) };
        let Chosen { settings, kinds, dropped } = &self.chosen;
        let candidate = |&kind| Candidate::new(kind, settings.clone(), self.args.cost, phasing);
        let candidates = kinds.iter().map(candidate).collect();
        Results::new(settings.limit, self.args.cost, phasing, candidates, dropped.clone())
    }

    fn next(&mut self) -> anyhow::Result<Option<Request>> {
        match &mut self.source {
            Source::Input(input) => input.next(),
            Source::Load(_) if self.watch.is_interrupted() => Ok(None),
            Source::Load(load) => Ok(load.next()),
        }
    }

    fn no_requests(&self) -> anyhow::Error {
        let skipped = self.faults().skipped;
        let found = match &self.source {
            Source::Load(_) => {
                return anyhow!("--phases: only pauses: write a rate, such as 1,2,5,10,20");
            }
            Source::Input(_) if skipped > 0 => format!(
                "standard input has no requests, only lines that cannot be read ({skipped})"
            ),
            Source::Input(_) => "standard input has no requests".to_owned(),
        };
        anyhow!(
            "{found}: write one time per line, such as 1.5 or 1500ms, or a key and a time; \
             or generate requests with --phases"
        )
    }

    fn faults(&self) -> Faults {
        match &self.source {
            Source::Input(input) => input.faults,
            Source::Load(_) => Faults::default(),
        }
    }

    fn decide_all(&mut self, first: Request, results: &mut Results) -> Result<(), Error> {
        let mut next = Some(first);
        while let Some(request) = next {
            let answer = results.decide(&request);
            if self.args.decisions {
                self.output.write_text(&decision(&request, answer)).map_err(Error::Output)?;
            } else {
                self.watch.step(|decided| status(decided, &request, &self.source));
            }
            next = self.next().map_err(Error::Input)?;
        }
        Ok(())
    }

    /// Adds what is known only after the last request.
    fn conclude(&self, results: &mut Results) {
        results.faults = self.faults();
        results.complete = !self.watch.is_interrupted();
        (results.title, results.rows) = match &self.source {
            Source::Load(load) => (load.title(), Rows::named(&load.names())),
            Source::Input(_) => {
                let most = if self.args.phase_duration.is_some() { u64::MAX } else { Rows::FEW };
                ("from standard input".to_owned(), Rows::of(&results.candidates, most))
            }
        };
    }

    fn publish(&self, results: &Results) -> io::Result<()> {
        self.output.write_json(|| json::Object::new(results))?;
        if let Some(svg) = &self.svg {
            svg.write_text(&plot::svg(results).map_err(io::Error::other)?)?;
        }
        let width = chart::width(io::stdout().is_terminal());
        self.output.write_text(&Report { results, compare: self.args.compare, width })
    }
}

/// Refuses two outputs that are one file, and one that is read.
fn keep_apart_files(args: &LimitArgs) -> anyhow::Result<()> {
    let outputs = [("json", args.json.as_deref()), ("svg", args.svg.as_deref())];
    let input = (!is_generated(args)).then_some(("standard input", Path::new("/dev/stdin")));
    keep_apart(outputs, input)
}

/// Refuses options that would change nothing: they are mistakes.
fn check_options(args: &LimitArgs) -> anyhow::Result<()> {
    let is_svg_to_stdout = args.svg.as_deref().is_some_and(is_stdout);
    ensure!(
        args.requests.is_none(),
        "--requests is for a caller that asks again: add --retry 10ms, or generate a load with --phases"
    );
    ensure!(!args.poisson || is_generated(args), "--poisson is for a generated load: add --phases");
    ensure!(
        !is_svg_to_stdout,
        "--svg -: the plot needs a file; only --json goes to standard output"
    );
    Ok(())
}

fn is_generated(args: &LimitArgs) -> bool {
    args.phases.is_some() || io::stdin().is_terminal()
}

fn source(args: &LimitArgs, interrupted: &Arc<AtomicBool>) -> anyhow::Result<Source> {
    if !is_generated(args) {
        return Ok(Source::Input(Input::read(args.strict, Arc::clone(interrupted))?));
    }
    let phases = match args.phases.clone().flatten() {
        Some(phases) => phases,
        None => LoadPhases::around(args.limit.quota)
            .context("--phases has to be given at this limit")?,
    };
    let seed = args.poisson.then_some(args.seed);
    Ok(Source::Load(Load::new(phases, phase_ns(args), args.start(), seed)))
}

fn phase_ns(args: &LimitArgs) -> u64 {
    let duration = args.phase_duration.unwrap_or(args.limit.quota.period().saturating_mul(10));
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// How far a trial is.
fn status(decided: u64, request: &Request, source: &Source) -> String {
    let until = match source {
        Source::Load(load) => {
            let [at, length] = [request.at - load.start(), load.length()].map(times::short);
            format!("{at} of {length}")
        }
        Source::Input(_) => seconds(request.at),
    };
    format!("{decided} requests decided, until {until}; Ctrl-C ends it with a report")
}

/// The answer to a request in one line: its time, its key if it has one, and the decision.
fn decision(request: &Request, answer: Result<Nanos, Rejected>) -> String {
    let answer = match answer {
        Ok(through) if through > request.at => format!("admitted, departs at {}", seconds(through)),
        Ok(_) => "admitted".to_owned(),
        Err(Rejected::NotUntil(then)) => {
            let wait = Nanos::ZERO + (then - request.at);
            format!("rejected, retry at {} (in {})", seconds(then), seconds(wait))
        }
        Err(Rejected::ExceedsCapacity { capacity }) => {
            format!("rejected for ever: more than {capacity} at once")
        }
    };
    let key = request.key.as_ref().map(|key| format!(" {}", request::shown(key)));
    format!("{}{} {answer}\n", seconds(request.at), key.unwrap_or_default())
}
