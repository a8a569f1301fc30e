//! The results as one JSON object. Its names are a promise to the programs that read it.

use crate::limit::candidate::{Answers, Candidate};
use crate::limit::chosen::Dropped;
use crate::limit::columns::Columns;
use crate::limit::results::{Results, Row};
use nanopace_limits::Quota;
use serde::Serialize;
use std::time::Duration;

/// The most columns of the rates over time.
const MOST_COLUMNS: usize = 200;

/// The whole object.
#[derive(Debug, Serialize)]
pub(crate) struct Object {
    limit: Limit,
    cost: u64,
    complete: bool,
    asked: u64,
    keys: usize,
    lines_skipped: u64,
    lines_out_of_order: u64,
    phase_ns: u128,
    column_ns: u64,
    asked_rates: Vec<f64>,
    limiters: Vec<Limiter>,
    not_tried: Vec<NotTried>,
}

/// A limit.
#[derive(Debug, Serialize)]
pub(crate) struct Limit {
    count: u64,
    period_ns: u64,
}

#[derive(Debug, Serialize)]
struct Limiter {
    name: String,
    admitted: u64,
    rejected: u64,
    longest_retry_ns: Option<u128>,
    most_in_period: u64,
    rejected_in_a_row: u64,
    phases: Vec<Phase>,
    admitted_rates: Vec<f64>,
}

#[derive(Debug, Serialize)]
struct Phase {
    name: String,
    from_ns: u128,
    asked: u64,
    admitted: u64,
    rejected: u64,
    admitted_rate: f64,
    /// Null when some requests can never get in.
    longest_retry_ns: Option<u128>,
}

/// A limiter that could not be tried.
#[derive(Debug, Serialize)]
pub(crate) struct NotTried {
    name: String,
    reason: String,
}

impl Limit {
    /// The limit's count and period.
    pub(crate) fn new(quota: Quota) -> Limit {
        Limit { count: quota.count(), period_ns: quota.period_ns() }
    }
}

impl NotTried {
    /// All limiters that could not be tried.
    pub(crate) fn all(dropped: &[Dropped]) -> Vec<NotTried> {
        let not_tried = |Dropped { kind, reason }: &Dropped| NotTried {
            name: kind.to_string(),
            reason: reason.clone(),
        };
        dropped.iter().map(not_tried).collect()
    }
}

impl Object {
    /// The object for these results.
    pub(crate) fn new(results: &Results) -> Object {
        let columns = Columns::of(results, MOST_COLUMNS);
        Object {
            limit: Limit::new(results.limit),
            cost: results.cost,
            complete: results.complete,
            asked: results.candidates[0].total().asked,
            keys: results.candidates[0].keys(),
            lines_skipped: results.faults.skipped,
            lines_out_of_order: results.faults.out_of_order,
            phase_ns: results.row_length().as_nanos(),
            column_ns: columns.width_ns,
            asked_rates: columns.rates(&results.asked),
            limiters: results
                .candidates
                .iter()
                .map(|candidate| Limiter::new(results, candidate, columns))
                .collect(),
            not_tried: NotTried::all(&results.dropped),
        }
    }
}

impl Limiter {
    fn new(results: &Results, candidate: &Candidate, columns: Columns) -> Limiter {
        let total = candidate.total();
        Limiter {
            name: candidate.kind.to_string(),
            admitted: total.admitted,
            rejected: total.rejected(),
            longest_retry_ns: longest_retry(&total).map(|retry| retry.as_nanos()),
            most_in_period: candidate.most_in_period(),
            rejected_in_a_row: candidate.longest_streak(),
            phases: results
                .rows
                .rows
                .iter()
                .map(|row| Phase::new(results, candidate, row))
                .collect(),
            admitted_rates: columns.rates(&candidate.admitted),
        }
    }
}

impl Phase {
    fn new(results: &Results, candidate: &Candidate, row: &Row) -> Phase {
        let answers = row.answers(candidate);
        Phase {
            name: row.name.clone(),
            from_ns: results.row_start(row).as_nanos(),
            asked: answers.asked,
            admitted: answers.admitted,
            rejected: answers.rejected(),
            admitted_rate: results.rate(&answers),
            longest_retry_ns: longest_retry(&answers).map(|retry| retry.as_nanos()),
        }
    }
}

/// Nothing when some requests can never get in.
fn longest_retry(answers: &Answers) -> Option<Duration> {
    (answers.too_large == 0).then_some(answers.longest_retry)
}
