//! Writes the report of a fleet for people, in the same form as the report of a run.

use super::account::{self, NodeTable};
use crate::console::human;
use crate::judged::headline::missed_of;
use crate::judged::shortages;
use crate::judged::verdict::Verdict;
use crate::judged::whole::{Told, Whole};
use crate::results::confidence::Confidence;
use crate::results::stats::OperationStats;
use crate::shown::labels::LabelLines;
use crate::shown::own_times::{OwnTable, counter_line};
use crate::shown::rates::Rates;
use crate::shown::report::{Detail, Head, errors, passed, rate, requests};
use crate::shown::times::{BriefTable, TimesTable};
use std::fmt::{self, Display, Formatter};

#[derive(Debug)]
pub(crate) struct FleetReport<'run> {
    pub(crate) whole: &'run Whole,
    pub(crate) detail: Detail,
}

impl Display for FleetReport<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let FleetReport { whole, detail } = self;
        let nothing = OperationStats::new();
        let stats = whole.stats().unwrap_or(&nothing);
        let own_times = whole.own_times();
        let head = || Head {
            top: vec![headline(whole)],
            figures: figures(whole, stats),
            notes: notes(whole, stats),
        };
        match detail {
            Detail::Headline => {
                let missed = whole.missed().next().map(|missed| format!(": {missed}"));
                writeln!(f, "{}: {}{}", whole.name, headline(whole), missed.unwrap_or_default())
            }
            Detail::Brief => head().brief(
                f,
                &BriefTable { stats, own_times, required: &whole.required, is_closed: false },
                None,
            ),
            Detail::All => {
                head().all().iter().try_for_each(|line| writeln!(f, "{line}"))?;
                write!(f, "{}", NodeTable(&whole.account))?;
                let over_time = &whole.over_time();
                let confidence = Confidence::new(stats, over_time);
                write!(f, "{}", TimesTable { confidence, is_closed: false })?;
                write!(f, "{}{}", OwnTable(own_times), Rates { over_time, is_closed: false })?;
                write!(f, "{}", LabelLines(stats))
            }
        }
    }
}

fn headline(whole: &Whole) -> String {
    let missed = whole.missed().count();
    match whole.sure_verdict() {
        _ if missed > 0 => missed_of(missed, whole.required.len()),
        Some((verdict, stats)) if whole.account.is_exact() => verdict_line(verdict, stats),
        _ => whole.exactness().to_owned(),
    }
}

fn verdict_line(verdict: Verdict, stats: &OperationStats) -> String {
    verdict.headline(&stats.lateness, stats.failed_share())
}

fn figures(whole: &Whole, stats: &OperationStats) -> Vec<String> {
    let (nodes, rates) = (human::count(whole.account.nodes.len(), "node"), whole.rates());
    let fleet = format!("fleet     {}: {nodes}, {} with results", whole.name, whole.told.given);
    let ratio = (whole.account.expected > 0).then(|| rates[1] / rates[0]);
    let rate = rate(rates, whole.changes_rate(), ratio, whole.account.span);
    let lines = [fleet, rate, account::line(&whole.account), requests(stats, true)].into_iter();
    lines.chain(errors(stats)).chain(counter_line(whole.own_times())).collect()
}

fn notes(whole: &Whole, stats: &OperationStats) -> Vec<(&'static str, String)> {
    let Told { so_far, unreadable, .. } = &whole.told;
    let mut notes: Vec<_> = whole.missed().map(|missed| ("missed", missed.clone())).collect();
    let is_headline = notes.is_empty() && whole.account.is_exact();
    let verdict = whole.sure_verdict().filter(|(verdict, _)| !is_headline && !verdict.is_well());
    notes.extend(verdict.map(|(verdict, stats)| ("verdict", verdict_line(verdict, stats))));
    notes.extend(passed(&whole.required));
    let unreadable = (*unreadable > 0).then(|| {
        let of = human::count(*unreadable, "node");
        format!("this version of nanopace cannot read the results of {of}")
    });
    let so_far = so_far.iter().map(|(node, until)| {
        format!("node {node} has reported only interim results, up to {}", human::long_time(*until))
    });
    let cautions = account::notes(&whole.account).into_iter().chain(so_far).chain(unreadable);
    notes.extend(cautions.chain(shortages::warnings(stats)).map(|caution| ("caution", caution)));
    notes
}
