//! The report for people.

use super::curve::Curve;
use super::summary::Summary;
use crate::percentiles;
use crate::run::recording::stats::OperationStats;
use hdrhistogram::Histogram;
use nanopace_console::human;
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

/// Shows a summary as text of many lines.
#[derive(Debug)]
pub(crate) struct Report<'run>(pub(crate) &'run Summary);

impl Display for Report<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let summary = self.0;
        counts(f, summary)?;
        failures(f, &summary.stats)?;
        table(f, &summary.stats)?;
        write!(
            f,
            "{}",
            Curve {
                uncorrected: &summary.stats.service,
                corrected: &summary.stats.response,
                verdict: summary.verdict,
            }
        )?;
        gaps(f, summary)?;
        ledger(f, summary)?;
        spinning(f, summary)?;
        writeln!(f, "verdict   {}", summary.verdict.sentence())
    }
}

fn counts(f: &mut Formatter<'_>, summary: &Summary) -> fmt::Result {
    let (stats, duration) = (&summary.stats, human::time(summary.duration));
    let (target, achieved) = (human::hz(summary.target_hz), human::hz(summary.achieved_hz));
    writeln!(f, "rate      target {target}, achieved {achieved} over {duration}")?;
    writeln!(
        f,
        "slots     {} due, {} started: ratio {:.4}",
        summary.due,
        stats.started(),
        summary.ratio
    )?;
    let (completed, failed, skipped) = (stats.completed(), stats.failed(), summary.ledger.skipped);
    writeln!(f, "requests  {completed} completed, {failed} failed, {skipped} skipped")
}

fn failures(f: &mut Formatter<'_>, stats: &OperationStats) -> fmt::Result {
    stats
        .failures
        .iter()
        .try_for_each(|(kind, count)| writeln!(f, "          {count} failed: {kind}"))
}

/// Wait, service and response time side by side.
fn table(f: &mut Formatter<'_>, stats: &OperationStats) -> fmt::Result {
    let columns = [&stats.wait, &stats.service, &stats.response];
    writeln!(f, "\n{:>18} {:>12} {:>12}", "wait", "service", "response")?;
    writeln!(f, "{:>18} {:>12} {:>12}", "", "uncorrected", "corrected")?;
    row(f, "count", columns.map(|times| times.len().to_string()))?;
    row(f, "mean", columns.map(mean))?;
    for (name, quantile) in [
        ("p50", 0.5),
        ("p90", 0.9),
        ("p99", 0.99),
        ("p99.9", 0.999),
        ("p99.99", 0.9999),
        ("max", 1.0),
    ] {
        row(f, name, columns.map(|times| human::time(percentiles::at(times, quantile))))?;
    }
    Ok(())
}

fn row(f: &mut Formatter<'_>, name: &str, [wait, service, response]: [String; 3]) -> fmt::Result {
    writeln!(f, "{name:<6}{wait:>12} {service:>12} {response:>12}")
}

fn mean(times: &Histogram<u64>) -> String {
    human::time(Duration::from_secs_f64(times.mean() * 1e-9))
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
        None => writeln!(f, "gaps      too few starts to judge"),
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

/// Writes nothing if no worker spun.
fn spinning(f: &mut Formatter<'_>, summary: &Summary) -> fmt::Result {
    if summary.spun.is_zero() {
        return Ok(());
    }
    let share = human::percent(summary.spun.as_secs_f64() / summary.ledger.elapsed.as_secs_f64());
    writeln!(f, "spinning  {}: {share} of a core, all workers together", human::time(summary.spun))
}
