//! Defines the load of a plan: its starts and its end.

use super::args::PlanArgs;
use crate::load::schedule::args::ScheduleArgs;
use anyhow::ensure;
use nanopace::{Arrivals, Nanos, Shape, Shard};
use std::time::Duration;

const STRETCH: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct PlannedLoad<'plan> {
    pub(crate) schedule: &'plan ScheduleArgs,
    pub(crate) shape: Shape,
    pub(crate) shard: Shard,
    duration: Option<Duration>,
    requests: u64,
}

impl PlannedLoad<'_> {
    pub(crate) fn new(args: &PlanArgs) -> anyhow::Result<PlannedLoad<'_>> {
        let schedule = &args.schedule;
        schedule.arrivals()?;
        ensure!(
            args.duration.is_none_or(|duration| duration < Nanos::MAX - Nanos::ZERO),
            "--duration is too long: a load can last at most 292 years"
        );
        Ok(PlannedLoad {
            shape: schedule.shape()?,
            shard: schedule.shard()?,
            duration: args.duration,
            requests: args.requests.unwrap_or(u64::MAX),
            schedule,
        })
    }

    pub(crate) fn has_end(&self) -> bool {
        let is_limited = self.duration.is_some() || self.requests < u64::MAX;
        is_limited || self.schedule.is_replay() || self.shape.duration().is_some()
    }

    pub(crate) fn starts(&self) -> anyhow::Result<impl Iterator<Item = Duration> + use<>> {
        let starts = self.schedule.starts()?;
        // No slot starts at the exact end of the shape, as in a run.
        let ends = [self.duration, self.shape.duration()];
        let end = ends.into_iter().flatten().min().unwrap_or(Duration::MAX);
        let most = usize::try_from(self.requests).unwrap_or(usize::MAX);
        Ok(starts.take_while(move |&start| start < end).take(most))
    }

    pub(crate) fn end(&self, arrivals: &Arrivals) -> anyhow::Result<Duration> {
        if self.schedule.is_replay() {
            let last = self.starts()?.last().unwrap_or_default();
            return Ok(last + Duration::from_nanos(1));
        }
        let ends = [self.duration, self.shape.duration(), self.end_of_requests(arrivals)];
        Ok(ends.into_iter().flatten().min().unwrap_or(STRETCH))
    }

    pub(crate) fn count_before(&self, moment: Duration, arrivals: &Arrivals) -> u64 {
        arrivals.starts_before(moment, &self.shape, &self.shard).min(self.requests)
    }

    /// Returns the end of a load with a limited number of requests. The load ends just after the start of the first
    /// request beyond the limit, so that n requests take n intervals.
    fn end_of_requests(&self, arrivals: &Arrivals) -> Option<Duration> {
        let is_too_late = |ns: u64| {
            let moment = Duration::from_nanos(ns);
            arrivals.starts_before(moment, &self.shape, &self.shard) > self.requests
        };
        let (mut early, mut late) = (0, i64::MAX.unsigned_abs());
        if !is_too_late(late) {
            return None;
        }
        while early + 1 < late {
            let middle = early.midpoint(late);
            if is_too_late(middle) { late = middle } else { early = middle }
        }
        Some(Duration::from_nanos(late))
    }
}
