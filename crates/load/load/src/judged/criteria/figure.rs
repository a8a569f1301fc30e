//! Defines the figures that a criterion can name.

use super::times::Times;
use super::unit::{Unit, nanos};
use super::words::{look_up, name_of};
use crate::console::human::float;
use crate::load::own_times::{OwnTimes, Part};
use crate::results::confidence::Confidence;
use crate::results::labels::Labels;
use crate::results::percentiles::{Sample, quantile};
use crate::results::stats::OperationStats;
use hdrhistogram::Histogram;
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures<'run> {
    pub(crate) wait: &'run Histogram<u64>,
    pub(crate) service: &'run Histogram<u64>,
    pub(crate) response: Sample<'run>,
    pub(crate) setup: &'run Histogram<u64>,
    pub(crate) own: &'run [OwnTimes],
    pub(crate) due: u64,
    pub(crate) started: u64,
    pub(crate) completed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
    /// The number of requests that were retried because their connection was closed while idle.
    pub(crate) retried: u64,
    pub(crate) unfinished: u64,
    pub(crate) unstarted: u64,
    pub(crate) ratio: f64,
    pub(crate) achieved_hz: f64,
    pub(crate) gaps_within_25_percent: Option<f64>,
    pub(crate) target_lateness: Duration,
    pub(crate) generator_lateness: Duration,
    pub(crate) confidence: Option<&'run Confidence<'run>>,
    pub(crate) labels: Option<&'run Labels>,
}

impl<'run> Figures<'run> {
    /// Returns the figures that are known during a run. The other figures, such as the times of the parts of responses,
    /// are known only at its end.
    pub(crate) fn so_far(stats: &'run OperationStats) -> Figures<'run> {
        Figures {
            wait: &stats.wait,
            service: &stats.service,
            response: stats.responses(),
            setup: &stats.set_ups.all,
            own: &[],
            due: stats.due(),
            started: stats.started(),
            completed: stats.completed(),
            failed: stats.failed(),
            skipped: stats.skipped,
            retried: stats.traffic.retried,
            unfinished: stats.unfinished,
            unstarted: stats.unstarted,
            ratio: float(stats.started()) / float(stats.due()),
            achieved_hz: f64::NAN,
            gaps_within_25_percent: None,
            target_lateness: Duration::from_secs_f64(stats.lateness.target),
            generator_lateness: Duration::from_secs_f64(stats.lateness.generator),
            confidence: None,
            labels: Some(&stats.labels),
        }
    }

    pub(crate) fn of_label(&self, label: &str) -> Option<Figures<'run>> {
        let labelled = self.labels?.iter().find(|labelled| labelled.label == label)?;
        let (completed, failed) = (labelled.completed(), labelled.failed());
        Some(Figures {
            service: &labelled.service,
            response: labelled.responses(),
            started: completed + failed,
            completed,
            failed,
            ..*self
        })
    }

    pub(crate) fn times(&self, times: Times) -> Option<Sample<'run>> {
        let own = |part| self.own.iter().find(|own| own.part == part);
        Some(match times {
            Times::Wait => Sample::exact(self.wait),
            Times::Service => Sample::exact(self.service),
            Times::Response => self.response,
            Times::Setup => Sample::exact(self.setup),
            Times::Of(part) => Sample::exact(&own(part)?.times),
        })
    }
}

/// A range that contains the value of a figure. Its two ends differ only if some of the times are lower bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Value {
    pub(crate) least: f64,
    pub(crate) most: f64,
    /// The number of recorded times that are only lower bounds, and the number of all recorded times.
    pub(crate) bounds: (u64, u64),
}

