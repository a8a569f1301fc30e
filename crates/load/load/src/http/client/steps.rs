//! Defines scenarios. A scenario is a sequence of steps. A step is a request, the checks and extractions for its
//! response, and a think time.

mod number;

use super::response::extraction::{Missing, Part, SearchedResponse, Source};
use super::response::retained::Wanted;
use crate::http::template::Template;
use crate::http::template::values::Values;
use crate::http::time_distribution::TimeDistribution;
use crate::load::kind::FailureKind;
use serde_json::Value;

#[derive(Debug)]
pub(crate) struct Scenario {
    /// The label under which the scenario is counted, if the plan has several scenarios.
    pub(crate) label: Option<&'static str>,
    pub(crate) steps: Vec<Step>,
}

#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) request: usize,
    pub(crate) label: &'static str,
    pub(crate) think: TimeDistribution,
    pub(crate) takes: Vec<Take>,
    pub(crate) checks: Vec<Check>,
}

#[derive(Debug)]
pub(crate) struct Take {
    /// The kind under which a failure is counted if the response contains no valid value.
    pub(crate) name: String,
    pub(crate) index: usize,
    pub(crate) source: Source,
    /// The conditions that the value must meet, one for each use of the value in a request.
    pub(crate) fits: Vec<fn(&[u8]) -> bool>,
}

#[derive(Debug)]
pub(crate) struct Check {
    pub(crate) name: String,
    pub(crate) condition: Condition,
}

#[derive(Debug)]
pub(crate) enum Condition {
    Status(u16),
    /// The value at the source exists. If a value is given here, the value at the source equals it.
    At(Source, Option<Value>),
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

/// Returns whether a JSON text equals a value. Equal numbers may have different notations, such as `1` and `1.0`.
fn are_alike(written: &str, value: &Value) -> bool {
    match value {
        Value::Number(number) => number::are_same(written, &number.to_string()),
        value => serde_json::from_str::<Value>(written).is_ok_and(|written| written == *value),
    }
}
