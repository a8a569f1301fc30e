//! Writes the HTML page of a fleet as one self-contained file, similar to the page of a run.

use crate::console::human;
use crate::judged::whole::Whole;
use crate::results::stats::OperationStats;
use crate::shown::fleet::account::clock_steps;
use crate::shown::page::facts::{self, bad_figure, figure, requested_rate, rows, shares};
use crate::shown::page::labels;
use crate::shown::page::numbers::{count, time};
use crate::shown::page::{charts, document, hidden, side_by_side};
use maud::{Markup, html};
use nanopace_fleet::{Account, NodeAccount};

pub(crate) fn html(whole: &Whole) -> String {
    let nothing = OperationStats::new();
    let stats = whole.stats().unwrap_or(&nothing);
    let hidden = whole.verdict().and_then(|verdict| hidden(stats, verdict));
    let content = html! {
        (heading(whole, stats))
        (charts(&whole.over_time(), stats, hidden.as_deref()))
        (labels::section(stats))
        (tables(whole, stats))
    };
    document(&format!("{}, a fleet", whole.name), &content)
}

fn heading(whole: &Whole, stats: &OperationStats) -> Markup {
    let account = &whole.account;
    let run = &whole.status;
    let end = if run.has_ended { "over" } else { "not over yet" };
    html! {
        header {
            h1.good[whole.is_well()] { (whole.exactness()) }
            @if let Some((verdict, stats)) = whole.sure_verdict() {
                p.verdict { (verdict.sentence(&stats.lateness, stats.failed_share())) }
            }
            @for missed in whole.missed() { p.missed { "Missed: " (missed) } }
            @if let Some(steps) = clock_steps(account) { p.verdict { (steps) "." } }
            @for (node, until) in &whole.told.so_far {
                p.verdict { "The requests of node " (node) " are known up to " (human::long_time(*until)) "." }
            }
            p.what {
                bdi { (whole.name) } " · " (human::count(account.nodes.len(), "node")) " · " (run.shape) ", " (run.arrivals)
                " arrivals · " (human::long_time(account.span)) ", " (end)
            }
            (key_figures(whole, stats))
        }
    }
}

fn key_figures(whole: &Whole, stats: &OperationStats) -> Markup {
    let account = &whole.account;
    let [requested, achieved] = whole.rates().map(human::hz);
    let response = |quantile| time(stats.responses(), quantile);
    html! {
        dl.figures {
            (figure(requested_rate(whole.changes_rate()), &requested))
            (figure("achieved rate", &achieved))
            (figure("completed", &count(stats.completed())))
            (bad_figure("failed", stats.failed(), stats.started()))
            (bad_figure("lost", account.lost().max(0).unsigned_abs(), account.expected))
            (bad_figure("started twice", account.twice(), account.expected))
            (figure("response p50", &response(0.5)))
            (figure("response p99", &response(0.99)))
            (figure("response max", &response(1.0)))
        }
    }
}

fn tables(whole: &Whole, stats: &OperationStats) -> Markup {
    let ends = [
        ("completed", stats.completed()),
        ("failed", stats.failed()),
        ("unfinished", stats.unfinished),
    ];
    let sections = [
        ("Account", fates(&whole.account)),
        ("Requests", shares(&ends, stats.started())),
        ("Errors", facts::errors(stats)),
        ("Lateness", facts::lateness(stats)),
    ];
    let own = whole.own_times();
    let parts = (!own.is_empty()).then(|| ("Responses", facts::parts(own)));
    html! {
        section { h2 { "Nodes" } (nodes(&whole.account)) }
        (side_by_side(sections.into_iter().chain(parts)))
    }
}

fn fates(account: &Account) -> Markup {
    let Account { expected, .. } = account;
    let lost = account.lost();
    html! {
        (rows(&[
            ("expected", count(*expected)),
            ("started", bounds(account.started(), account.started_at_most())),
            ("skipped", count(account.skipped())),
            ("lost", bounds(account.lost_at_least().max(0).unsigned_abs(), lost.max(0).unsigned_abs())),
            ("twice", bounds(account.twice(), account.twice_at_most())),
        ]))
        p.note {
            "Expected = started + skipped + lost − twice: "
            @if account.closes() { "the account closes." } @else { "the account does not close." }
        }
    }
}

fn bounds(least: u64, most: u64) -> String {
    if least == most { count(least) } else { format!("{} to {}", count(least), count(most)) }
}

fn nodes(account: &Account) -> Markup {
    html! {
        div.wide {
            table #nodes {
                thead { tr {
                    @for name in ["node", "name", "claimed", "started", "skipped", "lost", "twice"] { th scope="col" { (name) } }
                } }
                tbody { @for node in &account.nodes { (row(node)) } }
            }
        }
        @if account.unclaimed > 0 { p { (count(account.unclaimed)) " slots were claimed by no node." } }
    }
}

fn row(node: &NodeAccount) -> Markup {
    let NodeAccount { number, name, claimed, started, skipped, lost, twice, .. } = node;
    html! {
        tr {
            td { (number) }
            td { bdi { (name) } }
            @for slots in [claimed, started, skipped] { td { (count(*slots)) } }
            td { (lost) }
            td { (count(*twice)) }
        }
    }
}
