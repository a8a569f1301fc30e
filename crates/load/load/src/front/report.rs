//! Provides the results of a load as values, and as text, HTML and JSON.

use crate::judged::summary::{LoadResults, Summary};
use crate::judged::verdict::Verdict;
use crate::load::own_times::{Name, OwnTimes, Part, counters};
use crate::results::confidence::{Batched, Range};
use crate::results::labels::Labelled;
use crate::results::percentiles::Sample;
use crate::shown::report::{Detail, RunReport};
use crate::shown::{json, page};
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;
use std::time::Duration;

/// The results of a finished load. They are available as values, as a text report, as an HTML page and as a JSON
/// object.
///
/// Each slot that was due counts as [`started`](Report::started), [`skipped`](Report::skipped) or
/// [`unstarted`](Report::unstarted). Each started call counts as [`completed`](Report::completed),
/// [`failed`](Report::failed) or [`unfinished`](Report::unfinished). The warm-up is not counted.
///
/// # Examples
///
/// ```
/// use nanopace_load::{Done, Failure, Load, Report, Slot};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let load = Load::new("1k/s".parse()?).sessions(1).requests(100).fail_if("errors < 5%")?;
/// let report: Report = load.run_blocking(|slot: Slot| {
///     if slot.number() % 10 == 0 { Err(Failure::new("a tenth")) } else { Ok(Done::new().items(3)) }
/// })?;
/// assert_eq!((report.started(), report.skipped(), report.unstarted()), (100, 0, 0));
/// assert_eq!((report.completed(), report.failed(), report.unfinished()), (90, 10, 0));
/// assert_eq!(report.failures().collect::<Vec<_>>(), [("a tenth".to_owned(), 10)]);
/// for missed in report.missed() {
///     println!("missed requirement: {missed}");
/// }
/// println!("{} of {} calls/s", report.achieved_rate(), report.target_rate());
/// if !report.is_on_schedule() {
///     println!("{}", report.verdict());
/// }
/// assert_eq!(report.items(), 270);
/// let times = [report.wait_time(0.5), report.service_time(0.5), report.response_time(0.5)];
/// println!("medians of wait, service and response time: {times:?}");
/// std::fs::write(std::env::temp_dir().join("report.html"), report.to_html())?;
/// println!("{report}\n{}", report.to_json());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Report {
    summary: Arc<Summary>,
}

impl Report {
    pub(crate) fn new(summary: Summary) -> Report {
        Report { summary: Arc::new(summary) }
    }

    /// Returns the report of each load with its name, if this is the report of several [`Loads`](crate::Loads). The
    /// loads are in the order in which they were added.
    pub fn loads(&self) -> impl Iterator<Item = (&str, Report)> {
        let report = |load: &LoadResults| Report { summary: Arc::clone(&load.summary) };
        self.summary.loads.iter().map(move |load| (load.name.as_str(), report(load)))
    }

    /// Returns the report of the load with this name, if there is one.
    #[must_use]
    pub fn load(&self, name: &str) -> Option<Report> {
        self.loads().find(|(it, _)| *it == name).map(|(_, report)| report)
    }

    /// Returns the number of calls that were started.
    #[must_use]
    pub fn started(&self) -> u64 {
        self.summary.stats.started()
    }

