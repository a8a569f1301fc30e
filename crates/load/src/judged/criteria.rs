//! Criteria: what `--fail-if` requires of a run.
//!
//! A criterion is a requirement that must hold: `p99 response < 50ms`. It is a figure, an operator
//! and a limit. Blanks are free, and the names of figures may be in capitals.
//!
//! - `p99`, `p99.9`, any percentile from `p0` to `p100`, `mean`, `min` or `max`, of `wait`,
//!   `service`, `response` or `setup` times (those of connections), in this order or the other.
//!   The limit is a time: `50ms`, `1.5s`.
//! - `count`, of the same times. The limit is a count.
//! - `due`, `started`, `completed`, `failed`, `skipped`, `unfinished`, `unstarted`: counts.
//! - `errors` (failed per started), `ratio` (achieved rate per asked), `gaps` (the share of them within
//!   25 % of nominal). The limit is a share: `0.1%`, `0.001`.
//! - `achieved`: started per second. The limit is a rate: `4.9k/s`.
//! - `lateness target`, `lateness generator`: times.
//!
//! Times are as exact as the histograms they come from, in which every value is the largest of its
//! bucket (the smallest for `min`). A message about a miss shows as many digits as it takes to see
//! it.
//!
//! The operators are `<`, `<=`, `>`, `>=` and `=`, also written `==`.
//!
//! A response that did not come took at least until it was given up, which is a lower bound. It counts as
//! infinite where less is wanted, and as it is where more is wanted.
//!
//! A figure that a run doesn't have misses every criterion. Who asks for a p99 of response times
//! wants to know that nothing was answered.

mod figure;
mod misnamed;
mod operator;
mod unit;
mod words;

pub(crate) use figure::Figures;
pub(crate) use words::CriterionError;

use crate::recorded::percentiles::Sample;
use figure::{Better, Figure, Single, Value};
use operator::Operator;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;
use std::time::Duration;
use unit::{Limit, Unit};
use words::Parts;

/// A requirement on a figure of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Criterion {
    figure: Figure,
    operator: Operator,
    limit: Limit,
}

/// A criterion that did not hold, and the figure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Missed<'run> {
    criterion: &'run Criterion,
    actual: Option<Value>,
}

impl Criterion {
    /// At least this share of the rate that was asked for is achieved.
    pub(crate) fn at_least_ratio(share: f64) -> Criterion {
        let limit = Limit { value: share, text: share.to_string() };
        Criterion { figure: Figure::Single(Single::Ratio), operator: Operator::AtLeast, limit }
    }

    /// What a run requires if no criterion [names errors](Criterion::names_errors): at most one
    /// request in a hundred fails.
    pub(crate) fn default_errors() -> Criterion {
        let limit = Limit { value: 0.01, text: "1%".to_owned() };
        Criterion { figure: Figure::Single(Single::Errors), operator: Operator::AtMost, limit }
    }

    /// Whether the criterion is about `errors` or `failed`.
    pub(crate) fn names_errors(&self) -> bool {
        matches!(self.figure, Figure::Single(Single::Errors | Single::Failed))
    }

    /// Whether it is about how much of the load was started.
    pub(crate) fn names_load(&self) -> bool {
        self.figure.is_about_load()
    }

    /// Whether it is about the ratio.
    pub(crate) fn names_ratio(&self) -> bool {
        matches!(self.figure, Figure::Single(Single::Ratio))
    }

    /// Whether a higher rate can only break it: then there is a highest rate at which it holds.
    pub(crate) fn breaks_above_a_rate(&self) -> bool {
        match self.figure.is_better() {
            Some(Better::Less) => matches!(self.operator, Operator::Below | Operator::AtMost),
            Some(Better::More) => matches!(self.operator, Operator::Above | Operator::AtLeast),
            None => false,
        }
    }

    /// Whether it would hold, had no request waited for its start.
    pub(crate) fn holds_without_waiting(&self, figures: &Figures<'_>) -> bool {
        self.figure.is_about_waiting()
            || self
                .check(&Figures { response: Sample::exact(figures.service), ..*figures })
                .is_none()
    }

