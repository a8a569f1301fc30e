//! The set-up of a run. Everything that can be wrong is found here, before any load.

use super::args::RunArgs;
use super::client::failure::{Failure, Tls};
use super::client::plan::{self, Draft, Plan};
use super::client::session::Session;
use super::client::tls::Trust;
use super::client::{proxy, targets};
use super::control::Door;
use super::controller::Policy;
use super::files;
use super::headline::Headline;
use super::invitation::Invitation;
use super::load::span::RunLength;
use super::load::threads;
use super::member::Member;
#[cfg(feature = "otlp")]
use super::push::collector::Collector;
use super::recording::csv_log::CsvLog;
use super::recording::hdr_log::HdrLog;
use super::recording::logs::Logs;
use crate::console::{Output, Progress, ResultFile, is_stdout};
use crate::target::Target;
use anyhow::{Context, bail, ensure};
use core_affinity::CoreId;
use nanopace::{Pacer, Rate, Strictness};
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

const DEFAULT_DURATION: Duration = Duration::from_secs(10);

/// What a run needs.
#[derive(Debug)]
pub(crate) struct Setup {
    /// The options as given.
    pub(crate) args: RunArgs,
    /// Where requests go; the first one, if there are several.
    pub(crate) url: String,
    /// The first intended start, from the load's start.
    pub(crate) first: Duration,
    /// The end of the load, from its start; the longest time if there is none, or if its last request
    /// ends it.
    end: Duration,
    /// What is sent.
    pub(crate) plan: Arc<Plan>,
    /// The embedded target, if that is where requests go.
    pub(crate) target: Option<Target>,
    /// With more failures than this a run ends early.
    most_failures: f64,
    /// Cores to pin threads to; empty if they are not pinned.
    pub(crate) cores: Vec<CoreId>,
    /// The fleet that this process takes part in.
    pub(crate) invitation: Option<Invitation>,
    /// Where programs may look at the run and steer it.
    pub(crate) door: Option<Door>,
    /// Where metrics are sent.
    #[cfg(feature = "otlp")]
    pub(crate) collector: Option<Arc<Collector>>,
    /// Where the results go.
    pub(crate) output: Output,
    /// Where the page goes.
    pub(crate) html: Option<ResultFile>,
    /// The logs, ready to begin.
    pub(crate) logs: Logs,
}

impl Setup {
    /// Starts the embedded target, sends one request to see whether it is answered, and opens the
    /// files. What is in them stays.
    pub(crate) fn new(args: RunArgs) -> anyhow::Result<Setup> {
        files::check(&args)?;
        let invitation = Invitation::new(&args, DEFAULT_DURATION)?;
        let first = args.schedule.starts()?.next().context("this load has no requests")?;
        let end = args.schedule.end()?.unwrap_or(Duration::MAX);
        ensure!(args.warmup < end, "--warmup: the load is over before anything is recorded");
        // How long it takes to start the last request of a recording is not known yet.
        let end = if args.schedule.is_replay() { Duration::MAX } else { end };
        let cores = if args.pin { cores()? } else { Vec::new() };
        let door = Door::open(&args.control)?;
        #[cfg(feature = "otlp")]
        let collector = args.push.collector()?.map(Arc::new);
        let (target, draft) = what(&args)?;
        let url = draft.url.clone();
        let plan = Arc::new(draft.complete(trust(&args, target.as_ref()))?);
        if let Some(told) = proxy::unused(&plan.endpoints) {
            Progress::of_a_job().add_line(&told);
        }
        allow_open_files(args.client.connections)?;
        let by = args.client.unix_socket.as_ref();
        let by = by.map_or_else(String::new, |path| format!(" by {}", path.display()));
        probe(&plan).with_context(|| format!("no answer from {url}{by}"))?;
        // Only now: a run that can't be made leaves the results of the last one alone.
        let csv_on_stdout = args.csv.as_deref().is_some_and(is_stdout);
        let output = Output::create(args.json.as_deref())?.beside(csv_on_stdout);
        let html = args.html.as_deref().map(ResultFile::create).transpose()?;
        let csv = args.csv.as_deref().map(CsvLog::create).transpose()?;
        let hdr = args.hdr.as_deref().map(HdrLog::create).transpose()?;
        let logs = Logs::new(hdr, csv, args.warmup);
        Ok(Setup {
            args,
            url,
            first,
            end,
            plan,
            target,
            most_failures: f64::INFINITY,
            cores,
            invitation,
            door,
            #[cfg(feature = "otlp")]
            collector,
            output,
            html,
            logs,
        })
    }

