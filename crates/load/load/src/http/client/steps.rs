//! Scenarios: requests that are sent one after the other, what is taken from an answer for the next ones, and
//! what answers must be like.

mod number;

use super::response::extraction::{Missing, Part, SearchedResponse, Source};
use super::response::retained::Wanted;
use crate::http::template::Template;
use crate::http::template::values::Values;
use crate::load::kind::FailureKind;
use serde_json::Value;
use std::time::Duration;

/// Requests that are one slot's, in order.
#[derive(Debug)]
pub(crate) struct Scenario {
    /// By what it is counted apart from other scenarios, if there are any.
    pub(crate) label: Option<&'static str>,
    /// At least one.
    pub(crate) steps: Vec<Step>,
}

/// A request of a scenario.
#[derive(Debug)]
pub(crate) struct Step {
    /// Its number in the plan.
    pub(crate) request: usize,
    /// By what it is counted.
    pub(crate) label: &'static str,
    /// How long the next one is held back after its answer.
    pub(crate) think: Duration,
    pub(crate) takes: Vec<Take>,
    pub(crate) checks: Vec<Check>,
}

/// A value that is taken from an answer.
#[derive(Debug)]
pub(crate) struct Take {
    /// What a step fails by that can't have it.
    pub(crate) name: String,
    /// Its number in the scenario.
    pub(crate) index: usize,
    pub(crate) source: Source,
    /// What it has to be like for the places that it goes to.
    pub(crate) fits: Vec<fn(&[u8]) -> bool>,
}

/// What an answer must be like.
#[derive(Debug)]
pub(crate) struct Check {
    /// What a step fails by if it is not.
    pub(crate) name: String,
    pub(crate) condition: Condition,
}

/// What is looked at.
#[derive(Debug)]
pub(crate) enum Condition {
    Status(u16),
    /// Something is there, and equals this if that is said.
    At(Source, Option<Value>),
    /// Something is there, and is this text, which is filled.
    Filled(Source, Template),
}

impl Step {
    /// Whether it says itself which status is a success.
    pub(crate) fn has_status(&self) -> bool {
        self.checks.iter().any(|check| matches!(check.condition, Condition::Status(_)))
    }

    /// What of its answer has to be kept.
    pub(crate) fn wanted(&self) -> Wanted {
        let checked = self.checks.iter().filter_map(|check| match &check.condition {
            Condition::At(source, _) | Condition::Filled(source, _) => Some(source),
            Condition::Status(_) => None,
        });
        let sources = || self.takes.iter().map(|take| &take.source).chain(checked.clone());
        let is_header = |source: &Source| matches!(source.part, Part::Header(_));
        Wanted { headers: sources().any(is_header), body: sources().any(|it| !is_header(it)) }
    }
}

impl Take {
    /// The value in an answer.
    ///
    /// # Errors
    /// It is not there, or can't be where it goes to.
    pub(crate) fn value(&self, answer: &SearchedResponse<'_>) -> Result<Vec<u8>, FailureKind> {
        let value = answer.find(&self.source);
        let value = value.and_then(|value| {
            let fits = self.fits.iter().all(|fits| fits(&value));
            if fits { Ok(value.into_owned()) } else { Err(Missing::Unfit) }
        });
        value.map_err(|why| FailureKind::of_group("take", &why.named(&self.name)))
    }
}

impl Check {
    /// Whether an answer is as it must be, with the slot's values.
    ///
    /// # Errors
    /// It is not.
    pub(crate) fn of(
        &self,
        answer: &SearchedResponse<'_>,
        values: &mut Values<'_>,
    ) -> Result<(), FailureKind> {
        let holds = self.holds(answer, values);
        let holds = holds.and_then(|holds| if holds { Ok(()) } else { Err(Missing::Absent) });
        holds.map_err(|why| FailureKind::of_group("check", &why.named(&self.name)))
    }

    fn holds(
        &self,
        answer: &SearchedResponse<'_>,
        values: &mut Values<'_>,
    ) -> Result<bool, Missing> {
        Ok(match &self.condition {
            Condition::Status(status) => answer.status.as_u16() == *status,
            Condition::At(source, None) => answer.find(source).map(|_| true)?,
            Condition::Filled(source, text) => {
                let (found, mut expected) = (answer.find(source)?, Vec::new());
                text.fill(values, &mut expected);
                found == expected
            }
            Condition::At(Source { part: Part::Json(pointer), regex: None }, Some(value)) => {
                are_alike(answer.json(pointer)?.get(), value)
            }
            Condition::At(source, Some(value)) => {
                value.as_str().map(str::as_bytes) == Some(&*answer.find(source)?)
            }
        })
    }
}

/// Whether what is written in JSON is this value; `1` and `1.0` are the same.
fn are_alike(written: &str, value: &Value) -> bool {
    match value {
        Value::Number(number) => number::are_same(written, &number.to_string()),
        value => serde_json::from_str::<Value>(written).is_ok_and(|written| written == *value),
    }
}