    /// Returns the number of slots that were skipped by a late policy.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.summary.stats.skipped
    }

    /// Returns the number of slots that were due but had not started when the run ended.
    #[must_use]
    pub fn unstarted(&self) -> u64 {
        self.summary.stats.unstarted
    }

    /// Returns the number of calls that succeeded.
    #[must_use]
    pub fn completed(&self) -> u64 {
        self.summary.stats.completed()
    }

    /// Returns the number of calls that failed.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.summary.stats.failed()
    }

    /// Returns the number of calls that were given up at the end of the run.
    #[must_use]
    pub fn unfinished(&self) -> u64 {
        self.summary.stats.unfinished
    }

    /// Returns each kind of failure, with the number of calls that failed in this way.
    pub fn failures(&self) -> impl Iterator<Item = (String, u64)> {
        self.summary.stats.failures.iter().map(|(kind, count)| (kind.to_string(), *count))
    }

    /// Returns the results of each of the first 100 labels, and of all others together.
    pub fn labels(&self) -> impl Iterator<Item = LabelReport<'_>> {
        self.summary.stats.labels.iter().map(LabelReport)
    }

    /// Returns the total number of [items](crate::Done::items) in all responses.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.summary.stats.traffic.items
    }

    /// Returns the requested rate in calls per second. If the rate changed, returns the mean.
    #[must_use]
    pub fn target_rate(&self) -> f64 {
        self.summary.target_hz
    }

    /// Returns the achieved rate: the number of calls started per second.
    #[must_use]
    pub fn achieved_rate(&self) -> f64 {
        self.summary.achieved_hz
    }

    /// Returns the wait time at a quantile from 0 to 1. The wait time is the time from the intended to the actual start
    /// of a call. Returns `None` if there are no times.
    #[must_use]
    pub fn wait_time(&self, quantile: f64) -> Option<Duration> {
        time(Sample::exact(&self.summary.stats.wait), quantile)
    }

    /// Returns the service time at a quantile. The service time is the time that a successful call took. Returns `None`
    /// if there are no times.
    #[must_use]
    pub fn service_time(&self, quantile: f64) -> Option<Duration> {
        time(Sample::exact(&self.summary.stats.service), quantile)
    }

    /// Returns the response time at a quantile. The response time is the time from the intended start of a call to its
    /// completion. Returns `None` if there are no times, or if only a lower bound of the time is known because calls
    /// did not succeed or did not start.
    #[must_use]
    pub fn response_time(&self, quantile: f64) -> Option<Duration> {
        time(self.summary.stats.responses(), quantile)
    }

    /// Returns the time to the first item of a stream at a quantile, counted from the call of
    /// [`StreamTimes::watch`](crate::StreamTimes::watch). Returns `None` if there are no times.
    #[must_use]
    pub fn first_item_time(&self, quantile: f64) -> Option<Duration> {
        self.part(Part::FirstItem, quantile)
    }

    /// Returns the response time of the first item of a stream at a quantile: the time from the intended start of the
    /// call to the first item. Returns `None` if there are no times.
    #[must_use]
    pub fn first_item_response_time(&self, quantile: f64) -> Option<Duration> {
        self.part(Part::FirstItemResponse, quantile)
    }

    /// Returns the time between two consecutive items of a stream at a quantile. Returns `None` if there are no times.
    #[must_use]
    pub fn item_gap_time(&self, quantile: f64) -> Option<Duration> {
        self.part(Part::ItemGap, quantile)
    }

    /// Returns a quantile of the times of a [`Trend`](crate::Trend). Returns `None` if the target has no trend with
    /// this name, or if the trend has no times.
    #[must_use]
    pub fn trend_time(&self, name: &str, quantile: f64) -> Option<Duration> {
        let is_it = |own: &&OwnTimes| matches!(own.part, Part::Trend(Name(it)) if it == name);
        let own = self.summary.own_times.iter().find(is_it)?;
        time(Sample::exact(&own.times), quantile)
    }

    /// Returns the number of events of a [`Counter`](crate::Counter). Returns `None` if the target has no counter with
    /// this name.
    #[must_use]
    pub fn counter(&self, name: &str) -> Option<u64> {
        counters(&self.summary.own_times).find(|(it, _)| *it == name).map(|(_, events)| events)
    }

    fn part(&self, part: Part, quantile: f64) -> Option<Duration> {
        let own = self.summary.own_times.iter().find(|own| own.part == part)?;
        time(Sample::exact(&own.times), quantile)
    }

    /// Returns the 95 % confidence interval of the wait time at a quantile. Returns `None` for the quantiles 0 and 1,
    /// if there are no times, and for runs that are shorter than about a second, because an interval needs at least
    /// four batches of times.
    #[must_use]
    pub fn wait_time_interval(&self, quantile: f64) -> Option<TimeInterval> {
        interval(&self.summary.confidence().wait(), quantile)
    }

    /// Returns the 95 % confidence interval of the service time at a quantile, under the conditions of
    /// [`wait_time_interval`](Report::wait_time_interval).
    #[must_use]
    pub fn service_time_interval(&self, quantile: f64) -> Option<TimeInterval> {
        interval(&self.summary.confidence().service(), quantile)
    }

    /// Returns the 95 % confidence interval of the response time at a quantile, under the conditions of
    /// [`wait_time_interval`](Report::wait_time_interval).
    #[must_use]
    pub fn response_time_interval(&self, quantile: f64) -> Option<TimeInterval> {
        interval(&self.summary.confidence().response(), quantile)
    }

    /// Returns whether the load was on schedule: at least 99 % of the requested calls were started, their wait times
    /// were short, and at most 1 % of the calls failed.
    #[must_use]
    pub fn is_on_schedule(&self) -> bool {
        self.summary.verdict == Verdict::OnSchedule
    }

    /// Returns the verdict as text. It states whether the load was on schedule, and if not, why.
    #[must_use]
    pub fn verdict(&self) -> String {
        self.summary.sentence()
    }

    /// Returns a message for each requirement that was not met.
    #[must_use]
    pub fn missed(&self) -> &[String] {
        &self.summary.missed
    }

    /// Formats the results as a self-contained HTML page with charts.
    #[must_use]
    pub fn to_html(&self) -> String {
        page::html(&self.summary)
    }

    /// Formats the results as one JSON object.
    ///
    /// # Panics
    ///
    /// Never panics: all names are strings, and all numbers are finite.
    #[must_use]
    pub fn to_json(&self) -> String {
        let object = json::Object::new(&self.summary, None::<()>);
        serde_json::to_string_pretty(&object).expect("names are strings, and numbers are finite")
    }
}