impl Value {
    fn exact(value: f64) -> Option<Value> {
        value.is_finite().then_some(Value { least: value, most: value, bounds: (0, 0) })
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Figure {
    Of(Statistic, Times),
    /// The distance from this percentile to the farther end of its confidence interval, divided by the percentile.
    Confidence(f64, Times),
    Single(Single),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Statistic {
    /// A percentile from 0 to 100.
    Percentile(f64),
    Mean,
    Min,
    Max,
    Count,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Single {
    Due,
    Started,
    Completed,
    Failed,
    Skipped,
    Retried,
    Unfinished,
    Unstarted,
    Errors,
    Ratio,
    Gaps,
    Achieved,
    TargetLateness,
    GeneratorLateness,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Better {
    Less,
    More,
}

const STATISTICS: [(&str, Statistic); 4] = [
    ("mean", Statistic::Mean),
    ("min", Statistic::Min),
    ("max", Statistic::Max),
    ("count", Statistic::Count),
];

const SINGLES: [(&str, Single); 14] = [
    ("due", Single::Due),
    ("started", Single::Started),
    ("completed", Single::Completed),
    ("failed", Single::Failed),
    ("skipped", Single::Skipped),
    ("retried", Single::Retried),
    ("unfinished", Single::Unfinished),
    ("unstarted", Single::Unstarted),
    ("errors", Single::Errors),
    ("ratio", Single::Ratio),
    ("gaps", Single::Gaps),
    ("achieved", Single::Achieved),
    ("lateness target", Single::TargetLateness),
    ("lateness generator", Single::GeneratorLateness),
];

impl Figure {
    pub(crate) fn named(name: &str) -> Option<Figure> {
        if let Some(of) = name.strip_prefix("confidence ") {
            return Figure::confidence(of);
        }
        let of = |first, second| Some(Figure::Of(Statistic::named(first)?, Times::named(second)?));
        let (first, second) = name.split_once(' ').unwrap_or((name, ""));
        let single = Single::named(name).map(Figure::Single);
        single.or_else(|| of(first, second)).or_else(|| of(second, first))
    }

    fn confidence(of: &str) -> Option<Figure> {
        match Figure::named(of).or_else(|| Figure::named(&format!("{of} response")))? {
            Figure::Of(Statistic::Percentile(percent), times) => {
                let is_known = percent > 0.0 && percent < 100.0 && times.is_in_batches();
                is_known.then_some(Figure::Confidence(percent, times))
            }
            _ => None,
        }
    }

    pub(crate) fn is_by_label(self) -> bool {
        match self {
            Figure::Of(_, times) => matches!(times, Times::Service | Times::Response),
            Figure::Confidence(..) => false,
            Figure::Single(single) => {
                matches!(single, Single::Errors | Single::Completed | Single::Failed)
            }
        }
    }

    pub(crate) fn unit(self) -> Unit {
        match self {
            Figure::Of(Statistic::Count, _) => Unit::Count,
            Figure::Of(..) => Unit::Time,
            Figure::Confidence(..) => Unit::Share,
            Figure::Single(single) => single.unit(),
        }
    }

    pub(crate) fn value(self, figures: &Figures<'_>) -> Option<Value> {
        match self {
            Figure::Of(statistic, times) => statistic.value(figures.times(times)?),
            Figure::Confidence(..) => self.reach(figures.confidence?).and_then(Value::exact),
            Figure::Single(single) => single.value(figures).and_then(Value::exact),
        }
    }

    pub(crate) fn reach(self, confidence: &Confidence<'_>) -> Option<f64> {
        let Figure::Confidence(percent, times) = self else { return None };
        times.batched(confidence)?.reach(quantile(percent))
    }

    pub(crate) fn better(self) -> Option<Better> {
        match self {
            Figure::Of(Statistic::Count, _) | Figure::Confidence(..) => None,
            Figure::Of(..) => Some(Better::Less),
            Figure::Single(single) => single.better(),
        }
    }

    pub(crate) fn without_waiting(self) -> Figure {
        match self {
            Figure::Of(statistic, times) => Figure::Of(statistic, times.without_waiting()),
            other => other,
        }
    }

    pub(crate) fn part(self) -> Option<Part> {
        match self {
            Figure::Of(_, Times::Of(part)) => Some(part),
            _ => None,
        }
    }

    pub(crate) fn is_about_waiting(self) -> bool {
        match self {
            Figure::Of(_, times) => times == Times::Wait,
            Figure::Confidence(..) => false,
            Figure::Single(single) => matches!(
                single,
                Single::Ratio
                    | Single::Unstarted
                    | Single::Skipped
                    | Single::TargetLateness
                    | Single::GeneratorLateness
            ),
        }
    }

    pub(crate) fn is_about_load(self) -> bool {
        let about =
            [Single::Started, Single::Skipped, Single::Unstarted, Single::Ratio, Single::Achieved];
        matches!(self, Figure::Single(single) if about.contains(&single))
    }

    /// Returns the smaller share of requests on one side of a percentile.
    pub(crate) fn tail(self) -> Option<f64> {
        let Figure::Of(Statistic::Percentile(percent), _) = self else { return None };
        Some(percent.min(100.0 - percent) / 100.0)
    }

    pub(crate) fn verb(self) -> &'static str {
        if matches!(self, Figure::Single(Single::Errors | Single::Gaps)) { "are" } else { "is" }
    }

    pub(crate) fn absence(self) -> &'static str {
        match self {
            Figure::Of(..) => "no such time was recorded",
            Figure::Confidence(..) => "too few requests for a reliable interval",
            Figure::Single(Single::Errors) => "no request was started",
            Figure::Single(Single::Ratio) => "no slot was due",
            Figure::Single(Single::Gaps) => "no gap between even arrivals was measured",
            Figure::Single(Single::Completed | Single::Failed) => "no request has this label",
            Figure::Single(_) => "too few requests were started",
        }
    }
}

impl Display for Figure {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Figure::Of(Statistic::Percentile(percent), times) => {
                write!(f, "p{percent} {times}")
            }
            Figure::Of(statistic, times) => {
                write!(f, "{} {}", name_of(&STATISTICS, *statistic), times)
            }
            Figure::Confidence(percent, times) => {
                write!(f, "confidence p{percent} {times}")
            }
            Figure::Single(single) => f.write_str(name_of(&SINGLES, *single)),
        }
    }
}

impl Statistic {
    pub(crate) fn named(name: &str) -> Option<Statistic> {
        look_up(&STATISTICS, name).or_else(|| percentile(name).map(Statistic::Percentile))
    }

