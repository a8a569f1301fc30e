//! `nanopace limit`: what limiters make of a sequence of requests, in virtual time.
//!
//! Requests come from standard input ([`lines`]) or are generated ([`load`]). Each limiter that is
//! tried has a
//! [`lane::Lane`]: it decides request after request ([`gate`]) and adds up what comes of it, in memory that does not grow
//! with the number of requests. The [`results::Results`] are shown as a [`report`], an [`object`]
//! and a [`plot`].

mod chart;
mod counts;
mod gate;
mod kind;
mod lane;
pub(crate) mod line;
mod lines;
mod load;
mod object;
mod plot;
mod report;
mod results;

pub(crate) use kind::Kind;
pub(crate) use load::LoadPhases;

use crate::args::LimitArgs;
use crate::control::Interrupt;
use crate::json::JsonFile;
use anyhow::{Context, bail, ensure};
use clap::ValueEnum;
use gate::Settings;
use lane::{Lane, Phasing};
use line::Arrival;
use lines::{Faults, Lines, seconds};
use load::Load;
use nanopace::Nanos;
use nanopace_limits::Rejected;
use report::Report;
use results::{Dropped, Results, Rows};
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::{Arc, mpsc};

/// Why there is no report.
#[derive(Debug)]
pub(crate) enum Stopped {
    /// The requests were not what they have to be.
    Input(anyhow::Error),
    /// Nothing more could be written.
    Output(io::Error),
}

/// Where requests come from.
enum Source {
    Lines(Lines),
    Load(Load),
}

/// Limiters and requests, made ready: the files are open, and every limiter can be made.
pub(crate) struct Trial {
    args: LimitArgs,
    settings: Settings,
    kinds: Vec<Kind>,
    /// Those that cannot keep this limit, and why.
    dropped: Vec<Dropped>,
    source: Source,
    interrupt: Arc<Interrupt>,
    json: Option<JsonFile>,
    svg: Option<File>,
}

impl Trial {
    /// Opens the files, makes each limiter once and listens to signals.
    pub(crate) fn new(args: LimitArgs) -> anyhow::Result<Trial> {
        let settings = Settings::new(&args);
        let kinds = kinds(&args)?;
        check_options(&args, &kinds)?;
        let (kinds, dropped) = try_out(&settings, &kinds)?;
        let json = args.json.as_deref().map(JsonFile::create).transpose()?;
        let svg = args.svg.as_deref().map(create).transpose()?;
        // Nobody listens to the commands: the interrupt is looked at for each request.
        let interrupt = Interrupt::on_signals(mpsc::channel().0)?;
        let source = source(&args, &interrupt)?;
        Ok(Trial { args, settings, kinds, dropped, source, interrupt, json, svg })
    }

    /// Takes all requests through the limiters, and publishes what came of it.
    pub(crate) fn run(mut self) -> Result<(), Stopped> {
        let Some(first) = self.next().map_err(Stopped::Input)? else {
            return Err(Stopped::Input(self.no_requests()));
        };
        let origin = match &self.source {
            Source::Load(load) => load.start(),
            Source::Lines(_) => first.at,
        };
        let phasing = Phasing { origin, phase_ns: phase_ns(&self.args) };
        let lane = |&kind| Lane::new(kind, self.settings, self.args.cost, phasing);
        let lanes = self.kinds.iter().map(lane).collect();
        let mut results =
            Results::new(self.settings.limit, self.args.cost, phasing, lanes, self.dropped.clone());
        self.decide_all(first, &mut results)?;
        self.conclude(&mut results);
        self.publish(&results).map_err(Stopped::Output)
    }

    fn next(&mut self) -> anyhow::Result<Option<Arrival>> {
        match &mut self.source {
            Source::Lines(lines) => lines.next(),
            Source::Load(load) => Ok(load.next().filter(|_| !self.interrupt.is_set_off())),
        }
    }

    fn no_requests(&self) -> anyhow::Error {
        let skipped = self.faults().skipped;
        let found = match &self.source {
            Source::Load(_) => {
                return anyhow::anyhow!("--phases: only pauses: write a rate, such as 1,2,5,10,20");
            }
            Source::Lines(_) if skipped > 0 => {
                format!(
                    "standard input has no requests, only lines that cannot be read ({skipped})"
                )
            }
            Source::Lines(_) => "standard input has no requests".to_owned(),
        };
        anyhow::anyhow!(
            "{found}: write one time per line, such as 1.5 or 1500ms, or a key and a time; or generate requests by --phases"
        )
    }

    fn faults(&self) -> Faults {
        match &self.source {
            Source::Lines(lines) => lines.faults,
            Source::Load(_) => Faults::default(),
        }
    }

