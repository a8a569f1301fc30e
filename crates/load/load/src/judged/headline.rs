//! Summarizes the result of a run in one line. The line names a missed requirement, an incomplete load, or the verdict.
//! It counts cautions if the verdict is good.

use super::summary::{Summary, late};
use super::verdict::Verdict;
use crate::console::human::{count, visible};
use std::fmt::{self, Display, Formatter};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grade {
    Good,
    /// The result is good, but some of the figures may be misleading.
    Doubtful,
    Bad,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Headline {
    pub(crate) grade: Grade,
    pub(crate) result: String,
    pub(crate) why: String,
}

impl Headline {
    pub(crate) fn new(summary: &Summary) -> Headline {
        let verdict = summary.verdict_line();
        let name = late(&summary.loads).first().map_or(0, |late| late.name.len() + 2);
        let result = verdict[name..].find(": ").map_or(verdict.len(), |at| name + at);
        let (result, why) = (&verdict[..result], verdict.get(result + 2..).unwrap_or_default());
        let is_closed = summary.verdict == Verdict::ClosedLoop;
        let cautions = cautions(summary).count();
        let (grade, result, why) = if let Some(first) = summary.missed.first() {
            let (missed, all) = (summary.missed.len(), summary.required.len());
            let missed = || missed_of(missed, all.max(missed));
            (Grade::Bad, summary.early_end().unwrap_or_else(missed), first.as_str())
        } else if let Some(why) = &summary.incomplete {
            (Grade::Bad, "Incomplete".to_owned(), why.as_str())
        } else if !summary.verdict.is_well() {
            (Grade::Bad, result.to_owned(), why)
        } else if cautions > 0 && !is_closed {
            (Grade::Doubtful, format!("{result}, with {}", count(cautions, "caution")), "")
        } else {
            let grade = if is_closed { Grade::Doubtful } else { Grade::Good };
            (grade, result.to_owned(), why)
        };
        Headline { grade, result, why: visible(why) }
    }
}

impl Display for Headline {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let colon = if self.why.is_empty() { "" } else { ": " };
        write!(f, "{}{colon}{}", self.result, self.why)
    }
}

pub(crate) fn missed_of(missed: usize, all: usize) -> String {
    format!("Missed {missed} of {}", count(all, "requirement"))
}

pub(crate) fn cautions(summary: &Summary) -> impl Iterator<Item = &str> {
    let found = summary.findings.iter().filter(|found| !found.is_well);
    summary.warnings.iter().map(String::as_str).chain(found.map(|found| found.text.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judged::checks::Finding;
    use crate::judged::criteria::Required;
    use crate::shown::fixture::empty;

    fn headline(change: impl Fn(&mut Summary)) -> (Grade, String) {
        let mut summary = empty();
        change(&mut summary);
        let headline = Headline::new(&summary);
        (headline.grade, headline.to_string())
    }

    fn doubt(summary: &mut Summary) {
        let text = "starts were not even".to_owned();
        summary.findings.push(Finding { check: "starts", is_well: false, text });
    }

    #[test]
    fn the_worst_result_is_the_headline() {
        let good = "On schedule: requests started when they were due".to_owned();
        assert_eq!(headline(|_| ()), (Grade::Good, good));
        let caution = "On schedule, with 1 caution".to_owned();
        assert_eq!(headline(doubt), (Grade::Doubtful, caution));
        let late = |summary: &mut Summary| {
            doubt(summary);
            summary.verdict = Verdict::TargetBehind;
        };
        let (grade, text) = headline(late);
        assert!(
            grade == Grade::Bad && text.starts_with("The target could not keep up: "),
            "{text}"
        );
        let incomplete = |summary: &mut Summary| {
            late(summary);
            summary.incomplete = Some("only 1 of 10 slots started".to_owned());
        };
        let expected = "Incomplete: only 1 of 10 slots started".to_owned();
        assert_eq!(headline(incomplete), (Grade::Bad, expected));
        let required = |missed: Option<&str>| Required {
            text: String::new(),
            value: String::new(),
            missed: missed.map(str::to_owned),
        };
        let missed = |summary: &mut Summary| {
            incomplete(summary);
            summary.note(required(None));
            summary.note(required(Some("max wait is 2s, wanted < 1s")));
        };
        let expected = "Missed 1 of 2 requirements: max wait is 2s, wanted < 1s".to_owned();
        assert_eq!(headline(missed), (Grade::Bad, expected));
    }

    #[test]
    fn a_closed_loop_is_never_a_good_result() {
        let closed = |summary: &mut Summary| summary.verdict = Verdict::ClosedLoop;
        let (grade, text) = headline(closed);
        assert!(grade == Grade::Doubtful && text.starts_with("Closed loop: "), "{text}");
    }
}