    pub(crate) fn value(self, sample: Sample<'_>) -> Option<Value> {
        let least = self.of(sample.times)?;
        let most = self.at_most(sample).unwrap_or(f64::INFINITY);
        Some(Value { least, most, bounds: (sample.at_least(), sample.times.len()) })
    }

    fn of(self, times: &Histogram<u64>) -> Option<f64> {
        Some(match self {
            Statistic::Count => float(times.len()),
            _ if times.is_empty() => return None,
            Statistic::Percentile(percent) => float(times.value_at_quantile(quantile(percent))),
            Statistic::Mean => times.mean(),
            Statistic::Min => float(times.min()),
            Statistic::Max => float(times.max()),
        })
    }

    /// Returns the value of the statistic if the times of which only a lower bound is known are infinite. Returns
    /// `None` if the value is then infinite.
    fn at_most(self, sample: Sample<'_>) -> Option<f64> {
        match self {
            _ if self == Statistic::Count || sample.at_least() == 0 => self.of(sample.times),
            Statistic::Percentile(percent) => sample.at_most(quantile(percent)).map(float),
            Statistic::Min => sample.at_most(0.0).map(float),
            _ => None,
        }
    }
}

impl Single {
    pub(crate) fn named(name: &str) -> Option<Single> {
        look_up(&SINGLES, name)
    }

    fn better(self) -> Option<Better> {
        match self {
            Single::Due | Single::Started | Single::Completed | Single::Achieved => None,
            Single::Ratio | Single::Gaps => Some(Better::More),
            _ => Some(Better::Less),
        }
    }

