//! A trial from its options to its report.

use crate::args::LimitArgs;
use crate::candidate::{Candidate, Phasing};
use crate::input::{Faults, Input};
use crate::json;
use crate::kind::Kind;
use crate::limiter::Settings;
use crate::load::{Load, LoadPhases};
use crate::plot;
use crate::report::Report;
use crate::request::{self, Request};
use crate::results::{Dropped, Results, Rows};
use crate::times::seconds;
use anyhow::{Context, anyhow, bail, ensure};
use clap::ValueEnum;
use nanopace::Nanos;
use nanopace_console::{Output, chart, create_file};
use nanopace_limits::Rejected;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Why there is no report.
#[derive(Debug)]
pub enum Error {
    /// What was asked for cannot be done, or the requests cannot be read.
    Input(anyhow::Error),
    /// Nothing more could be written.
    Output(io::Error),
}

/// Where requests come from.
enum Source {
    Input(Input),
    Load(Load),
}

/// A trial that is ready: the files are open, and every limiter can be made.
struct Trial {
    args: LimitArgs,
    settings: Settings,
    kinds: Vec<Kind>,
    /// The limiters that cannot keep this limit, and why.
    dropped: Vec<Dropped>,
    source: Source,
    interrupted: Arc<AtomicBool>,
    output: Output,
    svg: Option<File>,
}

/// Tries the limiters and writes the report. When `interrupted` is set, the trial ends early and
/// reports what it has.
///
/// # Errors
///
/// If the options or the requests are wrong, or the results cannot be written.
pub fn run(args: LimitArgs, interrupted: Arc<AtomicBool>) -> Result<(), Error> {
    Trial::new(args, interrupted).map_err(Error::Input)?.run()
}

impl Trial {
    /// Opens the files and makes each limiter once.
    fn new(args: LimitArgs, interrupted: Arc<AtomicBool>) -> anyhow::Result<Trial> {
        let settings = args.settings();
        let kinds = kinds(&args)?;
        check_options(&args, &kinds)?;
        let to_stdout = args.svg.as_deref() == Some(Path::new("-"));
        ensure!(!to_stdout, "--svg -: the plot needs a file; only --json goes to standard output");
        let (kinds, dropped) = try_out(&settings, &kinds)?;
        let output = Output::create(args.json.as_deref())?;
        let svg = args.svg.as_deref().map(create_file).transpose()?;
        let source = source(&args, &interrupted)?;
        Ok(Trial { args, settings, kinds, dropped, source, interrupted, output, svg })
    }

    /// Takes all requests through the limiters, and writes the results.
    fn run(mut self) -> Result<(), Error> {
        let Some(first) = self.next().map_err(Error::Input)? else {
            return Err(Error::Input(self.no_requests()));
        };
        let mut results = self.empty_results(&first);
        self.decide_all(first, &mut results)?;
        self.conclude(&mut results);
        self.publish(&results).map_err(Error::Output)
    }

    fn empty_results(&self, first: &Request) -> Results {
        let origin = match &self.source {
            Source::Load(load) => load.start(),
            Source::Input(_) => first.at,
        };
        let phasing = Phasing { origin, phase_ns: phase_ns(&self.args) };
        let candidate = |&kind| Candidate::new(kind, self.settings, self.args.cost, phasing);
        let candidates = self.kinds.iter().map(candidate).collect();
        let dropped = self.dropped.clone();
        Results::new(self.settings.limit, self.args.cost, phasing, candidates, dropped)
    }

    fn next(&mut self) -> anyhow::Result<Option<Request>> {
        match &mut self.source {
            Source::Input(input) => input.next(),
            Source::Load(_) if is_set(&self.interrupted) => Ok(None),
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
            }
            next = self.next().map_err(Error::Input)?;
        }
        Ok(())
    }

    /// Adds what is known only after the last request.
    fn conclude(&self, results: &mut Results) {
        results.faults = self.faults();
        results.complete = !is_set(&self.interrupted);
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
        if let Some(mut svg) = self.svg.as_ref() {
            svg.write_all(plot::svg(results).map_err(io::Error::other)?.as_bytes())?;
        }
        let width = chart::width(io::stdout().is_terminal());
        self.output.write_text(&Report { results, compare: self.args.compare, width })
    }
}

/// The limiters that are asked for.
fn kinds(args: &LimitArgs) -> anyhow::Result<Vec<Kind>> {
    match args.limiter[..] {
        [] if args.compare => Ok(Kind::value_variants().to_vec()),
        [] => Ok(vec![Kind::Cooldown]),
        [_, _, ..] if !args.compare => {
            bail!("--limiter: only one limiter decides; to see several side by side, add --compare")
        }
        _ => Ok(args.limiter.clone()),
    }
}

/// Refuses options that would change nothing: they are mistakes.
fn check_options(args: &LimitArgs, kinds: &[Kind]) -> anyhow::Result<()> {
    let check = |given: bool, name: &str, is_for: fn(Kind) -> bool| {
        let users = Kind::value_variants().iter().filter(|&&kind| is_for(kind));
        let users = users.map(Kind::to_string).collect::<Vec<_>>().join(", ");
        ensure!(
            !given || kinds.iter().any(|&kind| is_for(kind)),
            "{name} is only for {users}: leave it out"
        );
        Ok(())
    };
    check(args.capacity.is_some(), "--capacity", Kind::has_capacity)?;
    check(args.slots.is_some(), "--slots", Kind::has_slots)?;
    check(args.backfill.is_some(), "--backfill", |kind| kind == Kind::Pool)?;
    check(args.refill_every.is_some(), "--refill-every", |kind| kind == Kind::Pool)?;
    ensure!(!args.poisson || is_generated(args), "--poisson is for a generated load: add --phases");
    Ok(())
}

/// Separates the limiters that can keep the limit from those that can't.
fn try_out(settings: &Settings, kinds: &[Kind]) -> anyhow::Result<(Vec<Kind>, Vec<Dropped>)> {
    let (mut able, mut dropped) = (Vec::new(), Vec::new());
    for &kind in kinds {
        match settings.limiter(kind, Nanos::ZERO) {
            Ok(_) => able.push(kind),
            Err(error) if kinds.len() == 1 => {
                return Err(error.context(format!("--limiter {kind}")));
            }
            Err(error) => dropped.push(Dropped { kind, reason: error.to_string() }),
        }
    }
    ensure!(!able.is_empty(), "no limiter is left: {}", dropped[0].reason);
    Ok((able, dropped))
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
        None => LoadPhases::around(args.limit).context("--phases has to be given at this limit")?,
    };
    // The load starts half a period after the clock's origin. So it shows what it means when
    // requests are counted from one boundary of a window to the next.
    let start = Nanos::ZERO + args.limit.period() / 2;
    let seed = args.poisson.then_some(args.seed);
    Ok(Source::Load(Load::new(phases, phase_ns(args), start, seed)))
}

fn phase_ns(args: &LimitArgs) -> u64 {
    let duration = args.phase_duration.unwrap_or(args.limit.period().saturating_mul(10));
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn is_set(interrupted: &AtomicBool) -> bool {
    // Relaxed: nothing is published through the flag. No model: it is one word, set once.
    interrupted.load(Ordering::Relaxed)
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
    let key = if request.key.is_empty() {
        String::new()
    } else {
        format!(" {}", request::shown(&request.key))
    };
    format!("{}{key} {answer}\n", seconds(request.at))
}
