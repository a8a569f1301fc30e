//! Defines scenarios: successive requests, the values that they extract from responses, and the checks of responses.

mod number;

use super::response::extraction::{Missing, Part, SearchedResponse, Source};
use super::response::retained::Wanted;
use crate::http::template::Template;
use crate::http::template::values::Values;
use crate::load::kind::FailureKind;
use serde_json::Value;
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Scenario {
    /// The label of the scenario, if the plan has several.
    pub(crate) label: Option<&'static str>,
    pub(crate) steps: Vec<Step>,
}

#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) request: usize,
    pub(crate) label: &'static str,
    /// The think time: the pause between the response to this step and the next step.
    pub(crate) think: Duration,
    pub(crate) takes: Vec<Take>,
    pub(crate) checks: Vec<Check>,
}

#[derive(Debug)]
pub(crate) struct Take {
    /// The kind of failure that is counted if the response does not contain a valid value.
    pub(crate) name: String,
    /// The index of the value among all values of the scenario.
    pub(crate) index: usize,
    pub(crate) source: Source,
    /// The conditions that the value must meet, one for each kind of place that uses it.
    pub(crate) fits: Vec<fn(&[u8]) -> bool>,
}

#[derive(Debug)]
pub(crate) struct Check {
    /// The kind of failure that is counted if the check fails.
    pub(crate) name: String,
    pub(crate) condition: Condition,
}

#[derive(Debug)]
pub(crate) enum Condition {
    Status(u16),
    /// A value exists at the source, and equals this value if one is given.
    At(Source, Option<Value>),
    /// A value exists at the source, and equals the text that the template gives.
    Filled(Source, Template),
}

impl Step {
    pub(crate) fn has_status(&self) -> bool {
        self.checks.iter().any(|check| matches!(check.condition, Condition::Status(_)))
    }

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
    /// # Errors
    /// Returns an error if the response does not contain the value, or if a place that uses the value does not accept
    /// it.
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
    /// `values` fill the expected text.
    ///
    /// # Errors
    /// Returns an error if the condition is not met.
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

/// Compares raw JSON with a value. Numbers are equal in any notation: `1` and `1.0`.
fn are_alike(written: &str, value: &Value) -> bool {
    match value {
        Value::Number(number) => number::are_same(written, &number.to_string()),
        value => serde_json::from_str::<Value>(written).is_ok_and(|written| written == *value),
    }
}
