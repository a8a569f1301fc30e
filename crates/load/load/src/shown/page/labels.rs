//! Writes the results of each label as a table.

use super::numbers::{count, time};
use crate::console::human;
use crate::results::labels::Labelled;
use crate::results::percentiles::Sample;
use crate::results::stats::OperationStats;
use maud::{Markup, html};

const POINTS: [(&str, f64); 3] = [("p50", 0.5), ("p99", 0.99), ("max", 1.0)];

pub(crate) fn section(stats: &OperationStats) -> Markup {
    let labels = stats.labels_apart();
    let has_items = stats.traffic.items > 0;
    html! {
        @if !labels.is_empty() {
            section {
                h2 { "Labels" }
                div.wide {
                    table #labels {
                        thead { (head(has_items)) }
                        tbody { @for labelled in labels { (row(labelled, has_items)) } }
                    }
                }
            }
        }
    }
}

fn head(has_items: bool) -> Markup {
    let counts = ["label", "completed", "failed"].into_iter().chain(has_items.then_some("items"));
    html! {
        tr {
            @for name in counts { th scope="col" { (name) } }
            @for kind in ["service", "response"] { @for (point, _) in POINTS { th scope="col" { (kind) " " (point) } } }
        }
    }
}

fn row(labelled: &Labelled, has_items: bool) -> Markup {
    let samples = [Sample::exact(&labelled.service), labelled.responses()];
    html! {
        tr {
            th scope="row" { bdi { (human::visible(&labelled.label)) } }
            td { (count(labelled.completed())) }
            td { (count(labelled.failed())) }
            @if has_items { td { (count(labelled.traffic.items)) } }
            @for sample in samples { @for (_, quantile) in POINTS { td { (time(sample, quantile)) } } }
        }
    }
}
