//! The set-up of a run. Everything that can be wrong is found here, before any load.

use super::args::RunArgs;
use super::load::client::{Client, http_url};
use super::load::span::RunLength;
use super::recording::hdr_log::HdrLog;
use super::recording::operation::Failure;
use crate::target::Target;
use anyhow::{Context, bail};
use core_affinity::CoreId;
use nanopace::Pacer;
use nanopace_console::Output;
use std::time::Duration;
use ureq::http::Uri;

const DEFAULT_DURATION: Duration = Duration::from_secs(10);

/// What a run needs.
#[derive(Debug)]
pub(crate) struct Setup {
    /// The options as given.
    pub(crate) args: RunArgs,
    /// Where requests go.
    pub(crate) url: Uri,
    /// The embedded target, if that is where they go.
    pub(crate) target: Option<Target>,
    /// Cores to pin workers to; empty if they are not pinned.
    cores: Vec<CoreId>,
    /// Where the results go.
    pub(crate) output: Output,
    /// The open file for the interval log.
    pub(crate) hdr: Option<HdrLog>,
}

impl Setup {
    /// Opens the files, starts the embedded target, and sends one request to see whether it is
    /// answered.
    pub(crate) fn new(args: RunArgs) -> anyhow::Result<Setup> {
        let output = Output::create(args.json.as_deref())?;
        let hdr = args.hdr.as_deref().map(HdrLog::create).transpose()?;
        let cores = if args.pin { cores()? } else { Vec::new() };
        let (target, url) = endpoint(&args)?;
        probe(&url, args.timeout)?;
        Ok(Setup { args, url, target, cores, output, hdr })
    }

    /// A pacer as asked for, paused until the schedule starts.
    pub(crate) fn pacer(&self) -> Pacer {
        let args = &self.args;
        let mut builder =
            Pacer::builder(args.rate).strictness(args.strictness).pause(args.pause).start_paused();
        if let Some(limit) = args.max_backlog {
            builder = builder.max_backlog(limit);
        }
        if let Some(limit) = args.skip_later_than {
            builder = builder.skip_later_than(limit);
        }
        builder.build()
    }

    /// The core that the worker is pinned to, if any.
    pub(crate) fn core(&self, worker: usize) -> Option<CoreId> {
        self.cores.iter().cycle().nth(worker).copied()
    }

    /// The length of the run. What is not limited has the largest number there is.
    pub(crate) fn length(&self) -> RunLength {
        let args = &self.args;
        let default = if args.requests.is_some() { Duration::MAX } else { DEFAULT_DURATION };
        RunLength {
            warmup: args.warmup,
            duration: args.duration.unwrap_or(default),
            slots: args.requests.unwrap_or(u64::MAX),
        }
    }

    /// The run in one line.
    pub(crate) fn title(&self) -> String {
        let args = &self.args;
        let target = if self.target.is_some() { " (embedded target)" } else { "" };
        format!(
            "{}{target}: {}, {} workers, strictness {}, pause {}",
            self.url, args.rate, args.workers, args.strictness, args.pause
        )
    }
}

/// The server asked for, or an embedded target that has been started.
fn endpoint(args: &RunArgs) -> anyhow::Result<(Option<Target>, Uri)> {
    if let Some(url) = &args.url {
        return Ok((None, http_url(url)?));
    }
    let target =
        Target::start(&args.target.behaviour()).context("cannot start the embedded target")?;
    let url = http_url(&target.url())?;
    Ok((Some(target), url))
}

fn cores() -> anyhow::Result<Vec<CoreId>> {
    match core_affinity::get_core_ids() {
        Some(cores) if !cores.is_empty() => Ok(cores),
        _ => bail!("--pin: this system does not list its cores"),
    }
}

/// Sends one request. An answer with an error status is fine: the server works, and the run will
/// count such failures.
fn probe(url: &Uri, timeout: Duration) -> anyhow::Result<()> {
    match Client::new(url, timeout).get() {
        Ok(()) | Err(Failure::Status(_)) => Ok(()),
        Err(failure) => bail!("no answer from {url}: {failure}"),
    }
}