    fn decide_all(&mut self, first: Arrival, results: &mut Results) -> Result<(), Stopped> {
        let mut next = Some(first);
        while let Some(arrival) = next {
            let answer = results.decide(&arrival);
            if self.args.decisions {
                self.tell(&decision(&arrival, answer)).map_err(Stopped::Output)?;
            }
            next = self.next().map_err(Stopped::Input)?;
        }
        Ok(())
    }

    /// What is known when there are no more requests.
    fn conclude(&self, results: &mut Results) {
        results.faults = self.faults();
        results.complete = !self.interrupt.is_set_off();
        (results.title, results.rows) = match &self.source {
            Source::Load(load) => (load.title(), Rows::named(&load.names())),
            Source::Lines(_) => {
                let most = if self.args.phase_duration.is_some() { u64::MAX } else { Rows::FEW };
                ("from standard input".to_owned(), Rows::of(&results.lanes, most))
            }
        };
    }

    /// Text goes to standard output, unless that belongs to the JSON object.
    fn tell(&self, text: &str) -> io::Result<()> {
        match self.json {
            Some(JsonFile::Stdout) => io::stderr().write_all(text.as_bytes()),
            _ => io::stdout().write_all(text.as_bytes()),
        }
    }

    fn publish(&self, results: &Results) -> io::Result<()> {
        if let Some(json) = &self.json {
            json.write(&object::Object::new(results))?;
        }
        if let Some(mut svg) = self.svg.as_ref() {
            svg.write_all(plot::svg(results).map_err(io::Error::other)?.as_bytes())?;
        }
        let report = Report { results, compare: self.args.compare, width: chart::terminal_width() };
        self.tell(&report.to_string())
    }
}

/// The limiters that are asked for.
fn kinds(args: &LimitArgs) -> anyhow::Result<Vec<Kind>> {
    match args.limiter[..] {
        [] if args.compare => Ok(Kind::value_variants().to_vec()),
        [] => Ok(vec![Kind::Cooldown]),
        [_, _, ..] if !args.compare => {
            bail!("--limiter: one decides; to see several side by side, add --compare")
        }
        _ => Ok(args.limiter.clone()),
    }
}

/// An option that would change nothing is a mistake.
fn check_options(args: &LimitArgs, kinds: &[Kind]) -> anyhow::Result<()> {
    let check = |given: bool, name: &str, means: fn(Kind) -> bool| {
        let users = Kind::value_variants().iter().filter(|&&kind| means(kind)).map(Kind::to_string);
        let users = users.collect::<Vec<_>>().join(", ");
        ensure!(
            !given || kinds.iter().any(|&kind| means(kind)),
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

/// Tells the limiters that can keep the limit from those that can't.
fn try_out(settings: &Settings, kinds: &[Kind]) -> anyhow::Result<(Vec<Kind>, Vec<Dropped>)> {
    let (mut able, mut dropped) = (Vec::new(), Vec::new());
    for &kind in kinds {
        match settings.gate(kind, Nanos::ZERO) {
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

fn source(args: &LimitArgs, interrupt: &Arc<Interrupt>) -> anyhow::Result<Source> {
    if !is_generated(args) {
        return Ok(Source::Lines(Lines::read(args.strict, Arc::clone(interrupt))?));
    }
    let phases = match args.phases.clone().flatten() {
        Some(phases) => phases,
        None => LoadPhases::around(args.limit).context("--phases has to be given at this limit")?,
    };
    // Half a period after the clock's origin, so that what is counted from boundary to boundary
    // shows what that means.
    let start = Nanos::ZERO + args.limit.period() / 2;
    let seed = args.poisson.then_some(args.seed);
    Ok(Source::Load(Load::new(phases, phase_ns(args), start, seed)))
}

fn phase_ns(args: &LimitArgs) -> u64 {
    let duration = args.phase_duration.unwrap_or(args.limit.period().saturating_mul(10));
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The answer to a request in a line: its time, its key if it has one, and the decision.
fn decision(arrival: &Arrival, answer: Result<Nanos, Rejected>) -> String {
    let answer = match answer {
        Ok(through) if through > arrival.at => format!("admitted, departs at {}", seconds(through)),
        Ok(_) => "admitted".to_owned(),
        Err(Rejected::NotUntil(then)) => {
            let wait = Nanos::ZERO + (then - arrival.at);
            format!("rejected, retry at {} (in {})", seconds(then), seconds(wait))
        }
        Err(Rejected::ExceedsCapacity { capacity }) => {
            format!("rejected for ever: more than {capacity} at once")
        }
    };
    let key = if arrival.key.is_empty() {
        String::new()
    } else {
        format!(" {}", line::shown(&arrival.key))
    };
    format!("{}{key} {answer}\n", seconds(arrival.at))
}

fn create(path: &Path) -> anyhow::Result<File> {
    File::create(path).with_context(|| format!("cannot write {}", path.display()))
}
