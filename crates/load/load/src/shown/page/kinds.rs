//! Draws percentiles of the wait, service and response times over time.

use super::chart::{Chart, key, key_at_least, line, upward};
use super::over_time::{HEIGHT, Times, log_axis};
use crate::console::axis::LogTimeAxis;
use crate::results::over_time::Interval;
use crate::results::percentiles::Sample;
use maud::{Markup, html};

pub(crate) const POINTS: [(&str, f64, &str); 4] = [
    ("p50", 0.5, "line a"),
    ("p90", 0.9, "line b"),
    ("p99", 0.99, "line c"),
    ("max", 1.0, "line d"),
];

pub(crate) const KINDS: [Kind; 3] = [
    Kind {
        id: "wait",
        name: "Wait time",
        columns: "10 11 12 13",
        about: "The lateness of each start, by the due time of the request. Requests that never started have no wait time.",
        of: |interval| Sample::exact(&interval.due.wait),
    },
    Kind {
        id: "service",
        name: "Service time, uncorrected",
        columns: "14 15 16 17",
        about: "From sending a request to the end of its response, for completed requests, by the time of \
                the response. A closed-loop tool reports this time.",
        of: |interval| Sample::exact(&interval.brief.service),
    },
    Kind {
        id: "response",
        name: "Response time, corrected",
        columns: "18 19 20 21",
        about: "From the intended start to the end of the response, for every request, by the time at which \
                it was due. Users see this time.",
        of: |interval| interval.due.responses(),
    },
];

#[derive(Debug)]
pub(crate) struct Kind {
    pub(crate) id: &'static str,
    name: &'static str,
    columns: &'static str,
    about: &'static str,
    pub(crate) of: fn(&Interval) -> Sample<'_>,
}

pub(crate) fn charts(times: &Times) -> Markup {
    let of = |interval| KINDS.iter().map(move |kind| (kind.of)(interval).times);
    let axis = log_axis(times.intervals().iter().flat_map(of));
    html! { @for kind in &KINDS { (kind.chart(times, axis)) } }
}

impl Kind {
    fn chart(&self, times: &Times, axis: LogTimeAxis) -> Markup {
        let part = |interval: &Interval, quantile| {
            let sample = (self.of)(interval);
            (!sample.is_empty()).then(|| axis.part(sample.times.value_at_quantile(quantile)))
        };
        let path = |quantile| times.path(|interval| part(interval, quantile));
        if path(1.0).is_empty() {
            return html! { h3 { (self.name) } p { (self.about) " No time was recorded." } };
        }
        let bounds = |quantile| {
            let bounds = times.intervals().iter().filter(|of| (self.of)(of).is_at_least(quantile));
            let places = bounds.filter_map(|of| Some((times.place(of), part(of, quantile)?)));
            upward(places, HEIGHT)
        };
        let has_bounds = !bounds(1.0).is_empty();
        Chart {
            about: self.about.to_owned(),
            up: axis.ticks().collect(),
            key: html! {
                @for (name, _, class) in POINTS { (key(class, name)) }
                @if has_bounds { (key_at_least()) }
            },
            body: html! {
                @for (_, quantile, class) in POINTS.into_iter().rev() {
                    (line(class, &path(quantile)))
                    @if has_bounds { (line(&format!("{class} upward"), &bounds(quantile))) }
                }
            },
            ..times.chart(self.id, self.name, self.columns)
        }
        .figure()
    }
}
