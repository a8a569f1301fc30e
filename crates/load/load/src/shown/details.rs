//! Writes the details that `-v` adds to the report after the percentiles.

use super::comparison::ComparisonText;
use super::curve::Curve;
use super::labels::LabelLines;
use super::own_times::OwnTable;
use super::rates::Rates;
use super::times::{AT_LEAST, NONE};
use crate::console::human::{self, count, float, percent};
use crate::judged::checks::Finding;
use crate::judged::summary::Summary;
use crate::load::details::Traffic;
use crate::results::percentiles::Sample;
use crate::results::stats::{OperationStats, SetUps};
use hdrhistogram::Histogram;
use std::fmt::{self, Display, Formatter};

#[derive(Debug)]
pub(crate) struct Details<'run>(pub(crate) &'run Summary);

impl Display for Details<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let summary = self.0;
        let (stats, verdict) = (&summary.stats, summary.verdict);
        write!(f, "{}", OwnTable(&summary.own_times))?;
        write!(f, "{}", Rates { over_time: &summary.over_time, is_closed: summary.is_closed })?;
        if summary.is_closed {
            writeln!(f)?;
        } else {
            let (uncorrected, corrected) = (Sample::exact(&stats.service), stats.responses());
            write!(f, "{}", Curve { uncorrected, corrected, verdict })?;
        }
        statuses(f, stats)?;
        write!(f, "{}", LabelLines(stats))?;
        if !summary.is_closed {
            schedule(f, summary)?;
        }
        cpu(f, summary)?;
        connections(f, summary)?;
        unnoted(summary).try_for_each(|Finding { is_well, text, .. }| {
            let kind = if *is_well { "check" } else { "caution" };
            writeln!(f, "{kind:<9} {text}")
        })?;
        if let Some(Ok(comparison)) = &summary.beside {
            let about = "baseline  A is the baseline, B is this run\n";
            write!(f, "\n{}", if comparison.is_paired { "" } else { about })?;
            write!(f, "{}", ComparisonText(comparison, &[]))?;
        }
        Ok(())
    }
}

fn unnoted(summary: &Summary) -> impl Iterator<Item = &Finding> {
    let are_noted = summary.verdict.is_well();
    let goal = |found: &&Finding| found.is_well && found.check == "sure";
    let noted = move |found: &&Finding| goal(found) || !found.is_well && are_noted;
    summary.findings.iter().filter(move |found| !noted(found))
}

fn statuses(f: &mut Formatter<'_>, stats: &OperationStats) -> fmt::Result {
    if !stats.statuses.is_empty() {
        let counts = stats.statuses.iter().map(|(status, count)| format!("{status}: {count}"));
        writeln!(f, "statuses  {}", counts.collect::<Vec<_>>().join(", "))?;
    }
    match stats.traffic.retried {
        0 => Ok(()),
        retried => {
            let requests = count(retried, "request");
            writeln!(f, "retried   {requests}, because an idle connection was closed")
        }
    }
}

fn schedule(f: &mut Formatter<'_>, summary: &Summary) -> fmt::Result {
    match summary.gaps {
        Some(gaps) => {
            let near = percent(gaps.within_25_percent);
            let variation = gaps.coefficient_of_variation;
            writeln!(
                f,
                "gaps      {near} within 25 % of nominal, coefficient of variation {variation:.3}"
            )?;
        }
        None => writeln!(
            f,
            "gaps      not judged: too few starts, uneven arrivals, or several loads or processes"
        )?,
    }
    let Some(ledger) = &summary.ledger else { return lateness(f, summary) };
    let [elapsed, allocated, idle, waiting, backlog] =
        [ledger.elapsed, ledger.allocated, ledger.idle, ledger.waiting, ledger.backlog]
            .map(human::time);
    writeln!(
        f,
        "ledger    {elapsed} elapsed = {allocated} allocated + {idle} idle + {waiting} waiting + {backlog} backlog"
    )?;
    lateness(f, summary)
}

fn lateness(f: &mut Formatter<'_>, summary: &Summary) -> fmt::Result {
    let stats = &summary.stats;
    let shares = stats.lateness.shares();
    if shares.is_empty() {
        return writeln!(f, "lateness  none");
    }
    let shares: Vec<_> =
        shares.iter().map(|(whose, share)| format!("{whose} {}", percent(*share))).collect();
    let mean = human::time(stats.mean_lateness());
    writeln!(f, "lateness  {mean} per slot on average: {}", shares.join(", "))
}

fn cpu(f: &mut Formatter<'_>, summary: &Summary) -> fmt::Result {
    if let Some(time) = summary.processor {
        let [had, wanted] = [time.had, time.wanted].map(human::time);
        writeln!(
            f,
            "CPU       load threads got {had} of the {wanted} of CPU time that they needed"
        )?;
    }
    let spun = summary.stats.spun;
    if spun.is_zero() {
        return Ok(());
    }
    let Some(ledger) = &summary.ledger else { return Ok(()) };
    let share = percent(spun.as_secs_f64() / ledger.elapsed.as_secs_f64());
    writeln!(f, "spinning  {}: {share} of a core, all threads together", human::time(spun))
}

fn connections(f: &mut Formatter<'_>, summary: &Summary) -> fmt::Result {
    let SetUps { connect, tls, .. } = &summary.stats.set_ups;
    let spread = |times: &Histogram<u64>| {
        let [median, most] = [0.5, 1.0].map(|quantile| {
            Sample::exact(times).shown(quantile, AT_LEAST).unwrap_or_else(|| NONE.to_owned())
        });
        format!("p50 {median}, max {most}")
    };
    let Traffic { read, written, .. } = summary.stats.traffic;
    writeln!(f, "traffic   {} read, {} written", count(read, "byte"), count(written, "byte"))?;
    if let Some(items) = summary.items() {
        let rate = human::hz(float(items) / summary.duration.as_secs_f64());
        writeln!(f, "items     {items}: {rate}")?;
    }
    write!(f, "connect   {}: {}", count(connect.len(), "connection"), spread(connect))?;
    if !tls.is_empty() {
        write!(f, "; TLS {}", spread(tls))?;
    }
    writeln!(f, "; names resolved in {}", human::time(summary.resolved_in))
}