    /// From now on it is set up for a constant rate of `hz`, for so long or until more than so many
    /// requests have failed, with other random arrivals than before.
    pub(crate) fn change(
        &mut self,
        hz: f64,
        duration: Duration,
        most_failures: f64,
    ) -> anyhow::Result<()> {
        self.most_failures = most_failures;
        self.args.schedule.rate = Some(Rate::from_hz(hz)?);
        self.args.schedule.seed = self.args.schedule.seed.wrapping_add(1);
        self.args.duration = Some(duration);
        // Random arrivals may begin later at a lower rate.
        self.first = self.args.schedule.starts()?.next().context("this load has no requests")?;
        Ok(())
    }

    /// How many connections each thread has.
    pub(crate) fn connections(&self) -> Vec<usize> {
        let connections = self.args.client.connections as usize;
        let cores = available_parallelism().map_or(1, usize::from);
        let threads = self.args.threads.map_or(cores, usize::from);
        threads::spread(connections, threads.min(connections))
    }

    /// A pacer as asked for, paused until the schedule starts; in a fleet, the node's.
    pub(crate) fn pacer(&self, member: Option<&Member>) -> anyhow::Result<Pacer> {
        if let Some(member) = member {
            return Ok(member.pacer());
        }
        let args = &self.args;
        let mut builder = args.schedule.pacer()?.strictness(args.strictness).start_paused();
        if let Some(limit) = args.max_backlog {
            builder = builder.max_backlog(limit);
        }
        if let Some(limit) = args.skip_later_than {
            builder = builder.skip_later_than(limit);
        }
        Ok(builder.build())
    }

    /// Whether slots that are late may be given up, and others take their places.
    pub(crate) fn gives_up(&self) -> bool {
        let args = &self.args;
        args.skip_later_than.is_some()
            || args.max_backlog.is_some()
            || args.strictness == Strictness::STRICT
    }

    /// What may happen to slots that are late.
    pub(crate) fn policy(&self) -> Policy {
        let args = &self.args;
        let keeps_slots = args.strictness == Strictness::AVERAGE
            && args.max_backlog.is_none()
            && args.requests.is_none()
            && self.invitation.is_none()
            && !args.schedule.is_replay();
        Policy {
            skip_later_than: args.skip_later_than,
            keeps_slots,
            most_failures: self.most_failures,
        }
    }

    /// The length of the run. It ends with the load, at the latest.
    pub(crate) fn length(&self) -> anyhow::Result<RunLength> {
        let args = &self.args;
        let is_limited = args.requests.is_some() || args.schedule.has_length();
        let default = if is_limited { Duration::MAX } else { DEFAULT_DURATION };
        Ok(RunLength {
            warmup: args.warmup,
            duration: args.duration.unwrap_or(default).min(self.end.saturating_sub(args.warmup)),
            slots: args.requests,
            is_even: args.schedule.arrivals.is_even(),
            is_steady: args.schedule.is_steady(),
            constant_hz: args.schedule.constant_hz()?,
            ends_with_load: args.schedule.is_replay(),
            longest: args.duration.unwrap_or(Duration::MAX),
        })
    }

    /// Where requests go, the load, and by what.
    pub(crate) fn title(&self, member: Option<&Member>) -> Headline {
        let args = &self.args;
        let target = if self.target.is_some() { " (embedded target)" } else { "" };
        Headline {
            url: format!("{}{target}", self.url),
            load: member.map_or_else(|| args.schedule.title(), Member::load),
            by: format!(
                "{} connections on {} threads, {}",
                args.client.connections,
                self.connections().len(),
                member.map_or_else(|| format!("strictness {}", args.strictness), Member::title)
            ),
        }
    }
}

