//! Sets up a run. Everything that can be wrong is found here, before any load.

use super::args::RunArgs;
use super::compare;
use super::control::ControlListener;
use super::files::{self, Input};
use super::invitation::Invitation;
use super::member::Member;
use super::open_files;
use super::policy::{Deciding, Policy};
#[cfg(feature = "otlp")]
use super::push::collector::Collector;
use super::run_mode;
use super::workers::any_backend::AnyBackend;
use super::workers::apart::{apart, held};
use super::workers::cores::{self, Core};
use super::workers::guarded::Guarded;
use super::workers::length::{Counted, RunLength, Spacing};
use super::workers::threads;
use crate::console::unreachable::Unreachable;
use crate::console::{Output, ResultFile, human, is_stdout};
use crate::judged::comparison::recording::Recording;
use crate::judged::criteria::{Criterion, Percentile};
use crate::load::backend::Backend;
use crate::load::schedule::args::ScheduleArgs;
use crate::shown::csv_log::CsvLog;
use crate::shown::hdr_log::HdrLog;
use crate::shown::logs::Logs;
use crate::shown::run_title::RunTitle;
use anyhow::{Context, bail, ensure};
use nanopace::{Arrivals, Pacer, PacerBuilder, Rate, Shape, Shard, Strictness};
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;
use std::time::Duration;

const DEFAULT_DURATION: Duration = Duration::from_secs(10);

/// Makes a target of any type.
pub(crate) type Make<'a> = Box<dyn FnOnce(&RunArgs) -> anyhow::Result<Arc<dyn AnyBackend>> + 'a>;

/// Hides the type of the target that `make` makes.
pub(crate) fn boxed<'a, T: Backend>(
    make: impl FnOnce(&RunArgs) -> anyhow::Result<T> + 'a,
) -> Make<'a> {
    Box::new(|args| Ok(Arc::new(make(args)?)))
}

/// Everything that a run needs before it starts.
pub(crate) struct Setup {
    /// The options as given.
    pub(crate) args: RunArgs,
    /// The target of the load.
    pub(crate) target: Arc<dyn AnyBackend>,
    /// The first intended start, from the load's start.
    pub(crate) first: Duration,
    /// The end of the load, from its start; the longest time if it has no end, or if its last request ends it.
    end: Duration,
    /// How many slots of this process there are, if the target has data for a limited number only.
    most: Option<u64>,
    /// The slots that a number of requests is about.
    counted: Option<Counted>,
    /// The objective of a search. A step ends when it is decided.
    pub(crate) objective: Vec<Criterion>,
    /// Cores to pin threads to; empty if they are not pinned.
    pub(crate) cores: Vec<Core>,
    /// The fleet that this process takes part in.
    pub(crate) invitation: Option<Invitation>,
    /// Where programs may read the state of the run and control it.
    pub(crate) control_listener: Option<ControlListener>,
    /// Where metrics are sent.
    #[cfg(feature = "otlp")]
    pub(crate) collector: Option<Arc<Collector>>,
    /// The run that this run is compared with.
    pub(crate) baseline: Option<Recording>,
    /// Where the results go.
    pub(crate) output: Output,
    /// Where the page goes.
    pub(crate) html: Option<ResultFile>,
    /// Where the requirements go, as test cases.
    pub(crate) junit: Option<ResultFile>,
    /// Where the short report goes.
    pub(crate) summary: Option<ResultFile>,
    /// The logs, ready to begin.
    pub(crate) logs: Logs,
}

