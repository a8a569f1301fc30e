//! Draws uncorrected times, as a closed-loop tool would report them, next to corrected times.

use super::times::{AT_LEAST, NONE};
use crate::console::human;
use crate::judged::verdict::Verdict;
use crate::results::percentiles::{Sample, at};
use std::fmt::{self, Display, Formatter};
use std::iter;
use std::time::Duration;

const POINTS: [(&str, f64); 9] = [
    ("p50", 0.5),
    ("p66", 0.66),
    ("p75", 0.75),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("p99.99", 0.9999),
    ("max", 1.0),
];

/// The shortest time with a bar. Each further character multiplies the time by [`STEP`], and five characters by ten.
const FIRST: Duration = Duration::from_micros(10);
const STEP: f64 = 1.584_893;

const NOTHING_COMPLETED: &str =
    "No request completed: there are no service times, and the response times are lower bounds.";

/// The maximum width of a bar in characters. It leaves room for the next column.
const WIDTH: usize = 30;

#[derive(Debug)]
pub(crate) struct Curve<'run> {
    pub(crate) uncorrected: Sample<'run>,
    pub(crate) corrected: Sample<'run>,
    pub(crate) verdict: Verdict,
}

impl Display for Curve<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{:<8}{:<40}corrected (response), log scale", "", "uncorrected (service)")?;
        for (name, quantile) in POINTS {
            let both = [self.uncorrected, self.corrected];
            let [left, right] = both.map(|sample| bar(at(sample.times, quantile)));
            let [uncorrected, corrected] = both
                .map(|sample| sample.shown(quantile, AT_LEAST).unwrap_or_else(|| NONE.to_owned()));
            writeln!(f, "{name:<7}{uncorrected:>8} {left:<WIDTH$} {corrected:>8} {right}")?;
        }
        if let Some(sentence) = self.hidden() {
            writeln!(f, "{sentence}")?;
        }
        writeln!(f)
    }
}

impl Curve<'_> {
    /// Returns a sentence about the times that uncorrected percentiles hide. Returns `None` for a closed loop, and if
    /// there are no times. If the generator was late or failing, also returns `None` where the curves differ, because
    /// the corrected curve then contains the generator's delays.
    pub(crate) fn hidden(&self) -> Option<String> {
        if self.corrected.is_empty() || self.verdict == Verdict::ClosedLoop {
            return None;
        }
        if self.uncorrected.is_empty() {
            return Some(NOTHING_COMPLETED.to_owned());
        }
        let [uncorrected, corrected] = [self.uncorrected.times, self.corrected.times];
        let hidden = |quantile| at(corrected, quantile).saturating_sub(at(uncorrected, quantile));
        let (name, quantile) =
            POINTS.into_iter().max_by_key(|&(_, quantile)| hidden(quantile)).unwrap_or(POINTS[0]);
        let (reported, right) = (at(uncorrected, quantile), at(corrected, quantile));
        if hidden(quantile) * 10 <= right {
            return Some(
                "The curves agree to within 10 %: a closed loop would hide little here.".to_owned(),
            );
        }
        let is_of_generator =
            [Verdict::GeneratorBehind, Verdict::BothBehind, Verdict::GeneratorFailing];
        if is_of_generator.contains(&self.verdict) {
            return None;
        }
        let times = right.as_secs_f64() / reported.as_secs_f64().max(1e-9);
        let [reported, right] = [reported, right].map(human::time);
        let at_least = if self.corrected.is_at_least(quantile) { "at least " } else { "" };
        Some(format!(
            "At {name} a closed-loop tool would report {reported}. Users waited for {at_least}{right}, {at_least}{times:.1} times as long."
        ))
    }
}