    /// The share of the requests that it is decided by: of a 99th percentile, a hundredth. None if
    /// all of them count.
    pub(crate) fn deciding_share(&self) -> Option<f64> {
        let is_errors = matches!(self.figure, Figure::Single(Single::Errors));
        let share = if is_errors { Some(self.limit.value) } else { self.figure.tail() };
        share.filter(|share| *share > 0.0)
    }

    /// How many of so many requests may fail. With more it can't hold, whatever becomes of the others.
    pub(crate) fn most_failures(&self, requests: f64) -> Option<f64> {
        let most = match self.figure {
            Figure::Single(Single::Errors) => self.limit.value * requests,
            Figure::Single(Single::Failed) => self.limit.value,
            _ => return None,
        };
        self.breaks_above_a_rate().then_some(most)
    }

    /// Its figure, by name.
    pub(crate) fn name(&self) -> String {
        self.figure.to_string()
    }

    /// Its figure in a run, in its unit: nanoseconds, if it is a time. At least, if that is all that is
    /// known.
    pub(crate) fn value(&self, figures: &Figures<'_>) -> Option<f64> {
        self.figure.value(figures).map(|value| value.least)
    }

    /// Its limit, if it is a time.
    pub(crate) fn time_limit(&self) -> Option<Duration> {
        let is_time = self.figure.unit() == Unit::Time;
        let limit = Duration::try_from_secs_f64(self.limit.value * 1e-9);
        limit.ok().filter(|_| is_time)
    }

    /// Its figure in a run, for people: on the same side of the limit as it is.
    pub(crate) fn shown(&self, figures: &Figures<'_>) -> String {
        self.figure.value(figures).map_or_else(|| "unknown".to_owned(), |value| self.text(value))
    }

    /// A value on the same side of the limit as it is; with a sign, if it is not known exactly.
    fn text(&self, Value { least, most, .. }: Value) -> String {
        let (sign, value) = match () {
            () if most.is_infinite() => (">=", least),
            () if least < most => ("<=", most),
            () => ("", most),
        };
        let is_same_side = |shown| self.holds(shown) == self.holds(value);
        sign.to_owned() + &self.figure.unit().show(value, &self.limit, is_same_side)
    }

    /// Nothing if the criterion holds.
    pub(crate) fn check(&self, figures: &Figures<'_>) -> Option<Missed<'_>> {
        let actual = self.figure.value(figures);
        // Wherever it lies, as far as is known.
        let holds = |value: Value| self.holds(value.least) && self.holds(value.most);
        (!actual.is_some_and(holds)).then_some(Missed { criterion: self, actual })
    }

    fn holds(&self, value: f64) -> bool {
        self.operator.holds(value, self.limit.value)
    }
}

/// What does not hold, in words. If no criterion is about errors, few of them are allowed.
pub(crate) fn missed(criteria: &[Criterion], figures: &Figures<'_>) -> Vec<String> {
    let default = Criterion::default_errors();
    let is_named = figures.started == 0 || criteria.iter().any(Criterion::names_errors);
    let all = criteria.iter().chain((!is_named).then_some(&default));
    all.filter_map(|criterion| criterion.check(figures)).map(|missed| missed.to_string()).collect()
}

impl FromStr for Criterion {
    type Err = CriterionError;

    fn from_str(text: &str) -> Result<Criterion, CriterionError> {
        let Parts { figure: words, operator, limit } = Parts::split(text)?;
        let names: Vec<_> = words.iter().map(|word| word.text.to_ascii_lowercase()).collect();
        let figure = Figure::named(&names.join(" ")).ok_or_else(|| misnamed::misnamed(&words))?;
        let operator = Operator::read(&operator)?;
        Ok(Criterion { figure, operator, limit: figure.unit().limit(&limit)? })
    }
}

/// The criterion as it is read; its limit as it was written.
impl Display for Criterion {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.figure, self.operator, self.limit.text)
    }
}