    fn unit(self) -> Unit {
        match self {
            Single::Errors | Single::Ratio | Single::Gaps => Unit::Share,
            Single::Achieved => Unit::Rate,
            Single::TargetLateness | Single::GeneratorLateness => Unit::Time,
            _ => Unit::Count,
        }
    }

    fn value(self, figures: &Figures<'_>) -> Option<f64> {
        Some(match self {
            Single::Due => float(figures.due),
            Single::Started => float(figures.started),
            Single::Completed => float(figures.completed),
            Single::Failed => float(figures.failed),
            Single::Skipped => float(figures.skipped),
            Single::Retried => float(figures.retried),
            Single::Unfinished => float(figures.unfinished),
            Single::Unstarted => float(figures.unstarted),
            // If no request was started, the share is not a finite number.
            Single::Errors => float(figures.failed) / float(figures.started),
            Single::Ratio if figures.due == 0 => return None,
            Single::Ratio => figures.ratio,
            Single::Gaps => return figures.gaps_within_25_percent,
            Single::Achieved => figures.achieved_hz,
            Single::TargetLateness => nanos(figures.target_lateness),
            Single::GeneratorLateness => nanos(figures.generator_lateness),
        })
    }
}

fn percentile(name: &str) -> Option<f64> {
    let digits = name.strip_prefix('p')?;
    let plain = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || c == '.');
    digits.parse().ok().filter(|percent| plain && (0.0..=100.0).contains(percent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back() {
        let singles = SINGLES.map(|(_, single)| Figure::Single(single));
        let statistics = STATISTICS.map(|(_, statistic)| statistic);
        let percentiles = [0.0, 50.0, 99.9, 99.999, 100.0].map(Statistic::Percentile);
        let asked = statistics.into_iter().chain(percentiles);
        let of =
            asked.flat_map(|statistic| Times::ALL.map(|(_, times)| Figure::Of(statistic, times)));
        let kept = [Times::Wait, Times::Service, Times::Response];
        let sure = kept.map(|times| Figure::Confidence(99.9, times));
        for figure in singles.into_iter().chain(of).chain(sure) {
            assert_eq!(Figure::named(&figure.to_string()), Some(figure), "{figure}");
        }
    }

    #[test]
    fn confidence_is_of_a_percentile_that_batches_have() {
        let named = |name: &str| Figure::named(name);
        assert_eq!(named("confidence p99"), Some(Figure::Confidence(99.0, Times::Response)));
        assert_eq!(named("confidence wait p50"), Some(Figure::Confidence(50.0, Times::Wait)));
        for of in [
            "p100",
            "p0 service",
            "p99 setup",
            "p99 item-gap",
            "mean",
            "mean wait",
            "errors",
            "confidence p99",
        ] {
            assert_eq!(named(&format!("confidence {of}")), None, "{of}");
        }
    }

    #[test]
    fn percentiles_go_from_0_to_100() {
        for (name, percent) in
            [("p0", 0.0), ("p50", 50.0), ("p99.90", 99.9), ("p099", 99.0), ("p100", 100.0)]
        {
            assert_eq!(percentile(name), Some(percent), "{name}");
        }
        for name in ["p", "p101", "p100.1", "p.5", "p-1", "p+5", "p1e1", "pnan", "pinf", "p9.9.9"] {
            assert_eq!(percentile(name), None, "{name}");
        }
    }

    #[test]
    fn a_percentile_names_the_rank_that_its_decimals_say() {
        let mut times = Histogram::<u64>::new(4).unwrap();
        (1..=1000).for_each(|time| times.record(time).unwrap());
        for n in 1..=1000_u16 {
            let percent = percentile(&format!("p{}.{}", n / 10, n % 10)).unwrap();
            let value = Statistic::Percentile(percent).of(&times);
            assert_eq!(value, Some(f64::from(n)), "p{percent}");
        }
    }
}
