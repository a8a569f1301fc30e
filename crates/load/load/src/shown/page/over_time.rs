//! Draws the rates and the backlog over time, and defines the time axis of all charts over time.

use super::chart::{Chart, key, line, steps, surface};
use super::numbers::count;
use crate::console::axis::{LogTimeAxis, TimeAxis, ValueAxis, round_count};
use crate::console::human;
use crate::results::over_time::{Interval, OverTime};
use crate::results::silence::{Silence, silences};
use hdrhistogram::Histogram;
use maud::{Markup, html};
use std::time::Duration;

const MOMENTS: u64 = 6;
/// The height of each chart over time, in pixels.
pub(crate) const HEIGHT: u32 = 180;
pub(crate) const TABLE: &str = "times";

#[derive(Debug)]
pub(crate) struct Times {
    intervals: Vec<Interval>,
    end: Duration,
    silences: Vec<Silence>,
}

impl Times {
    /// Prepares the intervals for the charts. A very short interval is joined to its neighbour, because its rate would
    /// be meaningless.
    pub(crate) fn new(over_time: &OverTime) -> Times {
        let all = over_time.intervals();
        let mut lengths: Vec<_> = all.iter().map(Interval::length).collect();
        lengths.sort_unstable();
        let least = lengths.get(lengths.len() / 2).copied().unwrap_or_default() / 4;
        let mut intervals: Vec<Interval> = Vec::new();
        for next in all {
            match intervals.last_mut() {
                Some(before) if before.length().min(next.length()) < least => before.join(next),
                _ => intervals.push(next.clone()),
            }
        }
        let end = intervals.last().map_or(Duration::ZERO, |last| last.to);
        Times { intervals, end, silences: silences(all) }
    }

    pub(crate) fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    /// Returns the start and the end of an interval as shares of the width of the time axis.
    pub(crate) fn place(&self, interval: &Interval) -> (f64, f64) {
        self.span(interval.from, interval.to)
    }

    fn span(&self, from: Duration, to: Duration) -> (f64, f64) {
        let part = |moment: Duration| moment.as_secs_f64() / self.end.as_secs_f64();
        (part(from), part(to))
    }

    pub(crate) fn moments(&self) -> Vec<(f64, String)> {
        TimeAxis::new(self.end, MOMENTS).ticks().collect()
    }

    pub(crate) fn chart(
        &self,
        id: &'static str,
        name: &'static str,
        columns: &'static str,
    ) -> Chart {
        Chart {
            id,
            name,
            about: String::new(),
            height: HEIGHT,
            silent: self.silences.iter().map(|of| self.span(of.from, of.to)).collect(),
            across: self.moments(),
            up: Vec::new(),
            key: html! {},
            table: (TABLE, columns),
            body: html! {},
        }
    }

    pub(crate) fn rates(&self) -> Markup {
        let rates = self.intervals.iter().flat_map(|of| [of.asked_hz(), of.achieved_hz()]);
        let axis = RateAxis::new(rates.fold(0.0, f64::max));
        let path = |hz: fn(&Interval) -> f64| self.path(|interval| Some(axis.part(hz(interval))));
        let achieved = path(Interval::achieved_hz);
        Chart {
            about: "The requested rate, and the rate at which requests started.".to_owned(),
            up: axis.ticks(),
            key: html! { (key("line achieved", "achieved")) (key("line asked", "requested")) },
            body: html! {
                (self.below(&achieved, "surface achieved"))
                (line("line achieved", &achieved))
                (line("line asked", &path(Interval::asked_hz)))
            },
            ..self.chart("rate", "Rate", "2 3")
        }
        .figure()
    }

    pub(crate) fn backlog(&self) -> Markup {
        let slots = self.intervals.iter().map(|of| of.backlog.slots).max().unwrap_or_default();
        if slots == 0 {
            return html! {
                h3 { "Backlog" }
                p { "There was no backlog at any check. The backlog is checked four times per second." }
            };
        }
        let axis = ValueAxis::new(human::float(slots.max(4)), 4);
        let path = self.path(|of| Some(axis.part(human::float(of.backlog.slots))));
        let longest = self.intervals.iter().map(|of| of.backlog.time).max().unwrap_or_default();
        Chart {
            about: format!(
                "Requests that were due and had not started: at most {}, or {} of schedule time.",
                count(slots),
                human::time(longest)
            ),
            up: axis.ticks().map(|value| (axis.part(value), round_count(value))).collect(),
            key: key("line backlog", "requests"),
            body: html! {
                (self.below(&path, "surface backlog"))
                (line("line backlog", &path))
            },
            ..self.chart("backlog", "Backlog", "4 5")
        }
        .figure()
    }

