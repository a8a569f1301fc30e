//! Defines the results of a search: its conclusion, its steps, and the reason why it ended.

use super::judge::{Cause, Measured};
use super::method::{Conclusion, Outcome, Search};
use crate::console::human::four_digits;
use crate::load::kind::FailureKind;
use crate::load::shortage::GENERATOR;
use serde::Serialize;
use std::time::{Duration, SystemTime};

#[derive(Debug)]
pub(crate) struct Results {
    pub(crate) url: String,
    pub(crate) connections: u32,
    pub(crate) start: SystemTime,
    pub(crate) took: Duration,
    pub(crate) warnings: Vec<String>,
    pub(crate) conclusion: Conclusion,
    pub(crate) contradictions: Vec<f64>,
    pub(crate) precision: f64,
    pub(crate) steps: Vec<Measured>,
    pub(crate) end: End,
    /// The failure of the last request that was sent alone, if this failure ended the search.
    pub(crate) failure: Option<FailureKind>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum End {
    /// The search is complete: it has found the highest rate, or has shown that this rate cannot be found.
    Complete,
    Steps,
    Time,
    Interrupted,
    /// No request of a step succeeded, and none of the requests that were sent alone after the step did.
    TargetFailing,
}

pub(crate) fn rate(hz: f64) -> String {
    format!("{}/s", four_digits(hz))
}

impl End {
    pub(crate) fn of(search: &Search) -> End {
        match search.conclusion() {
            Conclusion::Unfinished { .. } => End::Steps,
            _ => End::Complete,
        }
    }

    fn is_planned(self) -> bool {
        matches!(self, End::Steps | End::Time)
    }
}

impl Results {
    /// Returns whether the search succeeded. Returns `None` if the generator or an interrupt prevented a result.
    pub(crate) fn success(&self) -> Option<bool> {
        match self.conclusion {
            Conclusion::Found { .. } | Conclusion::AllKept { .. } => Some(true),
            Conclusion::NoneKept { .. } => Some(false),
            _ if self.end == End::TargetFailing && !self.fails_by_generator() => Some(false),
            Conclusion::Unfinished { kept: Some(_), .. } if self.end.is_planned() => Some(true),
            Conclusion::Unfinished { kept: None, missed: Some(_) } => Some(false),
            Conclusion::Unfinished { .. } | Conclusion::GeneratorLimit { .. } => None,
        }
    }

    pub(crate) fn unjudged(&self) -> usize {
        self.steps.iter().filter(|step| step.outcome == Outcome::Generator).count()
    }

    pub(crate) fn cause(&self) -> Option<Cause> {
        match self.end {
            End::TargetFailing if self.fails_by_generator() => Some(Cause::Generator),
            End::TargetFailing => Some(Cause::Errors),
            _ => self.culprit()?.cause,
        }
    }

    pub(crate) fn fails_by_generator(&self) -> bool {
        self.failure.is_some_and(|failure| failure.group() == GENERATOR)
    }

    /// Returns the step that shows why the rate is not higher: the last step that missed the objective at the lowest
    /// rate above the highest rate that met it. If the target was failing, this is the last step.
    pub(crate) fn culprit(&self) -> Option<&Measured> {
        if self.end == End::TargetFailing {
            return self.steps.last();
        }
        let (hz, outcomes) = match self.conclusion {
            Conclusion::Found { broken, .. } | Conclusion::NoneKept { broken } => {
                (broken, &[Outcome::Broken][..])
            }
            Conclusion::GeneratorLimit { limit, .. } => (limit, &[Outcome::Generator][..]),
            Conclusion::Unfinished { missed, .. } => {
                (missed?, &[Outcome::Broken, Outcome::Generator][..])
            }
            Conclusion::AllKept { .. } => return None,
        };
        let is_it =
            |step: &&Measured| (step.hz - hz).abs() < 1e-9 * hz && outcomes.contains(&step.outcome);
        self.steps.iter().rev().find(is_it)
    }
}
