//! What happened over time: charts, and the table with their figures.

use super::chart::{Chart, key, line, steps, surface};
use super::numbers::{count, time};
use crate::axis::{LogTimeAxis, TimeAxis, ValueAxis, round_count};
use crate::run::recording::over_time::{Brief, Interval, OverTime};
use hdrhistogram::Histogram;
use maud::{Markup, html};
use nanopace_console::human;
use std::time::Duration;

const MOMENTS: u64 = 6;
const HEIGHT: u32 = 180;
const TABLE: &str = "times";

/// Percentiles, and how their lines look.
const POINTS: [(&str, f64, &str); 4] = [
    ("p50", 0.5, "line a"),
    ("p90", 0.9, "line b"),
    ("p99", 0.99, "line c"),
    ("max", 1.0, "line d"),
];

/// The kinds of time: their charts, their columns in the table, and what they are.
const KINDS: [Kind; 3] = [
    Kind {
        id: "wait",
        name: "Wait time",
        columns: "7 8 9 10",
        about: "How late requests were started.",
        of: |brief| &brief.wait,
    },
    Kind {
        id: "service",
        name: "Service time, uncorrected",
        columns: "11 12 13 14",
        about: "From sending to the end of the answer, of completed requests.",
        of: |brief| &brief.service,
    },
    Kind {
        id: "response",
        name: "Response time, corrected",
        columns: "15 16 17 18",
        about: "From the intended start to the end, of every slot that was due.",
        of: |brief| &brief.response,
    },
];

struct Kind {
    id: &'static str,
    name: &'static str,
    columns: &'static str,
    about: &'static str,
    of: fn(&Brief) -> &Histogram<u64>,
}

/// The intervals that are drawn, and the axes that their charts share.
#[derive(Debug)]
pub(crate) struct Times {
    intervals: Vec<Interval>,
    /// The end of the last one.
    end: Duration,
}

impl Times {
    /// The same intervals, but a very short one belongs to its neighbour: its rate says little.
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
        Times { intervals, end }
    }

    /// The intervals.
    pub(crate) fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    /// Where on the axis of time an interval is.
    pub(crate) fn place(&self, interval: &Interval) -> (f64, f64) {
        let part = |moment: Duration| moment.as_secs_f64() / self.end.as_secs_f64();
        (part(interval.from), part(interval.to))
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
            ..self.chart("rate", "Rate", "2 3 4")
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
            ..self.chart("backlog", "Backlog", "5 6")
        }
        .figure()
    }

    /// Percentiles of the kinds of time, all on one scale.
    pub(crate) fn percentiles(&self) -> Markup {
        let of = |interval| KINDS.iter().map(move |kind| (kind.of)(interval));
        let axis = log_axis(self.intervals.iter().flat_map(|interval| of(&interval.brief)));
        html! { @for kind in &KINDS { (self.kind(kind, axis)) } }
    }

    fn kind(&self, kind: &Kind, axis: LogTimeAxis) -> Markup {
        let path = |quantile| {
            self.path(|interval| {
                let times = (kind.of)(&interval.brief);
                (!times.is_empty()).then(|| axis.part(times.value_at_quantile(quantile)))
            })
        };
        if path(1.0).is_empty() {
            return html! { h3 { (kind.name) } p { (kind.about) " There is none." } };
        }
        Chart {
            about: kind.about.to_owned(),
            up: axis.ticks().collect(),
            key: html! { @for (name, _, class) in POINTS { (key(class, name)) } },
            body: html! {
                @for (_, quantile, class) in POINTS.into_iter().rev() {
                    (line(class, &path(quantile)))
                }
            },
            ..self.chart(kind.id, kind.name, kind.columns)
        }
        .figure()
    }

    /// All figures. What is under the pointer is shown from here.
    pub(crate) fn table(&self) -> Markup {
        html! {
            details {
                summary { "All figures over time" }
                div.wide {
                    table id=(TABLE) {
                        thead {
                            tr {
                                @for name in ["from", "to", "asked", "achieved", "failed", "backlog", "backlog time"] {
                                    th scope="col" { (name) }
                                }
                                @for kind in &KINDS {
                                    @for (point, ..) in POINTS { th scope="col" { (kind.id) " " (point) } }
                                }
                            }
                        }
                        tbody { @for interval in &self.intervals { (self.row(interval)) } }
                    }
                }
            }
        }
    }

    fn row(&self, interval: &Interval) -> Markup {
        let (_, to) = self.place(interval);
        let Interval { brief, backlog, .. } = interval;
        html! {
            tr data-x=(format!("{to:.4}")) {
                td { (seconds(interval.from)) }
                td { (seconds(interval.to)) }
                td { (human::short_hz(interval.asked_hz())) }
                td { (human::short_hz(interval.achieved_hz())) }
                td { (count(brief.failed)) }
                td { (count(backlog.slots)) }
                td { (human::time(backlog.time)) }
                @for kind in &KINDS {
                    @for (_, quantile, _) in POINTS { td { (time((kind.of)(brief), quantile)) } }
                }
            }
        }
    }

    fn path(&self, value: impl Fn(&Interval) -> Option<f64>) -> String {
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

fn ticks(axis: ValueAxis, unit: &str) -> Vec<(f64, String)> {
    axis.ticks().map(|value| (axis.part(value), round_count(value) + unit)).collect()
}

fn seconds(time: Duration) -> String {
    format!("{:.2}s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::recording::over_time::tests::over_time;

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