    pub(crate) fn path(&self, value: impl Fn(&Interval) -> Option<f64>) -> String {
        let values = self.intervals.iter().map(|interval| {
            let (from, to) = self.place(interval);
            (from, to, value(interval))
        });
        steps(values, HEIGHT)
    }

    fn below(&self, path: &str, class: &str) -> Markup {
        let from = self.intervals.first().map_or(0.0, |first| self.place(first).0);
        surface(class, path, from, 1.0, HEIGHT)
    }
}

pub(crate) fn log_axis<'a>(times: impl Iterator<Item = &'a Histogram<u64>>) -> LogTimeAxis {
    let (least, most) =
        times.filter(|times| !times.is_empty()).fold((u64::MAX, 1), |(least, most), times| {
            (least.min(times.min()), most.max(times.max()))
        });
    LogTimeAxis::new(least, most)
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct RateAxis {
    axis: ValueAxis,
    unit: (&'static str, f64),
}

const RATE_UNITS: [(&str, f64); 4] =
    [("/s", 1.0), ("/min", 60.0), ("/h", 3_600.0), ("/d", 86_400.0)];

impl RateAxis {
    pub(crate) fn new(most_hz: f64) -> RateAxis {
        let is_fine = |(_, seconds): &&(&str, f64)| most_hz * seconds >= 1.0;
        let unit = *RATE_UNITS.iter().find(is_fine).unwrap_or(&RATE_UNITS[0]);
        RateAxis { axis: ValueAxis::new(most_hz * unit.1, 4), unit }
    }

    pub(crate) fn part(self, hz: f64) -> f64 {
        self.axis.part(hz * self.unit.1)
    }

    pub(crate) fn ticks(self) -> Vec<(f64, String)> {
        let tick = |value| (self.axis.part(value), round_count(value) + self.unit.0);
        self.axis.ticks().map(tick).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::over_time::tests::over_time;

    #[test]
    fn a_very_short_interval_belongs_to_its_neighbour() {
        let all =
            over_time([(0, 1, 1.0, 1), (1, 250, 1.0, 1), (250, 500, 1.0, 1), (500, 502, 1.0, 1)]);
        let times = Times::new(&all);
        let ends: Vec<_> = times.intervals.iter().map(|of| of.to.as_millis()).collect();
        assert_eq!(ends, [250, 502]);
        let started = |all: &[Interval]| all.iter().map(|of| of.brief.started()).sum::<u64>();
        assert_eq!(started(times.intervals()), started(all.intervals()));
    }

    #[test]
    fn a_rate_axis_has_a_unit_that_suits_it() {
        for (hz, shown) in [
            (5_000.0, "0/s 2k/s 4k/s 6k/s"),
            (1.0, "0/s 0.5/s 1/s"),
            (0.05, "0/min 1/min 2/min 3/min"),
            (5.0 / 3_600.0, "0/h 2/h 4/h 6/h"),
            (1.5 / 86_400.0, "0/d 0.5/d 1/d 1.5/d"),
            (0.0, "0/s 0.5/s 1/s"),
        ] {
            let ticks: Vec<_> = RateAxis::new(hz).ticks().into_iter().map(|tick| tick.1).collect();
            assert_eq!(ticks.join(" "), shown);
        }
    }

    #[test]
    fn a_long_interval_swallows_no_others() {
        let ends = [250, 500, 750, 60_000, 60_250, 60_500];
        let starts = [0].into_iter().chain(ends);
        let all = over_time(starts.zip(ends).map(|(from, to)| (from, to, 1.0, 1)));
        assert_eq!(Times::new(&all).intervals.len(), ends.len());
    }
}
