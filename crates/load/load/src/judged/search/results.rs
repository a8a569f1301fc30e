//! Defines the results of a search: its conclusion, its steps, and the reason why it ended.

use super::judge::{Cause, Measured};
use super::method::{Conclusion, Outcome, Search};
use crate::console::human::four_digits;
use crate::load::kind::FailureKind;
use crate::load::shortage::GENERATOR;
use serde::Serialize;
use std::time::{Duration, SystemTime};

/// The results of a search, with its settings.
#[derive(Debug)]
pub(crate) struct Results {
    /// The URL of the target.
    pub(crate) url: String,
    /// The number of connections, which is also the maximum number of requests in flight.
    pub(crate) connections: u32,
    /// The start time of the search.
    pub(crate) start: SystemTime,
    /// The duration of the search.
    pub(crate) took: Duration,
    /// Warnings about conditions that make all figures less certain.
    pub(crate) warnings: Vec<String>,
    /// The conclusion that the steps allow.
    pub(crate) conclusion: Conclusion,
    /// The rates at which steps contradicted each other.
    pub(crate) contradictions: Vec<f64>,
    /// The maximum accepted width of the final bracket.
    pub(crate) precision: f64,
    /// All steps, in chronological order.
    pub(crate) steps: Vec<Measured>,
    /// The reason why the search ended.
    pub(crate) end: End,
    /// The failure of the request that was sent alone, if the search ended because of it.
    pub(crate) failure: Option<FailureKind>,
}

/// The reason why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum End {
    /// The search has found the highest rate, or has found out that it cannot be found.
    Complete,
    Steps,
    Time,
    Interrupted,
    /// No request of a step succeeded, and a request that was then sent alone failed too.
    TargetFailing,
}

/// Formats a rate of a search with up to four digits.
pub(crate) fn rate(hz: f64) -> String {
    format!("{}/s", four_digits(hz))
}

impl End {
    /// Returns the reason why a search has no next step.
    pub(crate) fn of(search: &Search) -> End {
        match search.conclusion() {
            Conclusion::Unfinished { .. } => End::Steps,
            _ => End::Complete,
        }
    }

    /// Returns whether the search ended at a limit that its options set.
    fn is_planned(self) -> bool {
        matches!(self, End::Steps | End::Time)
    }
}

impl Results {
    /// Returns whether a rate met the objective. Returns `None` if this is unknown, because the generator was the
    /// limit or the search was interrupted.
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

    /// Returns the number of steps that were not judged, because the generator could not keep up.
    pub(crate) fn unjudged(&self) -> usize {
        self.steps.iter().filter(|step| step.outcome == Outcome::Generator).count()
    }

    /// Returns the resource that ran out above the highest rate that met the objective.
    pub(crate) fn cause(&self) -> Option<Cause> {
        match self.end {
            End::TargetFailing if self.fails_by_generator() => Some(Cause::Generator),
            End::TargetFailing => Some(Cause::Errors),
            _ => self.culprit()?.cause,
        }
    }

    /// Returns whether the request that was sent alone failed because of a limit of the generator's machine.
    pub(crate) fn fails_by_generator(&self) -> bool {
        self.failure.is_some_and(|failure| failure.group() == GENERATOR)
    }

    /// Returns the step that shows the cause: the last one that missed the objective just above the highest rate that
    /// met it.
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