/// The requests that were asked for; or one for an embedded target, which has been started.
fn what(args: &RunArgs) -> anyhow::Result<(Option<Target>, Draft<'_>)> {
    let mut draft = Draft::new(&args.client);
    if let Some(path) = &args.targets {
        let add = |target| draft.add(&target).map_err(|error| format!("{error:#}"));
        files::spare_bodies(args, &targets::read(path, add)?)?;
        return Ok((None, draft));
    }
    if let Some(url) = &args.url {
        draft.add(&plan::target_of(url, &args.client)?)?;
        return Ok((None, draft));
    }
    let target =
        Target::start(&args.target.behaviour()).context("cannot start the embedded target")?;
    draft.add(&plan::target_of(&target.url(), &args.client)?)?;
    Ok((Some(target), draft))
}

fn trust<'a>(args: &'a RunArgs, target: Option<&'a Target>) -> Trust<'a> {
    match (&args.client.cacert, target.and_then(Target::certificate_pem)) {
        _ if args.client.insecure => Trust::Anyone,
        (Some(path), _) => Trust::File(path),
        (None, Some(certificate)) => Trust::Only(certificate),
        (None, None) => Trust::System,
    }
}

fn cores() -> anyhow::Result<Vec<CoreId>> {
    match core_affinity::get_core_ids() {
        Some(cores) if !cores.is_empty() => Ok(cores),
        _ => bail!("--pin: this system does not list its cores"),
    }
}

/// Sends one request, which no figure includes. An answer with an error status is fine: the server
/// works, and the run will count such failures.
fn probe(plan: &Arc<Plan>) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(send_alone(plan))?;
    plan.begin();
    match outcome {
        Ok(()) | Err(Failure::Status(_)) => Ok(()),
        Err(failure) => bail!("{failure}{}", advice(failure)),
    }
}

/// What becomes of one request alone, over a new connection. No figure includes it.
pub(crate) async fn send_alone(plan: &Arc<Plan>) -> anyhow::Result<Result<(), Failure>> {
    // Its rate does not matter: it is the clock.
    let clock = Pacer::new(Rate::per_second(1)?);
    Ok(Session::new(plan, &clock, 0).send(clock.now()).await.outcome())
}

fn advice(failure: Failure) -> &'static str {
    match failure {
        Failure::Tls(Tls::Untrusted) => "; trust it by --cacert FILE, or any by --insecure",
        Failure::Tls(Tls::OtherName) => "; write the URL with a name that it has, and --resolve",
        Failure::Tls(Tls::Expired) => "; trust any by --insecure",
        Failure::Tls(Tls::NoHttp2) => "; leave --http2 out",
        Failure::Tls(Tls::NotAgreed) => "; does it speak TLS? Else write http://",
        Failure::Protocol => "; does it speak this version of HTTP?",
        _ => "",
    }
}

/// Raises the limit of open files, if it is too low for so many connections.
#[cfg(unix)]
fn allow_open_files(connections: u32) -> anyhow::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    // The embedded target has the other end of each connection, and files and timers are open too.
    let wanted = u64::from(connections) * 2 + 200;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= wanted) {
        return Ok(());
    }
    let current = Some(limit.maximum.map_or(wanted, |maximum| maximum.min(wanted)));
    setrlimit(Resource::Nofile, Rlimit { current, ..limit })?;
    match limit.maximum {
        Some(maximum) if maximum < u64::from(connections) + 50 => bail!(
            "{connections} connections need more open files than the {maximum} that are allowed: \
             raise the limit (ulimit -n), or use fewer --connections"
        ),
        _ => Ok(()),
    }
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere there is a limit to raise")]
fn allow_open_files(_: u32) -> anyhow::Result<()> {
    Ok(())
}
