//! Describes the result of a search in whole sentences.

use crate::console::human;
use crate::judged::search::judge::{Cause, Measured, Promise};
use crate::judged::search::method::Conclusion;
use crate::judged::search::results::{End, Results, rate};
use crate::judged::verdict::Verdict;
use std::fmt::{self, Display, Formatter};

#[derive(Debug)]
pub(crate) struct Answer<'run> {
    pub(crate) results: &'run Results,
    pub(crate) promise: &'run Promise,
}

impl Display for Answer<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let results = self.results;
        writeln!(f, "answer    {}", self.sentence())?;
        if let Some(why) = results.culprit().and_then(|step| self.why(step)) {
            writeln!(f, "because   {why}")?;
        }
        results.warnings.iter().try_for_each(|warning| writeln!(f, "warning   {warning}"))?;
        if !results.contradictions.is_empty() {
            let rates: Vec<_> = results.contradictions.iter().copied().map(rate).collect();
            let rates = rates.join(", ");
            writeln!(
                f,
                "noise     steps at {rates} contradicted each other, so the majority decided. A longer --step is more reliable."
            )?;
        }
        if let count @ 1.. = results.unjudged() {
            let steps = if count == 1 { "step was" } else { "steps were" };
            writeln!(f, "noise     {count} {steps} not judged: the generator could not keep up.")?;
        }
        let ended = match results.end {
            End::Complete => "",
            End::Steps => "; --max-steps was reached",
            End::Time => "; the next step would have exceeded --for",
            End::Interrupted => "; interrupted",
            End::TargetFailing if results.fails_by_generator() => "; the generator fails",
            End::TargetFailing => "; the target fails",
        };
        let (count, took) = (results.steps.len(), human::time(results.took));
        writeln!(f, "effort    {} in {took}{ended}", human::count(count, "step"))
    }
}

impl Answer<'_> {
    pub(crate) fn sentence(&self) -> String {
        let Some(failure) = self.results.failure else { return self.conclusion() };
        let who = if self.results.fails_by_generator() { "generator" } else { "target" };
        let failing = format!("The {who} fails even a single request: {failure}.");
        match self.results.conclusion {
            // It is unknown whether the rate was too high or the target no longer works.
            Conclusion::Unfinished { kept: None, .. } => failing,
            Conclusion::Unfinished { kept: Some(kept), missed: None } => {
                format!("{failing} So far {} met {}.", rate(kept), self.promise.text())
            }
            _ => format!("{failing} {}", self.conclusion()),
        }
    }

    fn conclusion(&self) -> String {
        let promise = self.promise.text();
        match self.results.conclusion {
            Conclusion::Found { kept, broken } => {
                let about = human::four_digits((kept * broken).sqrt());
                let about = rate(format!("{about:.2e}").parse().unwrap_or(about));
                let (kept, broken) = (rate(kept), rate(broken));
                format!(
                    "The highest rate that meets {promise} is about {about}: {kept} met it, {broken} did not."
                )
            }
            Conclusion::AllKept { kept } => {
                let kept = rate(kept);
                format!("{kept} meets {promise}, and no higher rate was allowed: raise --max.")
            }
            Conclusion::NoneKept { broken } => {
                let broken = rate(broken);
                format!(
                    "Not even {broken} meets {promise}, and no lower rate was allowed: lower --min, or relax --until."
                )
            }
            Conclusion::GeneratorLimit { kept: Some(kept), limit } => {
                let (kept, limit) = (rate(kept), rate(limit));
                format!(
                    "The target meets {promise} at {kept}. The highest rate that meets it is unknown, because the generator could not keep up at {limit}."
                )
            }
            Conclusion::GeneratorLimit { kept: None, limit } => {
                let limit = rate(limit);
                format!(
                    "Nothing is known about the target, because the generator could not keep up even at {limit}."
                )
            }
            Conclusion::Unfinished { kept, missed } => unfinished(&promise, kept, missed),
        }
    }

    fn why(&self, step: &Measured) -> Option<String> {
        let (at, busy) = (rate(step.hz), step.busy.unwrap_or_default());
        let connections = self.results.connections;
        let of = human::count(connections, "connection");
        let service = human::time(step.mean_service);
        Some(match self.results.cause()? {
            Cause::Errors => {
                let errors = human::percent(step.errors.unwrap_or_default());
                match step.main_failure() {
                    Some(most) => {
                        format!("requests failed: {errors} of them at {at}. Most often: {most}.")
                    }
                    None => format!("no request got a response at {at}."),
                }
            }
            Cause::Connections => {
                let needed = step.hz * step.mean_service.as_secs_f64();
                let all = match connections {
                    1 => "the only connection was".to_owned(),
                    _ => format!("all {connections} connections were"),
                };
                format!(
                    "{all} busy when requests were due. By Little's law, {at} at a mean service time of {service} keeps {needed:.1} connections busy on average. Use more --connections to find out whether the target can do more."
                )
            }
            Cause::Target => format!(
                "the target was busy: it held {busy:.1} of {of} on average at {at}, and its service time alone was too long ({service} on average). More --connections would not help."
            ),
            Cause::Latency => format!(
                "the target's responses took too long at {at} while connections were free: {busy:.1} of {connections} were busy on average."
            ),
            Cause::Generator if step.verdict == Verdict::GeneratorFailing => {
                format!("at {at} {}.", step.shortages.join("; "))
            }
            Cause::Generator => format!(
                "the generator's threads lacked CPU time, woke late, or were stopped at {at}. Run the generator on a machine of its own, or with more or fewer --threads."
            ),
        })
    }
}

fn unfinished(promise: &str, kept: Option<f64>, missed: Option<f64>) -> String {
    match (kept.map(rate), missed.map(rate)) {
        (Some(kept), Some(missed)) => {
            format!(
                "The highest rate that meets {promise} is at least {kept}; {missed} did not meet it."
            )
        }
        (Some(kept), None) => {
            format!(
                "The highest rate that meets {promise} is at least {kept}; no higher rate was judged."
            )
        }
        (None, Some(missed)) => {
            format!("So far {missed} did not meet {promise}, and no lower rate was judged.")
        }
        (None, None) => "No step was judged.".to_owned(),
    }
}
