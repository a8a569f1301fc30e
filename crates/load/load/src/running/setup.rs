//! Sets up a run, and finds errors in its options, files and target before the load starts.

use super::args::RunArgs;
use super::compare;
use super::files::{self, Input, ResultFiles};
use super::invitation::Invitation;
use super::member::Member;
use super::open_files;
use super::policy::{Deciding, Policy};
use super::prepared::Prepared;
use super::run_mode;
use super::slow_requests;
use super::start_at::StartAt;
use super::steering::Access;
use super::workers::any_backend::AnyBackend;
use super::workers::apart::{apart, held};
use super::workers::cores::{self, Core};
use super::workers::guarded::Guarded;
use super::workers::length::{Counted, RunLength, Spacing};
use super::workers::threads;
use crate::console::Unreachable;
use crate::console::human;
use crate::judged::comparison::stored_run::StoredRun;
use crate::judged::criteria::{Criterion, Percentile};
use crate::load::backend::Backend;
use crate::load::repeats::Repeats;
use crate::shown::csv_log::CsvLog;
use crate::shown::hdr_log::HdrLog;
use crate::shown::logs::Logs;
use crate::shown::run_title::RunTitle;
use anyhow::{Context, bail, ensure};
use nanopace::{Arrivals, Pacer, PacerBuilder, Rate, Shape, Shard, StdClock, Strictness};
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;
use std::time::Duration;

const DEFAULT_DURATION: Duration = Duration::from_secs(10);

pub(crate) type Make<'a> = Box<dyn FnOnce(&RunArgs) -> anyhow::Result<Arc<dyn AnyBackend>> + 'a>;

pub(crate) fn boxed<'a, T: Backend>(
    make: impl FnOnce(&RunArgs) -> anyhow::Result<T> + 'a,
) -> Make<'a> {
    Box::new(|args| Ok(Arc::new(make(args)?)))
}

pub(crate) struct Setup {
    pub(crate) args: RunArgs,
    pub(crate) target: Arc<dyn AnyBackend>,
    pub(crate) prepared: Prepared,
    /// The time from the start of the load to its first intended start.
    pub(crate) first: Duration,
    /// The time from the start of the load to its end. It is `Duration::MAX` if the load has no limit or is a
    /// recording.
    end: Duration,
    most: Option<u64>,
    counted: Option<Counted>,
    pub(crate) objective: Vec<Criterion>,
    pub(crate) cores: Vec<Core>,
    pub(crate) invitation: Option<Invitation>,
    pub(crate) access: Access,
    pub(crate) baseline: Option<StoredRun>,
    pub(crate) repeats: Option<Arc<Repeats>>,
    pub(crate) files: ResultFiles,
    pub(crate) logs: Logs,
}

