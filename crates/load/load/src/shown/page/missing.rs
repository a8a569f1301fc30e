//! Draws how many requests failed, were unfinished or never started over time.

use super::chart::{Chart, key, line};
use super::numbers::count;
use super::over_time::{RateAxis, Times};
use crate::console::human::float;
use crate::results::outcome::Ending;
use crate::results::over_time::Interval;
use maud::{Markup, html};
use std::cmp::Reverse;
use std::collections::BTreeMap;

const NAME: &str = "Requests that did not complete";

/// The styles of the lines. The most frequent outcome has the first style, and all outcomes after the third share the
/// last style.
const CLASSES: [&str; 4] = ["line c", "line b", "line a", "line d"];

#[derive(Debug)]
struct Series {
    name: String,
    class: &'static str,
    endings: Vec<Ending>,
}

impl Series {
    fn hz(&self, interval: &Interval) -> f64 {
        let slots: u64 = self.endings.iter().map(|ending| interval.due.ended(*ending)).sum();
        float(slots) / interval.length().as_secs_f64()
    }
}

/// Draws the chart. Skipped requests cannot be drawn, because their due times are unknown.
pub(crate) fn chart(times: &Times, skipped: u64) -> Markup {
    let not_drawn = match skipped {
        0 => String::new(),
        1 => " The charts over time do not show 1 skipped request.".to_owned(),
        _ => format!(" The charts over time do not show {} skipped requests.", count(skipped)),
    };
    let series = series(times.intervals());
    if series.is_empty() {
        return html! { h3 { (NAME) } p { "No request failed, was given up or never started." (not_drawn) } };
    }
    let rates = series.iter().flat_map(|series| times.intervals().iter().map(|of| series.hz(of)));
    let axis = RateAxis::new(rates.fold(0.0, f64::max));
    let path = |series: &Series| times.path(|interval| Some(axis.part(series.hz(interval))));
    Chart {
        about: format!(
            "Requests that failed, were given up or never started, by due time.{not_drawn}"
        ),
        up: axis.ticks(),
        key: html! { @for series in &series { (key(series.class, &series.name)) } },
        body: html! { @for series in series.iter().rev() { (line(series.class, &path(series))) } },
        ..times.chart("missing", NAME, "6 7 8 9")
    }
    .figure()
}

fn series(intervals: &[Interval]) -> Vec<Series> {
    let mut sums = BTreeMap::<Ending, u64>::new();
    let endings = intervals.iter().flat_map(|interval| &interval.due.endings);
    for (ending, slots) in endings.filter(|(ending, _)| **ending != Ending::Completed) {
        *sums.entry(*ending).or_default() += slots;
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_unstable_by_key(|&(ending, slots)| (Reverse(slots), ending));
    let endings: Vec<_> = sums.into_iter().map(|(ending, _)| ending).collect();
    let alone = if endings.len() > CLASSES.len() { CLASSES.len() - 1 } else { endings.len() };
    let (alone, others) = endings.split_at(alone);
    let alone = alone.iter().map(|ending| (ending.to_string(), vec![*ending]));
    let others = (!others.is_empty()).then(|| ("others".to_owned(), others.to_vec()));
    let all = alone.chain(others);
    all.zip(CLASSES).map(|((name, endings), class)| Series { name, class, endings }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::kind::FailureKind;
    use crate::results::outcome::Outcome;
    use crate::results::over_time::tests::over_time;
    use nanopace::Nanos;
    use std::time::Duration;

    fn named(counts: &[(Ending, u64)]) -> Vec<(String, f64)> {
        let mut all = over_time([(0, 2_000, 1.0, 1)]);
        for &(ending, slots) in counts {
            let second = Duration::from_secs(1);
            let (intended_start, wait_time) = (Nanos::ZERO, None);
            let response_time = second;
            let outcome = Outcome { intended_start, wait_time, response_time, ending, slots };
            all.count(second, &outcome);
        }
        let of = all.intervals();
        series(of).iter().map(|series| (series.name.clone(), series.hz(&of[0]))).collect()
    }

    #[test]
    fn the_most_frequent_kinds_have_a_line() {
        let failed = |status| Ending::Failed(FailureKind::new(&format!("status {status}")));
        let few = [(Ending::Completed, 99), (failed(503), 2), (Ending::Unstarted, 40)];
        let expected = [("never started".to_owned(), 20.0), ("status 503".to_owned(), 1.0)];
        assert_eq!(named(&few), expected);
        let many: Vec<_> = (500..506).zip(1..).map(|(status, n)| (failed(status), 2 * n)).collect();
        let many = named(&many);
        assert_eq!(many.len(), CLASSES.len());
        assert_eq!(many[3], ("others".to_owned(), 6.0));
        assert_eq!(named(&[(Ending::Completed, 99)]), []);
    }
}