impl Display for Missed<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Criterion { figure, operator, limit } = self.criterion;
        match self.actual {
            Some(actual) => {
                write!(f, "{figure} {} {}", figure.verb(), self.criterion.text(actual))?;
                let Value { least, most, bounds: (bounds, times) } = actual;
                if least < most {
                    write!(f, " ({bounds} of {times} times are lower bounds)")?;
                }
            }
            None => write!(f, "{figure} {} unknown ({})", figure.verb(), figure.absence())?,
        }
        write!(f, ", wanted {operator} {}", limit.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;
    use proptest::prelude::*;

    fn read(text: &str) -> Criterion {
        text.parse().unwrap_or_else(|error| panic!("{text:?}: {error}"))
    }

    fn told(text: &str) -> String {
        text.parse::<Criterion>().expect_err(text).to_string()
    }

    /// Histograms of whole milliseconds, exact to a thousandth.
    fn times(ms: impl IntoIterator<Item = u64>) -> Histogram<u64> {
        let mut times = Histogram::new(3).unwrap();
        ms.into_iter().for_each(|ms| times.record(ms * 1_000_000).unwrap());
        times
    }

    /// What is wanted, in a run of 1000 slots over 10 s. 990 requests started; 980 were answered
    /// well, the service times being 1 to 980 ms; 7 failed and 3 had no answer yet.
    fn check(criterion: &str) -> Option<String> {
        let (none, service) = (times([]), times(1..=980));
        let figures = Figures {
            wait: &times([0, 0, 2_000]),
            service: &service,
            response: Sample::exact(&service),
            setup: &none,
            due: 1000,
            started: 990,
            completed: 980,
            failed: 7,
            skipped: 4,
            unfinished: 3,
            unstarted: 6,
            ratio: 0.99,
            achieved_hz: 99.0,
            gaps_within_25_percent: Some(0.95),
            target_lateness: Duration::from_millis(1_100),
            generator_lateness: Duration::ZERO,
        };
        read(criterion).check(&figures).map(|missed| missed.to_string())
    }

    #[test]
    fn texts_and_what_they_mean() {
        for (text, meaning) in [
            ("p99 response < 50ms", "p99 response < 50ms"),
            ("response p99<50ms", "p99 response < 50ms"),
            ("  P99.90\tWait  <=  1s   500ms ", "p99.9 wait <= 1s 500ms"),
            ("ERRORS<0.1 %", "errors < 0.1 %"),
            ("ratio>0.99", "ratio > 0.99"),
            ("max wait <= 2s", "max wait <= 2s"),
            ("mean service < 3ms", "mean service < 3ms"),
            ("skipped == 0", "skipped = 0"),
            ("skipped = 0", "skipped = 0"),
            ("count setup = 16", "count setup = 16"),
            ("achieved > 4.9k/s", "achieved > 4.9k/s"),
            ("gaps > 95%", "gaps > 95%"),
            ("lateness  Generator < 1s", "lateness generator < 1s"),
        ] {
            assert_eq!(read(text).to_string(), meaning, "{text}");
        }
    }

    #[test]
    fn errors_point_at_the_column_and_say_what_to_write() {
        for (text, expected) in [
            ("", "column 1: it is empty; write for example p99 response < 50ms"),
            ("   ", "column 1: it is empty; write for example"),
            ("< 5ms", r#"column 1: nothing stands before "<"; write for example"#),
            ("p99 response", "column 5: there is no operator; write <, <=, >, >= or ="),
            (
                "p99 respnse < 50ms",
                r#"column 5: "respnse" is not a figure; write wait, service, response or setup"#,
            ),
            ("p101 wait < 1s", r#"column 1: "p101" is not a figure; write mean, min, max, count"#),
            ("wait p101 < 1s", r#"column 6: "p101" is not a figure; write mean, min, max, count"#),
            ("respnse p99 < 1s", r#"column 1: "respnse" is not a figure; write wait,"#),
            ("p99 < 1s", r#"column 1: "p99" needs a second word; write for example p99 response"#),
            ("wait < 1s", r#"column 1: "wait" needs a second word; write for example p99"#),
            ("lateness < 1s", r#"column 1: "lateness" needs a second word; write lateness target"#),
            ("lateness us < 1s", r#"column 10: "us" is not a figure; write lateness target or"#),
            ("error < 1%", r#"column 1: "error" is not a figure; write p99 response, mean wait,"#),
            (
                "failed requests < 5",
                r#"column 8: "requests" is a word too many; write only failed"#,
            ),
            ("requests failed < 5", r#"column 1: "requests" is not a figure; write only failed"#),
            ("p99 response is < 5ms", r#"column 14: "is" is a word too many; write for example"#),
            ("skipped != 0", r#"column 9: "!=" is not an operator; write <, <=, >, >= or ="#),
            ("skipped =< 0", r#"column 9: "=<" is not an operator"#),
            ("skipped ≤ 0", r#"column 9: "≤" is not an operator"#),
            ("skipped <", "column 9: nothing follows the operator; write a whole number"),
            ("max wait < 50", r#"column 12: "50" is not a time; write a number and its unit"#),
            ("errors < 5", r#"column 10: "5" is not a share of at most 1; write for example 0.1%"#),
            ("failed < 1%", r#"column 10: "1%" is not a count; write a whole number"#),
            ("achieved > 0", r#"column 12: "0" is not a rate; write for example 500/s"#),
            ("p99 wait < 5ms < 6ms", r#"column 12: "5ms < 6ms" is not a time"#),
            ("p99 größe < 5ms", r#"column 5: "größe" is not a figure"#),
            ("größe < 5\nms", r#"column 1: "größe" is not a figure"#),
            ("skipped < 5\nms", r#"column 11: "5 ms" is not a count"#),
        ] {
            assert!(told(text).starts_with(expected), "{text:?}: {}", told(text));
        }
    }

    #[test]
    fn figures_are_compared_with_their_limits() {
        for holds in [
            "p50 service <= 491ms",
            "p99 response < 972ms",
            "max wait < 2.01s",
            "min service > 999us",
            "mean service < 491ms",
            "count wait = 3",
            "count setup = 0",
            "due = 1000",
            "started = 990",
            "completed >= 980",
            "failed = 7",
            "skipped = 4",
            "unfinished = 3",
            "unstarted <= 6",
            "errors < 0.71%",
            "ratio >= 99%",
            "ratio = 0.99",
            "achieved = 99/s",
            "gaps >= 95%",
            "lateness target = 1.1s",
            "lateness generator = 0s",
        ] {
            assert_eq!(check(holds), None, "{holds}");
        }
    }

    #[test]
    fn what_is_missed_says_what_was_and_what_was_wanted() {
        for (text, missed) in [
            ("p50 service < 50ms", "p50 service is 490ms, wanted < 50ms"),
            ("mean wait < 50ms", "mean wait is 667ms, wanted < 50ms"),
            ("errors < 0.1%", "errors are 0.71%, wanted < 0.1%"),
            ("failed < 7", "failed is 7, wanted < 7"),
            ("ratio > 0.99", "ratio is 0.99, wanted > 0.99"),
            ("skipped == 0", "skipped is 4, wanted = 0"),
            ("gaps > 95%", "gaps are 95.0%, wanted > 95%"),
            ("achieved > 4.9k/s", "achieved is 99.0/s, wanted > 4.9k/s"),
            ("lateness target < 1s", "lateness target is 1.10s, wanted < 1s"),
            ("max setup < 1s", "max setup is unknown (no such time was recorded), wanted < 1s"),
        ] {
            assert_eq!(check(text).as_deref(), Some(missed), "{text}");
        }
    }

    /// 500 times, of which 460 are 1 ms, and 40 are known to be at least 350 ms.
    fn check_bounded(criterion: &str) -> Option<String> {
        let (none, bounds) = (times([]), times([350; 40]));
        let all = times([1; 460].into_iter().chain([350; 40]));
        let figures = Figures {
            wait: &none,
            service: &none,
            response: Sample::bounded(&all, &bounds),
            setup: &none,
            due: 500,
            started: 500,
            completed: 460,
            failed: 0,
            skipped: 0,
            unfinished: 40,
            unstarted: 0,
            ratio: 1.0,
            achieved_hz: 100.0,
            gaps_within_25_percent: None,
            target_lateness: Duration::ZERO,
            generator_lateness: Duration::ZERO,
        };
        read(criterion).check(&figures).map(|missed| missed.to_string())
    }

    #[test]
    fn a_lower_bound_is_never_short_enough() {
        for holds in [
            "p92 response < 2ms",
            "p50 response <= 1.01ms",
            "min response < 2ms",
            "p99 response > 300ms",
            "max response >= 350ms",
            "mean response > 28ms",
            "count response = 500",
        ] {
            assert_eq!(check_bounded(holds), None, "{holds}");
        }
        for (text, shown) in [
            ("p99 response < 500ms", ">=350ms"),
            ("p99 response <= 300ms", ">=350ms"),
            ("p92.1 response < 1h", ">=350ms"),
            ("max response < 1h", ">=350ms"),
            ("mean response < 1h", ">=28.9ms"),
            ("p99 response > 500ms", ">=350ms"),
            ("max response = 350ms", ">=350.2ms"),
        ] {
            let missed = check_bounded(text).unwrap_or_default();
            let told = format!("{shown} (40 of 500 times are lower bounds), wanted");
            assert!(missed.contains(&told), "{text}: {missed}");
        }
    }

    #[test]
    fn short_lower_bounds_do_not_hide_what_was_measured() {
        // Half are given up at once: the median may be as long as the longest of the others.
        let (none, bounds) = (times([]), times([0; 4]));
        let all = times([0, 0, 0, 0, 10, 20, 30, 40]);
        let figures = Figures {
            response: Sample::bounded(&all, &bounds),
            wait: &none,
            service: &none,
            setup: &none,
            due: 8,
            started: 8,
            completed: 4,
            failed: 4,
            skipped: 0,
            unfinished: 0,
            unstarted: 0,
            ratio: 1.0,
            achieved_hz: 1.0,
            gaps_within_25_percent: None,
            target_lateness: Duration::ZERO,
            generator_lateness: Duration::ZERO,
        };
        let missed = |text: &str| read(text).check(&figures).map(|missed| missed.to_string());
        assert_eq!(missed("p50 response < 41ms"), None);
        assert_eq!(
            missed("p50 response < 40ms").as_deref(),
            Some("p50 response is <=40.0ms (4 of 8 times are lower bounds), wanted < 40ms")
        );
        assert_eq!(missed("p25 response < 21ms"), None);
    }

    #[test]
    fn each_operator_at_its_limit() {
        for (operator, holds) in [
            ("<", [true, false, false]),
            ("<=", [true, true, false]),
            (">", [false, false, true]),
            (">=", [false, true, true]),
            ("=", [false, true, false]),
        ] {
            for (limit, holds) in ["8", "7", "6"].into_iter().zip(holds) {
                let text = format!("failed {operator} {limit}");
                assert_eq!(check(&text).is_none(), holds, "{text}, and 7 failed");
            }
        }
    }

    #[test]
    fn a_run_without_a_figure_misses_every_criterion_about_it() {
        let none = times([]);
        let figures = Figures {
            wait: &none,
            service: &none,
            response: Sample::exact(&none),
            setup: &none,
            due: 0,
            started: 0,
            completed: 0,
            failed: 0,
            skipped: 0,
            unfinished: 0,
            unstarted: 0,
            ratio: f64::NAN,
            achieved_hz: f64::NAN,
            gaps_within_25_percent: None,
            target_lateness: Duration::ZERO,
            generator_lateness: Duration::ZERO,
        };
        for (figure, limit, unknown) in [
            ("p99 response", "1s", "p99 response is unknown (no such time was recorded)"),
            ("mean wait", "1s", "mean wait is unknown (no such time was recorded)"),
            ("errors", "1%", "errors are unknown (no request was started)"),
            ("ratio", "1", "ratio is unknown (no slot fell due)"),
            ("gaps", "1", "gaps are unknown (too few requests were started)"),
            ("achieved", "1/s", "achieved is unknown (too few requests were started)"),
        ] {
            for operator in ["<", "<=", ">", ">=", "="] {
                let criterion = read(&format!("{figure} {operator} {limit}"));
                let missed = criterion.check(&figures).map(|missed| missed.to_string());
                assert_eq!(missed, Some(format!("{unknown}, wanted {operator} {limit}")));
            }
        }
        assert_eq!(read("failed = 0").check(&figures), None);
    }

    #[test]
    fn the_criteria_of_options_are_those_that_could_be_written() {
        assert_eq!(Criterion::at_least_ratio(0.99), read("ratio >= 0.99"));
        assert_eq!(Criterion::at_least_ratio(1.0), read("ratio >= 1"));
        assert_eq!(Criterion::default_errors(), read("errors <= 1%"));
    }

    #[test]
    fn promises_break_above_a_rate() {
        for (text, breaks) in [
            ("p99 response < 50ms", true),
            ("max wait <= 1s", true),
            ("errors < 1%", true),
            ("unstarted <= 5", true),
            ("ratio > 0.99", true),
            ("gaps >= 90%", true),
            ("p99 response > 50ms", false),
            ("p99 response = 50ms", false),
            ("ratio < 0.99", false),
            ("count setup < 5", false),
            ("completed > 5", false),
            ("achieved > 5/s", false),
        ] {
            assert_eq!(read(text).breaks_above_a_rate(), breaks, "{text}");
        }
    }

    #[test]
    fn a_criterion_is_decided_by_the_rarest_requests() {
        for (text, share) in [
            ("p99 response < 50ms", Some(0.01)),
            ("p99.9 wait < 50ms", Some(0.001)),
            ("p5 wait < 50ms", Some(0.05)),
            ("max wait < 50ms", None),
            ("p100 wait < 50ms", None),
            ("mean wait < 50ms", None),
            ("errors < 0.1%", Some(0.001)),
            ("errors <= 0%", None),
            ("ratio > 0.9", None),
        ] {
            let told = read(text).deciding_share();
            assert_eq!(told.is_some(), share.is_some(), "{text}: {told:?}");
            assert!(told.zip(share).is_none_or(|(a, b)| (a - b).abs() < 1e-9), "{text}: {told:?}");
        }
    }

    #[test]
    fn errors_and_failures_are_about_errors() {
        for (text, names) in [
            ("errors < 1%", true),
            ("failed < 5", true),
            ("completed > 5", false),
            ("ratio > 0.9", false),
            ("p99 wait < 1s", false),
        ] {
            assert_eq!(read(text).names_errors(), names, "{text}");
        }
    }

    /// Pieces of texts that are nearly criteria.
    const PIECES: &str = "p99 p99.9 response wait errors ratio failed lateness target achieved x \
                          < <= = ! 50ms 0.1% 5k/s 7 nan 1e999 é ≤ µs % - . 99999999999999999999";

    fn nearly() -> impl Strategy<Value = String> {
        let pieces: Vec<_> = PIECES.split(' ').chain([" ", " ", "\t", "\n"]).collect();
        let piece = prop_oneof![proptest::sample::select(pieces).prop_map(str::to_owned), ".?"];
        proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn every_text_is_a_criterion_or_has_an_error_inside_it(
            text in prop_oneof![nearly(), ".*"],
        ) {
            match text.parse::<Criterion>() {
                Ok(criterion) => {
                    prop_assert_eq!(criterion.to_string().parse(), Ok(criterion));
                }
                Err(error) => {
                    let columns = 1..=text.chars().count().max(1);
                    prop_assert!(columns.contains(&error.column()), "{}", error);
                    prop_assert_eq!(error.to_string().lines().count(), 1);
                    prop_assert!(error.to_string().contains("; write "), "{}", error);
                }
            }
        }

        #[test]
        fn what_is_written_is_read_back(
            figure in proptest::sample::select(&["p99 response", "setup p0.1", "max wait"][..]),
            operator in proptest::sample::select(&["<", "<=", ">", ">=", "=", "=="][..]),
            ns in any::<u64>(),
        ) {
            let limit = humantime::format_duration(Duration::from_nanos(ns));
            let criterion = read(&format!("{figure}{operator}{limit}"));
            prop_assert_eq!(read(&criterion.to_string()), criterion);
        }
    }
}