impl Setup {
    pub(crate) fn new<T: Backend>(
        args: RunArgs,
        inputs: &[Input<'_>],
        make: impl FnOnce(&RunArgs) -> anyhow::Result<T>,
    ) -> anyhow::Result<Setup> {
        Setup::of_any(args, inputs, boxed(make))
    }

    pub(crate) fn of_any(
        mut args: RunArgs,
        inputs: &[Input<'_>],
        make: Make<'_>,
    ) -> anyhow::Result<Setup> {
        run_mode::settle_closed_loop(&mut args)?;
        args.check_no_load_names()?;
        check_start(&args)?;
        run_mode::settle_per_connection(&mut args)?;
        run_mode::check_until_confident(&args)?;
        run_mode::check_fail_fast(&args)?;
        files::check(&args, inputs)?;
        let invitation = Invitation::new(&args, DEFAULT_DURATION)?;
        let first = first_start(&args)?;
        args.schedule.check_first(first)?;
        let end = args.schedule.end()?.unwrap_or(Duration::MAX);
        ensure!(
            args.warmup < end,
            "the load does not last longer than its warm-up, so nothing would be recorded: write a shorter warm-up"
        );
        // The last request of a recording may start late, so the end is not known in advance.
        let end = if args.schedule.is_replay() { Duration::MAX } else { end };
        let cores = if args.pin { cores()? } else { Vec::new() };
        let baseline = compare::baseline(&args)?;
        let access = Access::open(&args)?;
        let target = make(&args)?;
        check(&*target, &args.criteria())?;
        let repeats = slow_requests::repeats(&args, &*target)?;
        let most = target.most_slots().map(|slots| part_of(slots, &args)).transpose()?;
        let counted = counted(&args, most)?;
        run_mode::check_workers(&args, Arc::clone(&target).blocking().is_some())?;
        open_files::allow(&target, args.connections.most, args.threads)?;
        let prepared = Prepared::new(&target)?;
        probe(&target, args.timeout)?;
        // Files are opened last, so that an invalid run does not change the results of the previous run.
        let files = ResultFiles::create(&args)?;
        let csv = args
            .csv
            .as_deref()
            .map(|path| CsvLog::create(path, target.has_labels()))
            .transpose()?;
        let hdr = args.hdr.as_deref().map(HdrLog::create).transpose()?;
        let logs = Logs::new(hdr, csv, args.warmup);
        check_start(&args)?;
        Ok(Setup {
            args,
            target,
            prepared,
            first,
            end,
            most,
            counted,
            objective: Vec::new(),
            cores,
            invitation,
            access,
            baseline,
            repeats,
            files,
            logs,
        })
    }

    pub(crate) fn change(&mut self, hz: f64, duration: Duration) -> anyhow::Result<()> {
        self.args.schedule.rate = Some(Rate::from_hz(hz)?);
        self.args.schedule.seed = self.args.schedule.seed.wrapping_add(1);
        self.args.duration = Some(duration);
        // The first random arrival depends on the seed and the rate, so it is computed again.
        self.first = first_start(&self.args)?;
        Ok(())
    }

    pub(crate) fn connections(&self) -> Vec<usize> {
        let RunArgs { connections, threads, .. } = &self.args;
        threads::sessions(&self.target, connections.most, *threads, self.hz())
    }

    pub(super) fn hz(&self) -> Option<f64> {
        let schedule = &self.args.schedule;
        schedule.constant_hz().ok().flatten().filter(|_| !schedule.is_closed)
    }

    /// Returns the number of connections that each thread opens first. `most` contains the maximum number of
    /// connections of each thread.
    pub(crate) fn first(&self, most: &[usize]) -> Vec<usize> {
        let size = self.args.connections;
        let spread = || threads::spread(size.first as usize, most.len());
        if size.grows() { spread() } else { most.to_vec() }
    }

    /// Returns the pacer. Outside a fleet, the pacer is paused until the schedule starts. In a fleet, it is the node's
    /// pacer.
    pub(crate) fn pacer(&self, member: Option<&Member>, clock: &StdClock) -> anyhow::Result<Pacer> {
        match member {
            Some(member) => Ok(member.pacer()),
            // Unlike the default clock, this clock needs no calibration, which takes up to 0.2 s.
            None => Ok(self.pacer_builder()?.clock(clock.clone()).build()),
        }
    }

    pub(super) fn pacer_builder(&self) -> anyhow::Result<PacerBuilder> {
        let args = &self.args;
        let builder = args.schedule.pacer()?;
        let mut builder = builder.strictness(args.strictness).start_paused();
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

    /// Returns the maximum number of slots, including those of the warm-up.
    fn most_slots(&self) -> Option<u64> {
        self.counted.map_or(self.most, |counted| Some(counted.all()))
    }

    /// Returns whether slots or schedule time can be given up. In a closed loop, the strictness gives up nothing,
    /// because no slot is late.
    pub(crate) fn gives_up(&self) -> bool {
        let args = &self.args;
        let strictness = args.strictness.get();
        let forfeits = strictness > 0.0 && strictness <= 1.0 && !args.schedule.is_closed;
        forfeits || args.skip_later_than.is_some() || args.max_backlog.is_some()
    }

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

    fn keeps_slots(&self) -> bool {
        let args = &self.args;
        args.strictness == Strictness::AVERAGE
            && args.max_backlog.is_none()
            && self.invitation.is_none()
    }

    fn deciding(&self) -> anyhow::Result<Option<Deciding>> {
        let is_search = !self.objective.is_empty();
        let required = if self.args.fail_fast { self.args.criteria() } else { Vec::new() };
        let criteria = if is_search { self.objective.clone() } else { required };
        if criteria.is_empty() {
            return Ok(None);
        }
        Ok(Some(Deciding { criteria, is_search, most_requests: self.most_requests()? }))
    }

    /// Returns the maximum number of recorded requests. Unless slots keep their intended starts, it includes the slots
    /// of the warm-up, because late slots of the warm-up may be recorded.
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

    fn ends_with_load(&self) -> bool {
        self.args.schedule.is_replay() || self.most.is_some()
    }

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
            spacing: spacing(args),
            is_steady: args.schedule.is_steady(),
            share: args.schedule.shard()?.share(),
            constant_hz: args.schedule.constant_hz()?,
            is_closed: args.schedule.is_closed,
            ends_with_load: self.ends_with_load(),
            longest: longest.unwrap_or(Duration::MAX),
        })
    }

