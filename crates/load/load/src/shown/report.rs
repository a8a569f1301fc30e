//! The report for people.

use super::comparison::ComparisonText;
use super::curve::Curve;
use super::labels::LabelLines;
use super::own_times::OwnTable;
use super::rates::Rates;
use super::times::{AT_LEAST, NONE, TimesTable};
use crate::console::human::{self, float};
use crate::judged::checks::Finding;
use crate::judged::summary::Summary;
use crate::load::details::Traffic;
use crate::recorded::percentiles::Sample;
use crate::recorded::stats::{OperationStats, SetUps};
use hdrhistogram::Histogram;
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

/// Shows a summary as text of many lines.
#[derive(Debug)]
pub(crate) struct RunReport<'run>(pub(crate) &'run Summary);

impl Display for RunReport<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let summary = self.0;
        counts(f, summary)?;
        requests(f, &summary.stats)?;
        statuses(f, &summary.stats)?;
        write!(f, "{}", LabelLines(&summary.stats))?;
        write!(f, "{}", Rates(&summary.over_time))?;
        write!(f, "{}", TimesTable(summary.confidence()))?;
        write!(f, "{}", OwnTable(&summary.own_times))?;
        let (stats, verdict) = (&summary.stats, summary.verdict);
        let (uncorrected, corrected) = (Sample::exact(&stats.service), stats.responses());
        write!(f, "{}", Curve { uncorrected, corrected, verdict })?;
        gaps(f, summary)?;
        ledger(f, summary)?;
        spinning(f, summary)?;
        lateness(f, summary)?;
        processor(f, summary)?;
        connections(f, summary)?;
        baseline(f, summary)?;
        writeln!(f, "verdict   {}", summary.sentence())?;
        findings(f, summary)?;
        summary.warnings.iter().try_for_each(|warning| writeln!(f, "warning   {warning}"))?;
        summary.incomplete.iter().try_for_each(|why| writeln!(f, "load      incomplete: {why}"))?;
        write!(f, "{}", MissedLines(&summary.missed))
    }
}

/// What the run found when it looked at itself; what is not well has a word before it.
fn findings(f: &mut Formatter<'_>, summary: &Summary) -> fmt::Result {
    summary.findings.iter().try_for_each(|Finding { check, is_well, text }| {
        let sign = if *is_well { "" } else { "caution: " };
        writeln!(f, "{check:<9} {sign}{text}")
    })
}

/// How the run is beside a baseline, if it has one.
fn baseline(f: &mut Formatter<'_>, summary: &Summary) -> fmt::Result {
    match &summary.beside {
        None => Ok(()),
        Some(Err(why)) => writeln!(f, "baseline  not compared: {why}"),
        Some(Ok(comparison)) => {
            writeln!(f, "\nbaseline  is A, and this run is B")?;
            writeln!(f, "{}", ComparisonText(comparison, &[]))
        }
    }
}

/// What was required and does not hold, a line each.
#[derive(Debug)]
pub(crate) struct MissedLines<'run>(pub(crate) &'run [String]);

impl Display for MissedLines<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|missed| writeln!(f, "missed    {missed}"))
    }
}

fn counts(f: &mut Formatter<'_>, summary: &Summary) -> fmt::Result {
    let (stats, duration) = (&summary.stats, human::time(summary.duration));
    let (target, achieved) = (human::hz(summary.target_hz), human::hz(summary.achieved_hz));
    let ratio = summary.ratio;
    writeln!(
        f,
        "rate      target {target}, achieved {achieved} over {duration}: ratio {ratio:.4}"
    )?;
    writeln!(
        f,
        "slots     {} due = {} started + {} skipped + {} unstarted",
        stats.due(),
        stats.started(),
        stats.skipped,
        stats.unstarted
    )
}