impl Setup {
    /// Makes the target, checks that it is available, and opens the files, whose contents stay until they are written.
    /// The `inputs` are files that the target is made from.
    pub(crate) fn new<T: Backend>(
        args: RunArgs,
        inputs: &[Input<'_>],
        make: impl FnOnce(&RunArgs) -> anyhow::Result<T>,
    ) -> anyhow::Result<Setup> {
        Setup::of_any(args, inputs, boxed(make))
    }

    /// The same for a target of any type.
    pub(crate) fn of_any(
        mut args: RunArgs,
        inputs: &[Input<'_>],
        make: Make<'_>,
    ) -> anyhow::Result<Setup> {
        run_mode::settle_closed_loop(&mut args)?;
        run_mode::check_until_confident(&args)?;
        run_mode::check_fail_fast(&args)?;
        files::check(&args, inputs)?;
        let invitation = Invitation::new(&args, DEFAULT_DURATION)?;
        let first = args.schedule.starts()?.next().context("this load has no requests")?;
        args.schedule.check_first(first)?;
        let end = args.schedule.end()?.unwrap_or(Duration::MAX);
        ensure!(args.warmup < end, "the load and its warm-up are over before anything is recorded");
        // How long it takes to start the last request of a recording is not known yet.
        let end = if args.schedule.is_replay() { Duration::MAX } else { end };
        let cores = if args.pin { cores()? } else { Vec::new() };
        let baseline = compare::baseline(&args)?;
        let control_listener = ControlListener::open(&args.control)?;
        #[cfg(feature = "otlp")]
        let collector = args.push.collector()?.map(Arc::new);
        let target = make(&args)?;
        check_parts(&*target, &args.criteria())?;
        let most = target.most_slots().map(|slots| part_of(slots, &args)).transpose()?;
        let counted = counted(&args, most)?;
        open_files::allow(&target, args.connections, args.threads)?;
        probe(&target, args.timeout)?;
        // Only now: a run that can't be made leaves the results of the last one alone.
        let csv_on_stdout = args.csv.as_deref().is_some_and(is_stdout);
        let output = Output::create(args.json.as_deref())?.beside(csv_on_stdout);
        let [html, junit, summary] = [&args.html, &args.junit, &args.summary]
            .map(|path| path.as_deref().map(ResultFile::create).transpose());
        let (html, junit, summary) = (html?, junit?, summary?);
        let csv = args
            .csv
            .as_deref()
            .map(|path| CsvLog::create(path, target.has_labels()))
            .transpose()?;
        let hdr = args.hdr.as_deref().map(HdrLog::create).transpose()?;
        let logs = Logs::new(hdr, csv, args.warmup);
        Ok(Setup {
            args,
            target,
            first,
            end,
            most,
            counted,
            objective: Vec::new(),
            cores,
            invitation,
            control_listener,
            #[cfg(feature = "otlp")]
            collector,
            baseline,
            output,
            html,
            junit,
            summary,
            logs,
        })
    }

    /// Sets up the next run at a constant rate of `hz` and of this length, with other random arrivals than before.
    pub(crate) fn change(&mut self, hz: f64, duration: Duration) -> anyhow::Result<()> {
        self.args.schedule.rate = Some(Rate::from_hz(hz)?);
        self.args.schedule.seed = self.args.schedule.seed.wrapping_add(1);
        self.args.duration = Some(duration);
        // Random arrivals may begin later at a lower rate.
        self.first = self.args.schedule.starts()?.next().context("this load has no requests")?;
        Ok(())
    }

    /// How many connections each thread has.
    pub(crate) fn connections(&self) -> Vec<usize> {
        threads::sessions(&self.target, self.args.connections, self.args.threads)
    }

    /// A pacer for the requested load, paused until the schedule starts; in a fleet, the node's.
    pub(crate) fn pacer(&self, member: Option<&Member>) -> anyhow::Result<Pacer> {
        match member {
            Some(member) => Ok(member.pacer()),
            None => Ok(self.pacer_builder()?.build()),
        }
    }

    pub(super) fn pacer_builder(&self) -> anyhow::Result<PacerBuilder> {
        let args = &self.args;
        let mut builder = args.schedule.pacer()?.strictness(args.strictness).start_paused();
        if let Some(limit) = args.max_backlog {
            builder = builder.max_backlog(limit);
        }
        if let Some(limit) = args.skip_later_than {
            builder = builder.skip_later_than(limit);
        }
        if let Some(slots) = self.most_slots() {
            builder = builder.slots(slots);
        }
        Ok(builder)
    }

    /// How many slots this process has at most, warm-up included.
    fn most_slots(&self) -> Option<u64> {
        self.counted.map_or(self.most, |counted| Some(counted.all()))
    }

    /// Whether slots that are late may be given up, and others take their places. In a closed loop none is late.
    pub(crate) fn gives_up(&self) -> bool {
        let args = &self.args;
        let is_strict = args.strictness == Strictness::STRICT && !args.schedule.is_closed;
        is_strict || args.skip_later_than.is_some() || args.max_backlog.is_some()
    }

    /// The policy for slots that are late, and what ends the run early.
    pub(crate) fn policy(&self) -> anyhow::Result<Policy> {
        let args = &self.args;
        Ok(Policy {
            skip_later_than: args.skip_later_than,
            keeps_slots: self.keeps_slots(),
            deciding: self.deciding()?,
            goal: args.until_confident.clone(),
            reported: Percentile::reported(&args.criteria()),
        })
    }

    /// Whether slots keep their intended starts, however late they are.
    fn keeps_slots(&self) -> bool {
        let args = &self.args;
        args.strictness == Strictness::AVERAGE
            && args.max_backlog.is_none()
            && self.invitation.is_none()
    }

    /// The requirements that can end the run.
    fn deciding(&self) -> anyhow::Result<Option<Deciding>> {
        let is_search = !self.objective.is_empty();
        let required = if self.args.fail_fast { self.args.criteria() } else { Vec::new() };
        let criteria = if is_search { self.objective.clone() } else { required };
        if criteria.is_empty() {
            return Ok(None);
        }
        Ok(Some(Deciding { criteria, is_search, most_requests: self.most_requests()? }))
    }

    /// How many requests of the load are recorded at most, if that is known. A late policy can move slots of the
    /// warm-up into the recorded part.
    pub(crate) fn most_requests(&self) -> anyhow::Result<Option<u64>> {
        let (schedule, RunLength { warmup, duration, .. }) = (&self.args.schedule, self.length()?);
        let end = warmup.saturating_add(duration);
        if schedule.is_closed || schedule.is_replay() || end == Duration::MAX {
            return Ok(self.most);
        }
        let before = |moment| schedule.starts_before(moment, schedule.shard()?);
        let all = before(end)?.min(self.most.unwrap_or(u64::MAX));
        let warm_up = if self.keeps_slots() { before(warmup)? } else { 0 };
        Ok(Some(all.saturating_sub(warm_up)))
    }

    /// Whether the last slot of the load ends the run.
    fn ends_with_load(&self) -> bool {
        self.args.schedule.is_replay() || self.most.is_some()
    }

    /// The length of the run. It ends with the load, at the latest.
    pub(crate) fn length(&self) -> anyhow::Result<RunLength> {
        let args = &self.args;
        let has_length = args.schedule.has_length() || self.ends_with_load();
        let is_limited = args.requests.is_some() || has_length;
        let longest = args.duration.or_else(|| run_mode::longest(args));
        let default = if is_limited { Duration::MAX } else { DEFAULT_DURATION };
        Ok(RunLength {
            warmup: args.warmup,
            duration: longest.unwrap_or(default).min(self.end.saturating_sub(args.warmup)),
            most: self.most_slots(),
            counted: self.counted,
            slots: args.requests.filter(|_| args.schedule.is_closed),
            spacing: spacing(&args.schedule),
            is_steady: args.schedule.is_steady(),
            constant_hz: args.schedule.constant_hz()?,
            is_closed: args.schedule.is_closed,
            ends_with_load: self.ends_with_load(),
            longest: longest.unwrap_or(Duration::MAX),
        })
    }

    /// How it catches up; a closed loop has nothing to catch up.
    fn catching_up(&self) -> String {
        let strictness = self.args.strictness;
        let is_closed = self.args.schedule.is_closed;
        if is_closed {
            "one after the other".to_owned()
        } else {
            format!("strictness {strictness}")
        }
    }

    /// Where requests go, the load, and by what.
    pub(crate) fn title(&self, member: Option<&Member>) -> RunTitle {
        let args = &self.args;
        RunTitle {
            url: format!("{}{}", self.target.name(), self.target.remark()),
            load: member.map_or_else(|| args.schedule.title(), Member::load),
            by: format!(
                "{} on {}, {}",
                human::count(args.connections, "connection"),
                human::count(self.connections().len(), "thread"),
                member.map_or_else(|| self.catching_up(), Member::title)
            ),
        }
    }
}

fn spacing(schedule: &ScheduleArgs) -> Spacing {
    match () {
        () if schedule.is_closed => Spacing::Other,
        () if schedule.arrivals.is_even() => Spacing::Even,
        () if schedule.is_poisson() => Spacing::Poisson,
        () => Spacing::Other,
    }
}

/// How many of the first slots of a load are this process's.
fn part_of(slots: u64, args: &RunArgs) -> anyhow::Result<u64> {
    ensure!(
        args.fleet.run_name.is_none(),
        "the load of a fleet ends by its --duration, and not with the data: leave --data-end stop out"
    );
    let second = Shape::constant(Rate::per_second(1)?);
    let end = Duration::from_secs(slots);
    Ok(Arrivals::even().starts_before(end, &second, &args.schedule.shard()?))
}

/// The slots of a load with a number of requests, at most `most` in this process. None in a closed loop, where workers
/// count their starts.
fn counted(args: &RunArgs, most: Option<u64>) -> anyhow::Result<Option<Counted>> {
    let schedule = &args.schedule;
    let Some(requests) = args.requests.filter(|_| !schedule.is_closed) else { return Ok(None) };
    let before = |shard| schedule.starts_before(args.warmup, shard);
    let (first, warm_up) = (before(Shard::new(0, 1)?)?, before(schedule.shard()?)?);
    let most = most.map_or(u64::MAX, |most| most.saturating_sub(warm_up));
    let may_skip = args.skip_later_than.is_some();
    Ok(Some(Counted { first, warm_up, slots: requests.min(most), may_skip }))
}

/// Refuses requirements on times that the target does not take.
pub(super) fn check_parts(target: &dyn AnyBackend, criteria: &[Criterion]) -> anyhow::Result<()> {
    let taken = target.take_own_times();
    for criterion in criteria {
        if let Some(part) = criterion.part()
            && !taken.iter().any(|own| own.part == part)
        {
            let advice = target.has_timed(part);
            bail!("{criterion}: the parts of answers are not timed; {advice}");
        }
    }
    Ok(())
}

fn cores() -> anyhow::Result<Vec<Core>> {
    let cores = cores::allowed();
    ensure!(!cores.is_empty(), "--pin: this system does not list its cores");
    Ok(cores)
}

/// Sees whether the target is there, and says so within the timeout.
fn probe(target: &Arc<dyn AnyBackend>, timeout: Duration) -> anyhow::Result<()> {
    let probed = Arc::clone(target);
    let probed = apart(
        timeout,
        || true,
        move || async move {
            Guarded::new(timeout, probed.keeps_to_timeout()).run(|| probed.probe_boxed()).await
        },
    );
    let probed = probed?.unwrap_or_else(|| Err(held(target)));
    probed.map_err(|failure| Unreachable(target.absence(&failure)).into())
}

impl Debug for Setup {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup").field("target", &self.target.name()).finish_non_exhaustive()
    }
}