    pub(crate) fn title(&self, member: Option<&Member>) -> RunTitle {
        let args = &self.args;
        let how = match member {
            Some(member) => format!(", {}", member.title()),
            None if args.schedule.is_closed => ", one after the other".to_owned(),
            None if args.strictness == Strictness::AVERAGE => String::new(),
            None => format!(", strictness {}", args.strictness),
        };
        RunTitle {
            url: format!("{}{}", self.target.name(), self.target.remark()),
            load: member.map_or_else(|| args.schedule.title(), Member::load),
            is_closed: args.schedule.is_closed,
            by: format!(
                "{} on {}{how}",
                human::count(args.connections, "connection"),
                human::count(self.connections().len(), "thread")
            ),
        }
    }
}

fn first_start(args: &RunArgs) -> anyhow::Result<Duration> {
    let first = args.schedule.starts()?.next();
    first.context("this load has no requests: raise its rate or its duration")
}

fn check_start(args: &RunArgs) -> anyhow::Result<()> {
    args.start_at.as_ref().map_or(Ok(()), StartAt::check)
}

fn spacing(RunArgs { schedule, is_versus, .. }: &RunArgs) -> Spacing {
    match () {
        () if schedule.is_closed => Spacing::Other,
        () if schedule.arrivals.is_even() && !is_versus => Spacing::Even,
        () if schedule.is_poisson() => Spacing::Poisson,
        () => Spacing::Other,
    }
}

/// Returns the number of slots of this process among the first `slots` slots of the load.
pub(super) fn part_of(slots: u64, args: &RunArgs) -> anyhow::Result<u64> {
    ensure!(
        args.fleet.run_name.is_none(),
        "the load of a fleet ends after its --duration, not after the last row of --data: leave out --data-end stop"
    );
    let second = Shape::constant(Rate::per_second(1)?);
    let end = Duration::from_secs(slots);
    Ok(Arrivals::even().starts_before(end, &second, &args.schedule.shard()?))
}

/// Returns the slots of a run with a fixed number of requests. Returns `None` without `--requests`, and for a closed
/// loop, in which workers count their starts.
fn counted(args: &RunArgs, most: Option<u64>) -> anyhow::Result<Option<Counted>> {
    let schedule = &args.schedule;
    let Some(requests) = args.requests.filter(|_| !schedule.is_closed) else { return Ok(None) };
    let before = |shard| schedule.starts_before(args.warmup, shard);
    let most = most.unwrap_or(u64::MAX);
    let (first, warm_up) = (before(Shard::new(0, 1)?)?, before(schedule.shard()?)?.min(most));
    let may_skip = args.skip_later_than.is_some();
    Ok(Some(Counted { first, warm_up, slots: requests.min(most - warm_up), may_skip }))
}

pub(super) fn check(target: &dyn AnyBackend, criteria: &[Criterion]) -> anyhow::Result<()> {
    let taken = target.take_own_times();
    for criterion in criteria {
        if let Some(label) = criterion.label()
            && !target.may_have(label)
        {
            bail!("{criterion}: no operation can have this label; -v lists the labels of a run");
        }
        if let Some(part) = criterion.part()
            && !taken.iter().any(|own| own.part == part)
        {
            let advice = target.has_timed(part);
            bail!("{criterion}: these times are not measured; {advice}");
        }
    }
    Ok(())
}

pub(super) fn cores() -> anyhow::Result<Vec<Core>> {
    let cores = cores::allowed();
    ensure!(!cores.is_empty(), "--pin: this system does not list its cores: leave --pin out");
    Ok(cores)
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_warm_up_has_no_more_slots_than_the_data() {
        // At the default rate of 50/s, five slots are due in the warm-up.
        let warmup = Duration::from_millis(100);
        let args = RunArgs { warmup, requests: Some(1), ..RunArgs::by_default() };
        for (rows, warm_up, slots) in [(2, 2, 0), (5, 5, 0), (6, 5, 1), (7, 5, 1)] {
            let counted = counted(&args, Some(rows)).unwrap().unwrap();
            assert_eq!((counted.warm_up, counted.slots), (warm_up, slots), "{rows}");
        }
    }
}
