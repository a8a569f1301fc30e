//! The results of a search.

use super::judge::{Cause, Measured};
use super::method::{Conclusion, Outcome, Search};
use crate::console::human::four_digits;
use crate::load::kind::FailureKind;
use crate::load::shortage::GENERATOR;
use serde::Serialize;
use std::time::{Duration, SystemTime};

/// The results of a search, and its settings.
#[derive(Debug)]
pub(crate) struct Results {
    /// Where requests went.
    pub(crate) url: String,
    /// How many requests could be in flight.
    pub(crate) connections: u32,
    /// When it began.
    pub(crate) start: SystemTime,
    /// How long it took.
    pub(crate) took: Duration,
    /// Reasons why all figures are less certain.
    pub(crate) warnings: Vec<String>,
    /// The conclusion from the steps.
    pub(crate) conclusion: Conclusion,
    /// Rates at which steps contradicted each other.
    pub(crate) contradictions: Vec<f64>,
    /// How far apart the rates of the answer may be.
    pub(crate) precision: f64,
    /// All steps, in order.
    pub(crate) steps: Vec<Measured>,
    /// Why there are no more of them.
    pub(crate) end: End,
    /// How a request failed that was sent alone, if that is why.
    pub(crate) failure: Option<FailureKind>,
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum End {
    /// Nothing was left to find out.
    Complete,
    Steps,
    Time,
    Interrupted,
    /// No request succeeded in a step, and none did that was sent alone.
    TargetFailing,
}

/// A rate of a search, which has few digits.
pub(crate) fn rate(hz: f64) -> String {
    format!("{}/s", four_digits(hz))
}

impl End {
    /// Why a search has no more steps.
    pub(crate) fn of(search: &Search) -> End {
        match search.conclusion() {
            Conclusion::Unfinished { .. } => End::Steps,
            _ => End::Complete,
        }
    }

    /// Whether the search ended by a limit that its options set.
    fn is_planned(self) -> bool {
        matches!(self, End::Steps | End::Time)
    }
}

impl Results {
    /// Whether a rate met the objective. None if that is not known, because the generator was the limit or the search
    /// was interrupted.
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

    /// How many steps the generator spoiled.
    pub(crate) fn unjudged(&self) -> usize {
        self.steps.iter().filter(|step| step.outcome == Outcome::Generator).count()
    }

    /// The resource that ran out above the highest rate.
    pub(crate) fn cause(&self) -> Option<Cause> {
        match self.end {
            End::TargetFailing if self.fails_by_generator() => Some(Cause::Generator),
            End::TargetFailing => Some(Cause::Errors),
            _ => self.culprit()?.cause,
        }
    }

    /// Whether the request that was sent alone failed by a limit of the generator's machine.
    pub(crate) fn fails_by_generator(&self) -> bool {
        self.failure.is_some_and(|failure| failure.group() == GENERATOR)
    }

    /// The last step that shows why the objective is missed above the highest rate.
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