/// The counts of requests, of failures by kind, and of requests that were sent again.
pub(crate) fn requests(f: &mut Formatter<'_>, stats: &OperationStats) -> fmt::Result {
    let (completed, failed, unfinished) = (stats.completed(), stats.failed(), stats.unfinished);
    writeln!(f, "requests  {completed} completed, {failed} failed, {unfinished} unfinished")?;
    for (kind, count) in &stats.failures {
        writeln!(f, "          {count} failed: {kind}")?;
    }
    match stats.traffic.retried {
        0 => Ok(()),
        count => {
            writeln!(f, "          {count} sent again: their connection was closed while idle")
        }
    }
}

/// How many answers had which status.
fn statuses(f: &mut Formatter<'_>, stats: &OperationStats) -> fmt::Result {
    if stats.statuses.is_empty() {
        return Ok(());
    }
    let counts = stats.statuses.iter().map(|(status, count)| format!("{count} with {status}"));
    writeln!(f, "statuses  {}", counts.collect::<Vec<_>>().join(", "))
}

fn gaps(f: &mut Formatter<'_>, summary: &Summary) -> fmt::Result {
    match summary.gaps {
        Some(gaps) => {
            let near = human::percent(gaps.within_25_percent);
            let variation = gaps.coefficient_of_variation;
            writeln!(
                f,
                "gaps      {near} within 25 % of nominal, coefficient of variation {variation:.3}"
            )
        }
        None => writeln!(f, "gaps      not judged: too few starts, or arrivals that are not even"),
    }
}

fn ledger(f: &mut Formatter<'_>, summary: &Summary) -> fmt::Result {
    let ledger = &summary.ledger;
    let [elapsed, allocated, idle, waiting, backlog] =
        [ledger.elapsed, ledger.allocated, ledger.idle, ledger.waiting, ledger.backlog]
            .map(human::time);
    writeln!(
        f,
        "ledger    elapsed {elapsed} = allocated {allocated} + idle {idle} + waiting {waiting} + backlog {backlog}"
    )
}

/// Whose lateness it was, summed over slots.
fn lateness(f: &mut Formatter<'_>, summary: &Summary) -> fmt::Result {
    let lateness = &summary.stats.lateness;
    let [target, generator, held, resting] =
        [lateness.target, lateness.generator, lateness.held, lateness.resting]
            .map(|seconds| human::time(Duration::from_secs_f64(seconds)));
    write!(f, "lateness  by the target {target}, by the generator {generator}")?;
    if lateness.held > 0.0 {
        write!(f, ", held back by the burst ratio {held}")?;
    }
    if lateness.resting > 0.0 {
        write!(f, ", while think times held connections {resting}")?;
    }
    writeln!(f, "; summed over slots")
}

fn processor(f: &mut Formatter<'_>, summary: &Summary) -> fmt::Result {
    let Some(time) = summary.processor else { return Ok(()) };
    let [had, wanted] = [time.had, time.wanted].map(human::time);
    writeln!(f, "processor {had} of the {wanted} that the load threads wanted")
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
    writeln!(f, "bytes     {read} read, {written} written")?;
    if let Some(items) = summary.items() {
        let rate = human::hz(float(items) / summary.duration.as_secs_f64());
        writeln!(f, "items     {items}: {rate}")?;
    }
    write!(f, "set-up    {} connections: {}", connect.len(), spread(connect))?;
    if !tls.is_empty() {
        write!(f, "; TLS {}", spread(tls))?;
    }
    writeln!(f, "; names resolved in {}", human::time(summary.resolved_in))
}

/// Writes nothing if no thread spun.
fn spinning(f: &mut Formatter<'_>, summary: &Summary) -> fmt::Result {
    if summary.stats.spun.is_zero() {
        return Ok(());
    }
    let share =
        human::percent(summary.stats.spun.as_secs_f64() / summary.ledger.elapsed.as_secs_f64());
    writeln!(
        f,
        "spinning  {}: {share} of a core, all threads together",
        human::time(summary.stats.spun)
    )
}
