//! Writes the results of a search as a JSON object.

use super::answer::Answer;
use crate::judged::search::judge::{Cause, Measured, Promise};
use crate::judged::search::method::Conclusion;
use crate::judged::search::results::{End, Results};
use serde::Serialize;

/// The results of a search as a JSON object. Programs depend on the names of its fields, so the names must not change.
#[derive(Debug, Serialize)]
pub(crate) struct Object<'run> {
    version: &'static str,
    url: &'run str,
    start: String,
    until: Vec<String>,
    connections: u32,
    precision: f64,
    conclusion: Conclusion,
    answer: String,
    cause: Option<Cause>,
    ended: End,
    failure: Option<String>,
    contradictions: &'run [f64],
    warnings: &'run [String],
    duration_seconds: f64,
    steps: &'run [Measured],
}

impl Object<'_> {
    pub(crate) fn new<'run>(results: &'run Results, promise: &'run Promise) -> Object<'run> {
        Object {
            version: env!("CARGO_PKG_VERSION"),
            url: &results.url,
            start: humantime::format_rfc3339_millis(results.start).to_string(),
            until: promise.until.iter().map(ToString::to_string).collect(),
            connections: results.connections,
            precision: results.precision,
            conclusion: results.conclusion,
            answer: Answer { results, promise }.sentence(),
            cause: results.cause(),
            ended: results.end,
            failure: results.failure.map(|failure| failure.to_string()),
            contradictions: &results.contradictions,
            warnings: &results.warnings,
            duration_seconds: results.took.as_secs_f64(),
            steps: &results.steps,
        }
    }
}
