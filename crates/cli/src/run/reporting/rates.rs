//! The rate that was asked for and the one that was achieved, interval by interval.

use nanopace_console::human;
use serde::Serialize;
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

/// More intervals are not kept: then each two neighbours become one.
const MOST: usize = 600;
/// The most lines of a report.
const ROWS: usize = 12;
/// The length of the longest bar.
const BAR: f64 = 30.0;

/// A part of the run. Moments are times since the start of the schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    pub(crate) from: Duration,
    pub(crate) to: Duration,
    /// How many slots were asked for.
    pub(crate) asked: f64,
    /// How many were started.
    pub(crate) started: u64,
}

impl Interval {
    fn seconds(&self) -> f64 {
        self.to.saturating_sub(self.from).as_secs_f64()
    }

    fn asked_hz(&self) -> f64 {
        self.asked / self.seconds()
    }

    fn achieved_hz(&self) -> f64 {
        human::float(self.started) / self.seconds()
    }
}

/// An interval in the JSON object. The names are a promise.
#[derive(Debug, Serialize)]
pub(crate) struct IntervalObject {
    from_seconds: f64,
    to_seconds: f64,
    target_rate: f64,
    achieved_rate: f64,
}

/// Intervals in order of time, of about the same length.
#[derive(Clone, Debug)]
pub(crate) struct RatesOverTime {
    intervals: Vec<Interval>,
    /// How many of those that were added make one, and how many the last one has of them.
    each: usize,
    last: usize,
}

impl RatesOverTime {
    /// No intervals yet.
    pub(crate) fn new() -> RatesOverTime {
        RatesOverTime { intervals: Vec::new(), each: 1, last: 0 }
    }

    /// Adds what follows. An interval without any length belongs to the one before it.
    pub(crate) fn add(&mut self, interval: Interval) {
        let is_full = self.last == self.each && interval.from < interval.to;
        match self.intervals.last_mut() {
            Some(last) if !is_full => join(last, &interval),
            _ if interval.from >= interval.to => return,
            _ => {
                self.halve_if_full();
                self.intervals.push(interval);
                self.last = 0;
            }
        }
        self.last = (self.last + 1).min(self.each);
    }

    /// What was asked for and achieved in each interval.
    pub(crate) fn objects(&self) -> Vec<IntervalObject> {
        let object = |interval: &Interval| IntervalObject {
            from_seconds: interval.from.as_secs_f64(),
            to_seconds: interval.to.as_secs_f64(),
            target_rate: interval.asked_hz(),
            achieved_rate: interval.achieved_hz(),
        };
        self.intervals.iter().map(object).collect()
    }

    fn halve_if_full(&mut self) {
        if self.intervals.len() == MOST {
            self.intervals = joined(&self.intervals, 2);
            self.each *= 2;
        }
    }
}

/// Each so many neighbours as one.
fn joined(intervals: &[Interval], each: usize) -> Vec<Interval> {
    let join_all = |chunk: &[Interval]| {
        let mut all = chunk[0];
        chunk[1..].iter().for_each(|next| join(&mut all, next));
        all
    };
    intervals.chunks(each).map(join_all).collect()
}

fn join(interval: &mut Interval, next: &Interval) {
    interval.to = interval.to.max(next.to);
    interval.asked += next.asked;
    interval.started += next.started;
}

/// A table with a bar for each rate that was achieved; what is missing is dotted. It is left out if
/// there is only one interval, which the report's first line has.
impl Display for RatesOverTime {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.intervals.len() < 2 {
            return Ok(());
        }
        let rows = joined(&self.intervals, self.intervals.len().div_ceil(ROWS));
        let rates = rows.iter().flat_map(|row| [row.asked_hz(), row.achieved_hz()]);
        let most = rates.fold(0.0, f64::max);
        writeln!(f, "\n{:>18} {:>12} {:>12}", "over time, from", "target", "achieved")?;
        for row in &rows {
            let [asked, achieved] = [row.asked_hz(), row.achieved_hz()];
            let [full, all] = [achieved, asked.max(achieved)].map(|hz| length(hz / most));
            let bar = "#".repeat(full) + &".".repeat(all - full);
            let [asked, achieved] = [asked, achieved].map(human::hz);
            writeln!(f, "{:>17.1}s {asked:>12} {achieved:>12}  {bar}", row.from.as_secs_f64())?;
        }
        Ok(())
    }
}

/// The characters of a bar, for this part of the longest.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 30")]
fn length(part: f64) -> usize {
    if part.is_nan() { 0 } else { (part * BAR).round() as usize }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rates(intervals: impl IntoIterator<Item = (u64, u64, f64, u64)>) -> RatesOverTime {
        let mut rates = RatesOverTime::new();
        for (from, to, asked, started) in intervals {
            let [from, to] = [from, to].map(Duration::from_millis);
            rates.add(Interval { from, to, asked, started });
        }
        rates
    }

    #[test]
    fn a_table_has_what_is_missing() {
        let shown = rates([(0, 1_000, 10.0, 10), (1_000, 2_000, 20.0, 5), (2_000, 3_000, 0.0, 0)]);
        let lines: Vec<_> = shown.to_string().lines().map(str::to_owned).collect();
        assert_eq!(
            lines[1..],
            [
                "   over time, from       target     achieved",
                "              0.0s       10.0/s       10.0/s  ###############",
                "              1.0s       20.0/s     5.0000/s  ########......................",
                "              2.0s        0.0/s        0.0/s  ",
            ]
        );
        assert_eq!(rates([(0, 1_000, 10.0, 10)]).to_string(), "");
    }

    #[test]
    fn what_comes_at_the_very_end_belongs_to_the_last_interval() {
        let rates = rates([(0, 1_000, 5.0, 4), (1_000, 1_000, 0.0, 1)]);
        assert_eq!((rates.intervals.len(), rates.intervals[0].started), (1, 5));
        assert!(super::tests::rates([(0, 0, 0.0, 0)]).intervals.is_empty());
    }

    proptest! {
        #[test]
        fn nothing_is_lost_however_long_it_takes(number in 1_u64..5_000, empty in 0_u64..7) {
            let rates = rates((0..number).map(|at| {
                let empty = at > 0 && at % 7 < empty;
                (at * 10, if empty { at * 10 } else { at * 10 + 10 }, 2.0, 3)
            }));
            let kept = &rates.intervals;
            prop_assert!(kept.len() <= MOST);
            prop_assert_eq!(kept.iter().map(|kept| kept.started).sum::<u64>(), number * 3);
            let asked: f64 = kept.iter().map(|kept| kept.asked).sum();
            prop_assert!((asked - human::float(number) * 2.0).abs() < 1e-6);
            prop_assert!(kept.windows(2).all(|pair| pair[0].to <= pair[1].from));
            prop_assert!(rates.to_string().lines().count() <= ROWS + 2);
        }
    }
}