fn bar(time: Duration) -> String {
    iter::successors(Some(FIRST), |step| Some(step.mul_f64(STEP)))
        .take_while(|step| *step <= time)
        .take(WIDTH)
        .map(|_| '#')
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;

    fn histogram(values: impl IntoIterator<Item = u64>) -> Histogram<u64> {
        let mut histogram = Histogram::new(3).unwrap();
        values.into_iter().for_each(|ms| histogram.record(ms * 1_000_000).unwrap());
        histogram
    }

    #[test]
    fn bars_grow_with_the_logarithm() {
        for (time, length) in [
            (Duration::from_nanos(1), 0),
            (Duration::from_micros(10), 1),
            (Duration::from_micros(101), 6),
            (Duration::from_millis(11), 16),
            (Duration::from_secs(1_000_000), WIDTH),
        ] {
            assert_eq!(bar(time).len(), length, "{time:?}");
        }
    }

    /// Returns the uncorrected and the corrected times of 100 requests. One of them takes 2 s, and the others take 1
    /// ms. Every third request has to wait for the long one.
    fn stall() -> [Histogram<u64>; 2] {
        [
            histogram((0..100).map(|i| if i == 0 { 2_000 } else { 1 })),
            histogram((0..100).map(|i| if i % 3 == 0 { 2_000 - 20 * i } else { 1 })),
        ]
    }

    #[test]
    fn the_sentence_names_the_point_that_hides_most() {
        let times = stall();
        let [uncorrected, corrected] = [&times[0], &times[1]].map(Sample::exact);
        for verdict in [Verdict::OnSchedule, Verdict::TargetBehind] {
            let sentence = Curve { uncorrected, corrected, verdict }.hidden().unwrap();
            assert!(
                sentence.starts_with(
                    "At p99 a closed-loop tool would report 1.00ms. Users waited for 1.94s"
                ),
                "{sentence}"
            );
        }
    }

    #[test]
    fn a_late_generator_gets_no_sentence_about_hidden_times() {
        let times = stall();
        let [uncorrected, corrected] = [&times[0], &times[1]].map(Sample::exact);
        let shown = |verdict| Curve { uncorrected, corrected, verdict }.to_string();
        let (behind, followed) = (shown(Verdict::GeneratorBehind), shown(Verdict::TargetBehind));
        assert_eq!(shown(Verdict::BothBehind), behind);
        assert!(!behind.contains("closed-loop"), "{behind}");
        assert!(followed.starts_with(behind.trim_end()), "{behind}{followed}");
        assert!(behind.ends_with("\n\n") && followed.ends_with("\n\n"), "{behind}{followed}");
    }

    #[test]
    fn equal_curves_hide_nothing() {
        let times = histogram([5, 6, 7]);
        for verdict in [Verdict::OnSchedule, Verdict::GeneratorBehind, Verdict::BothBehind] {
            let [uncorrected, corrected] = [&times; 2].map(Sample::exact);
            let curve = Curve { uncorrected, corrected, verdict };
            assert!(curve.hidden().is_some_and(|sentence| sentence.contains("agree")));
        }
    }

    #[test]
    fn without_times_there_is_nothing_to_compare() {
        let (none, given_up) = (histogram([]), histogram([5, 6, 7]));
        for verdict in [Verdict::OnSchedule, Verdict::GeneratorBehind, Verdict::TargetFailing] {
            let uncorrected = Sample::exact(&none);
            let corrected = Sample::bounded(&given_up, &given_up);
            let shown = Curve { uncorrected, corrected, verdict }.to_string();
            assert!(shown.contains("\nNo request completed: "), "{shown}");
            assert!(!shown.contains("times as long") && !shown.contains(" 0ns"), "{shown}");
            let nothing = Curve { uncorrected, corrected: uncorrected, verdict };
            assert_eq!(nothing.hidden(), None);
        }
    }

    #[test]
    fn a_lower_bound_is_named_in_the_sentence() {
        let (fast, bounds) = (histogram([1; 90]), histogram([2_000; 10]));
        let all = histogram([1; 90].into_iter().chain([2_000; 10]));
        let (uncorrected, corrected) = (Sample::exact(&fast), Sample::bounded(&all, &bounds));
        let curve = Curve { uncorrected, corrected, verdict: Verdict::TargetBehind };
        let sentence = curve.hidden().unwrap();
        assert!(sentence.contains("Users waited for at least 2.00s, at least 1"), "{sentence}");
        let shown = curve.to_string();
        assert!(shown.contains(" >=2.00s ####") && shown.contains("p90      1.00ms"), "{shown}");
    }
}