/// Displays the report for people: a brief report, or the full report with `{:#}`.
impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let detail = if f.alternate() { Detail::All } else { Detail::Brief };
        RunReport { summary: &self.summary, detail }.fmt(f)
    }
}

/// The results of all ended calls with the same label.
///
/// # Examples
///
/// ```
/// use nanopace_load::{Done, LabelReport, Load, Slot};
///
/// fn show(calls: LabelReport<'_>) {
///     println!("{}: {:?}, {:?}", calls.label(), calls.service_time(0.99), calls.response_time(0.99));
/// }
///
/// # fn main() -> Result<(), nanopace_load::LoadError> {
/// let load = Load::new("1k/s".parse()?).sessions(1).requests(100);
/// let report = load.run_blocking(|slot: Slot| {
///     Ok(Done::new().items(2).label(if slot.number() % 10 == 0 { "write" } else { "read" }))
/// })?;
/// for calls in report.labels() {
///     let expected = if calls.label() == "write" { 10 } else { 90 };
///     assert_eq!((calls.completed(), calls.failed()), (expected, 0));
///     assert_eq!(calls.items(), 2 * expected);
///     show(calls);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LabelReport<'report>(&'report Labelled);

impl LabelReport<'_> {
    /// Returns the label.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.0.label
    }

    /// Returns the number of calls that succeeded.
    #[must_use]
    pub fn completed(&self) -> u64 {
        self.0.service.len()
    }

    /// Returns the number of calls that failed.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.0.bounds.len()
    }

    /// Returns the number of items in the responses to these calls.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.0.traffic.items
    }

    /// Returns the service time at a quantile as [`Report::service_time`] does, but with two significant digits.
    #[must_use]
    pub fn service_time(&self, quantile: f64) -> Option<Duration> {
        time(Sample::exact(&self.0.service), quantile)
    }

    /// Returns the response time at a quantile as [`Report::response_time`] does, but with two significant digits.
    #[must_use]
    pub fn response_time(&self, quantile: f64) -> Option<Duration> {
        time(self.0.responses(), quantile)
    }
}

/// The 95 % confidence interval of a quantile of times. In about 95 of 100 runs, the interval contains the true value.
/// It is computed from one run, and accounts for the dependence between consecutive times.
///
/// # Examples
///
/// ```
/// use nanopace_load::{Done, Load, Report, Slot, TimeInterval};
/// use std::time::Duration;
///
/// /// Whether the interval is reliable and does not exceed the limit.
/// fn is_below(interval: TimeInterval, limit: Duration) -> bool {
///     !interval.is_rough() && interval.high().is_some_and(|high| high <= limit)
/// }
///
/// # fn main() -> Result<(), nanopace_load::LoadError> {
/// let load = Load::new("1k/s".parse()?).duration(Duration::from_millis(1_500));
/// let report: Report = load.run_blocking(|_: Slot| Ok(Done::new()))?;
/// if let Some(p99) = report.response_time_interval(0.99) {
///     println!("{:?} to {:?}: {}", p99.low(), p99.high(), is_below(p99, Duration::from_millis(10)));
/// }
/// let others = [report.wait_time_interval(0.99), report.service_time_interval(0.99)];
/// println!("wait and service time: {others:?}");
/// // The greatest time has no interval.
/// assert_eq!(report.response_time_interval(1.0), None);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeInterval(Range);

impl TimeInterval {
    /// Returns the lower end of the interval.
    #[must_use]
    pub fn low(&self) -> Duration {
        Duration::from_nanos(self.0.low)
    }

    /// Returns the upper end of the interval. Returns `None` if the upper end is greater than all measured times, or if
    /// it lies among times of which only a lower bound is known.
    #[must_use]
    pub fn high(&self) -> Option<Duration> {
        self.0.high.map(Duration::from_nanos)
    }

    /// Returns whether the interval is unreliable, because fewer than ten independent times lie above or below the
    /// quantile, or because an end of the interval is beyond the measured times.
    #[must_use]
    pub fn is_rough(&self) -> bool {
        self.0.is_rough
    }
}

fn interval(times: &Batched<'_>, quantile: f64) -> Option<TimeInterval> {
    times.range(quantile).map(TimeInterval)
}

fn time(sample: Sample<'_>, quantile: f64) -> Option<Duration> {
    let time = (!sample.is_empty()).then(|| sample.at_most(quantile.clamp(0.0, 1.0)));
    time.flatten().map(Duration::from_nanos)
}
