//! What a step has shown: whether the promise was kept, and what ran out if not.

use super::method::{Outcome, Purpose, Step};
use crate::percentiles::{self, Percentiles};
use crate::run::criteria::Criterion;
use crate::run::reporting::summary::Summary;
use crate::run::reporting::verdict::Verdict;
use serde::Serialize;
use std::time::Duration;

/// The share of the requests that has to start in every step.
const LEAST_RATIO: f64 = 0.99;
/// How many requests have to lie beyond a percentile.
const BEYOND: f64 = 10.0;
/// The share of the connections that is all of them: finding the next request takes time too.
const ALL_BUSY: f64 = 0.9;

/// What every step has to keep.
#[derive(Debug)]
pub(crate) struct Promise {
    /// What was asked for.
    pub(crate) until: Vec<Criterion>,
    /// What is asked for besides.
    always: [Criterion; 2],
}

/// What ran out at a rate that broke the promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Cause {
    /// Too many requests failed.
    Errors,
    /// Requests waited for connections, which were all busy with answers in good time.
    Connections,
    /// All connections were busy, and the answers alone took too long.
    Target,
    /// The answers took too long while connections were free.
    Latency,
    /// The generator's processor.
    Generator,
}

/// A step that is over.
#[derive(Debug, Serialize)]
pub(crate) struct Measured {
    #[serde(rename = "target_rate")]
    pub(crate) hz: f64,
    #[serde(rename = "achieved_rate")]
    pub(crate) achieved_hz: f64,
    #[serde(rename = "duration_seconds")]
    pub(crate) seconds: f64,
    pub(crate) purpose: Purpose,
    pub(crate) outcome: Outcome,
    pub(crate) cause: Option<Cause>,
    pub(crate) verdict: Verdict,
    /// What the promise says, and does not hold.
    pub(crate) missed: Vec<String>,
    /// The figures of the promise, for people.
    #[serde(skip)]
    pub(crate) figures: Vec<String>,
    /// The figure for the chart, if the run has it.
    #[serde(skip)]
    pub(crate) charted: Option<Duration>,
    pub(crate) ratio: f64,
    pub(crate) errors: f64,
    /// How many connections were busy on average: Little's law, from the rate and the mean service
    /// time.
    #[serde(rename = "busy_connections")]
    pub(crate) busy: f64,
    #[serde(skip)]
    pub(crate) mean_service: Duration,
    wait_time_ns: Percentiles,
    service_time_ns: Percentiles,
    response_time_ns: Percentiles,
}

impl Promise {
    /// This, and what every load needs.
    pub(crate) fn new(until: Vec<Criterion>) -> Promise {
        let always = [Criterion::at_least_ratio(LEAST_RATIO), Criterion::default_errors()];
        Promise { until, always }
    }

    /// How long a step at `hz` has to be, if `least` is not enough for the rarest requests that the
    /// promise is about.
    pub(crate) fn length(&self, hz: f64, least: Duration) -> Duration {
        let shares = self.until.iter().filter_map(Criterion::deciding_share);
        let samples = shares.map(|share| BEYOND / share).fold(0.0, f64::max);
        // Nobody waits for longer than that; it must only not overflow.
        Duration::try_from_secs_f64(samples / hz).unwrap_or(Duration::MAX / 4).max(least)
    }

    /// The promise as it was written.
    pub(crate) fn text(&self) -> String {
        let texts: Vec<_> = self.until.iter().map(Criterion::to_string).collect();
        texts.join(" and ")
    }

    /// Which figure is drawn, and its limit: the first time that is promised; else p99 response.
    pub(crate) fn charted(&self) -> (String, Option<Duration>) {
        let of = |criterion: &Criterion| Some((criterion.name(), Some(criterion.time_limit()?)));
        let first = self.until.iter().find_map(of);
        first.unwrap_or_else(|| ("p99 response".to_owned(), None))
    }

    /// Judges a step by its summary, with so many connections.
    pub(crate) fn judge(&self, step: Step, summary: &Summary, connections: u32) -> Measured {
        let (stats, figures) = (&summary.stats, summary.figures());
        let missed: Vec<_> = self.all().filter_map(|criterion| criterion.check(&figures)).collect();
        let mean_service = Duration::from_secs_f64(stats.service.mean() * 1e-9);
        let busy = summary.achieved_hz * mean_service.as_secs_f64();
        let is_busy = busy >= ALL_BUSY * f64::from(connections);
        let cause = (!missed.is_empty()).then(|| self.cause(summary, is_busy));
        let first_time = self.until.iter().find(|criterion| criterion.time_limit().is_some());
        let p99 = percentiles::at(&stats.response, 0.99);
        Measured {
            hz: step.hz,
            purpose: step.purpose,
            achieved_hz: summary.achieved_hz,
            seconds: summary.duration.as_secs_f64(),
            outcome: match cause {
                None => Outcome::Kept,
                Some(Cause::Generator) => Outcome::Generator,
                Some(_) => Outcome::Broken,
            },
            cause,
            verdict: summary.verdict,
            missed: missed.iter().map(ToString::to_string).collect(),
            figures: self.until.iter().map(|criterion| criterion.shown(&figures)).collect(),
            charted: match first_time {
                Some(criterion) => criterion
                    .value(&figures)
                    .and_then(|ns| Duration::try_from_secs_f64(ns * 1e-9).ok()),
                None => (!stats.response.is_empty()).then_some(p99),
            },
            ratio: summary.ratio,
            errors: summary.failed_share,
            busy,
            mean_service,
            wait_time_ns: Percentiles::new(&stats.wait),
            service_time_ns: Percentiles::new(&stats.service),
            response_time_ns: Percentiles::new(&stats.response),
        }
    }

    /// What ran out. The generator did if the verdict says so, or if the promise would hold without
    /// the time that requests waited, and most of it was the generator's doing.
    fn cause(&self, summary: &Summary, is_busy: bool) -> Cause {
        let (figures, lateness) = (summary.figures(), &summary.stats.lateness);
        let fails =
            |criterion: &Criterion| criterion.names_errors() && criterion.check(&figures).is_some();
        let waiting_broke_it =
            self.all().all(|criterion| criterion.holds_without_waiting(&figures));
        match summary.verdict {
            Verdict::TargetFailing => Cause::Errors,
            Verdict::GeneratorBehind => Cause::Generator,
            _ if self.all().any(fails) => Cause::Errors,
            _ if waiting_broke_it && lateness.generator > lateness.target => Cause::Generator,
            _ if waiting_broke_it => Cause::Connections,
            _ if is_busy => Cause::Target,
            _ => Cause::Latency,
        }
    }

    fn all(&self) -> impl Iterator<Item = &Criterion> {
        self.until.iter().chain(&self.always)
    }
}
