//! What happened over time: the axis that the charts share, the rates and the backlog.

use super::chart::{Chart, key, line, steps, surface};
use super::numbers::count;
use super::silence::{Silence, silences};
use crate::console::axis::{LogTimeAxis, TimeAxis, ValueAxis, round_count};
use crate::console::human;
use crate::recorded::over_time::{Interval, OverTime};
use hdrhistogram::Histogram;
use maud::{Markup, html};
use std::time::Duration;

const MOMENTS: u64 = 6;
/// How high a chart is, in dots.
pub(crate) const HEIGHT: u32 = 180;
/// The table with the figures.
pub(crate) const TABLE: &str = "times";

/// The intervals that are drawn, and the axes that their charts share.
#[derive(Debug)]
pub(crate) struct Times {
    intervals: Vec<Interval>,
    /// The end of the last one.
    end: Duration,
    /// When no answer came.
    silences: Vec<Silence>,
}

impl Times {
    /// The intervals of a run, but a very short one belongs to its neighbour: its rate says little.
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
        // As it happened: a short one may end it.
        Times { intervals, end, silences: silences(all) }
    }

    /// The intervals.
    pub(crate) fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    /// Where on the axis of time an interval is.
    pub(crate) fn place(&self, interval: &Interval) -> (f64, f64) {
        self.span(interval.from, interval.to)
    }

    fn span(&self, from: Duration, to: Duration) -> (f64, f64) {
        let part = |moment: Duration| moment.as_secs_f64() / self.end.as_secs_f64();
        (part(from), part(to))
    }

    /// Round moments.
    pub(crate) fn moments(&self) -> Vec<(f64, String)> {
        TimeAxis::new(self.end, MOMENTS).ticks().collect()
    }

    /// A chart over time, without anything in it.
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

    /// The rate that was asked for and the one that was achieved.
    pub(crate) fn rates(&self) -> Markup {
        let rates = self.intervals.iter().flat_map(|of| [of.asked_hz(), of.achieved_hz()]);
        let axis = ValueAxis::new(rates.fold(0.0, f64::max), 4);
        let path = |hz: fn(&Interval) -> f64| self.path(|interval| Some(axis.part(hz(interval))));
        let achieved = path(Interval::achieved_hz);
        Chart {
            about: "Requests started per second, and how many were asked for.".to_owned(),
            up: ticks(axis, "/s"),
            key: html! { (key("line achieved", "achieved")) (key("line asked", "asked for")) },
            body: html! {
                (self.below(&achieved, "surface achieved"))
                (line("line achieved", &achieved))
                (line("line asked", &path(Interval::asked_hz)))
            },
            ..self.chart("rate", "Rate", "2 3")
        }
        .figure()
    }

    /// What was due and had not started.
    pub(crate) fn backlog(&self) -> Markup {
        let slots = self.intervals.iter().map(|of| of.backlog.slots).max().unwrap_or_default();
        if slots == 0 {
            return html! {
                h3 { "Backlog" }
                p { "Whenever it was looked at, four times a second, no slot was due and not started." }
            };
        }
        let axis = ValueAxis::new(human::float(slots.max(4)), 4);
        let path = self.path(|of| Some(axis.part(human::float(of.backlog.slots))));
        let longest = self.intervals.iter().map(|of| of.backlog.time).max().unwrap_or_default();
        Chart {
            about: format!(
                "Slots that were due and had not started: at most {}, or {} of the load.",
                count(slots),
                human::time(longest)
            ),
            up: ticks(axis, ""),
            key: key("line backlog", "slots"),
            body: html! {
                (self.below(&path, "surface backlog"))
                (line("line backlog", &path))
            },
            ..self.chart("backlog", "Backlog", "4 5")
        }
        .figure()
    }

    /// A line in steps of this value.
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

/// An axis for all these times.
pub(crate) fn log_axis<'a>(times: impl Iterator<Item = &'a Histogram<u64>>) -> LogTimeAxis {
    let (least, most) =
        times.filter(|times| !times.is_empty()).fold((u64::MAX, 1), |(least, most), times| {
            (least.min(times.min()), most.max(times.max()))
        });
    LogTimeAxis::new(least, most)
}

/// Round values of an axis, with their unit.
pub(crate) fn ticks(axis: ValueAxis, unit: &str) -> Vec<(f64, String)> {
    axis.ticks().map(|value| (axis.part(value), round_count(value) + unit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorded::over_time::tests::over_time;

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
    fn a_long_interval_swallows_no_others() {
        let ends = [250, 500, 750, 60_000, 60_250, 60_500];
        let starts = [0].into_iter().chain(ends);
        let all = over_time(starts.zip(ends).map(|(from, to)| (from, to, 1.0, 1)));
        assert_eq!(Times::new(&all).intervals.len(), ends.len());
    }
}
