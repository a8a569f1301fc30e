//! A trial of one caller that asks again and again: from its options to its report.

mod caller;
mod object;
mod report;

use crate::limit::args::LimitArgs;
use crate::limit::chosen::Chosen;
use crate::limit::error::Error;
use crate::limit::watch::Watch;
use anyhow::ensure;
use caller::{Caller, Outcome};
use nanopace_load::console::Output;
use object::Object;
use report::Report;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A trial that is ready: the file can be written, and every limiter can be made.
pub(crate) struct Retries {
    caller: Caller,
    chosen: Chosen,
    watch: Watch,
    output: Output,
}

impl Retries {
    /// Finds the file and makes each limiter once. When `interrupted` is set, the trial will end
    /// early and report what it has.
    pub(crate) fn new(
        args: &LimitArgs,
        retry: Duration,
        interrupted: Arc<AtomicBool>,
    ) -> anyhow::Result<Retries> {
        check_options(args)?;
        let chosen = Chosen::by(args)?;
        let caller = Caller {
            start: args.start(),
            requests: args.requests.unwrap_or_else(|| usual_requests(args)),
            cost: args.cost,
            retry_ns: u64::try_from(retry.as_nanos()).unwrap_or(u64::MAX),
        };
        let output = Output::create(args.json.as_deref())?;
        Ok(Retries { caller, chosen, watch: Watch::new(interrupted), output })
    }

    /// Lets the caller ask each limiter, and writes the results.
    pub(crate) fn run(mut self) -> Result<(), Error> {
        let outcomes = self.outcomes();
        self.watch.end();
        self.publish(&outcomes.map_err(Error::Input)?).map_err(Error::Output)
    }

    fn outcomes(&mut self) -> anyhow::Result<Vec<Outcome>> {
        let Retries { caller, chosen, watch, .. } = self;
        chosen.kinds.iter().map(|&kind| caller.ask(kind, &chosen.settings, watch)).collect()
    }

    fn publish(&self, outcomes: &[Outcome]) -> io::Result<()> {
        let Retries { caller, chosen, .. } = self;
        self.output.write_json(|| Object::new(caller, chosen, outcomes))?;
        self.output.write_text(&Report { caller, chosen, outcomes })
    }
}

/// Refuses options that would change nothing: they are mistakes.
fn check_options(args: &LimitArgs) -> anyhow::Result<()> {
    let makes = "with --retry the caller asks as soon as it may";
    let sums = "--retry shows what all answers add up to";
    for (given, name, reason, instead) in [
        (args.phases.is_some(), "--phases", makes, "say how often with --requests 100"),
        (args.poisson, "--poisson", makes, "leave it out"),
        (args.phase_duration.is_some(), "--phase-duration", sums, "leave it out"),
        (args.decisions, "--decisions", sums, "leave out one of the two"),
        (args.svg.is_some(), "--svg", sums, "write --json, or --phases instead of --retry"),
        (args.strict, "--strict", "with --retry nothing is read", "leave it out"),
    ] {
        ensure!(!given, "{name}: {reason}: {instead}");
    }
    Ok(())
}

/// As many requests as are let in during ten periods, and at least one.
fn usual_requests(args: &LimitArgs) -> u64 {
    args.limit.quota.count().saturating_mul(10).div_ceil(args.cost)
}
