//! Writes the report of a search for people.

use super::answer::Answer;
use super::chart::Chart;
use crate::judged::search::judge::{Measured, Promise};
use crate::judged::search::method::{Outcome, Purpose};
use crate::judged::search::results::{Results, rate};
use std::fmt::{self, Display, Formatter};

#[derive(Debug)]
pub(crate) struct SearchReport<'run> {
    pub(crate) results: &'run Results,
    pub(crate) promise: &'run Promise,
    pub(crate) width: usize,
}

#[derive(Debug)]
pub(crate) struct SearchLine<'run> {
    pub(crate) number: usize,
    pub(crate) step: &'run Measured,
}

impl Display for SearchReport<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let SearchReport { results, promise, width } = *self;
        write!(f, "{:>4} {:>12} {:>12}", "step", "rate", "achieved")?;
        for criterion in &promise.until {
            write!(f, " {:>14}", criterion.name())?;
        }
        writeln!(f, "  {:<16} objective", "verdict")?;
        for (index, step) in results.steps.iter().enumerate() {
            writeln!(f, "{}", SearchLine { number: index + 1, step })?;
        }
        write!(f, "{}", Chart { results, promise, width })?;
        write!(f, "\n{}", Answer { results, promise })
    }
}

impl Display for SearchLine<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let SearchLine { number, step } = self;
        let [asked, achieved] = [step.hz, step.achieved_hz].map(rate);
        write!(f, "{number:>4} {asked:>12} {achieved:>12}")?;
        for figure in &step.figures {
            write!(f, " {figure:>14}")?;
        }
        let again = match step.purpose {
            Purpose::Repeat | Purpose::Confirm => "again: ",
            Purpose::Bracket | Purpose::Bisect => "",
        };
        write!(f, "  {:<16} {again}", step.verdict.name())?;
        match step.outcome {
            Outcome::Kept => f.write_str("met"),
            Outcome::Broken => write!(f, "missed: {}", step.missed.join("; ")),
            Outcome::Generator => write!(f, "not judged: {}", step.missed.join("; ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judged::search::judge::tests::steps;
    use crate::judged::search::method::Conclusion;
    use crate::judged::search::results::End;
    use crate::judged::verdict::Verdict;
    use crate::load::kind::FailureKind;
    use crate::load::shortage::Shortage;
    use crate::shown::search::plot;
    use roxmltree::Document;
    use std::time::{Duration, SystemTime};

    fn results(steps: Vec<Measured>, conclusion: Conclusion) -> Results {
        Results {
            url: "http://127.0.0.1/".to_owned(),
            connections: 16,
            start: SystemTime::UNIX_EPOCH,
            took: Duration::from_secs(12),
            warnings: Vec::new(),
            conclusion,
            contradictions: vec![1_000.0],
            precision: 0.02,
            steps,
            end: End::Complete,
            failure: None,
        }
    }

    fn shown(steps: Vec<Measured>, conclusion: Conclusion) -> [String; 2] {
        let results = results(steps, conclusion);
        let promise = Promise::new(vec!["p99 response < 20ms".parse().unwrap()]);
        let report = SearchReport { results: &results, promise: &promise, width: 80 }.to_string();
        [report, plot::svg(&results, &promise).unwrap()]
    }

    #[test]
    fn every_conclusion_is_a_sentence() {
        for (conclusion, told) in [
            (
                Conclusion::Found { kept: 1_960.0, broken: 2_000.0 },
                "The highest rate that meets p99 response < 20ms is about 1980/s: 1960/s met it, 2000/s did not.",
            ),
            (Conclusion::AllKept { kept: 500.0 }, "500/s meets p99 response < 20ms, and no higher"),
            (Conclusion::NoneKept { broken: 10.0 }, "Not even 10/s meets p99 response < 20ms"),
            (
                Conclusion::GeneratorLimit { kept: Some(500.0), limit: 510.0 },
                "at 500/s. The highest rate that meets it is unknown, because the generator could not keep up at 510/s.",
            ),
            (
                Conclusion::GeneratorLimit { kept: None, limit: 10.0 },
                "Nothing is known about the target, because the generator could not keep up even at 10/s.",
            ),
            (
                Conclusion::Unfinished { kept: Some(1.5), missed: Some(2.0) },
                "The highest rate that meets p99 response < 20ms is at least 1.5/s; 2/s did not meet it.",
            ),
            (Conclusion::Unfinished { kept: None, missed: None }, "No step was judged."),
        ] {
            let [report, picture] = shown(steps(), conclusion);
            let answer = report.lines().find(|line| line.starts_with("answer    ")).unwrap();
            assert!(answer.contains(told), "{answer}");
            Document::parse(&picture).unwrap();
        }
    }

    #[test]
    fn a_report_has_a_line_for_each_step_and_a_chart() {
        let [report, _] = shown(steps(), Conclusion::NoneKept { broken: 1_000.0 });
        let lines: Vec<_> = report.lines().collect();
        assert!(lines[1].ends_with("on schedule      met"), "{report}");
        assert!(lines[2].contains("missed: p99 response is 50.0ms, wanted < 20ms"), "{report}");
        assert!(lines[3].contains("not judged: p99 response is 50.0ms"), "{report}");
        assert!(lines.iter().any(|line| line.starts_with("   20.0ms│┄┄┄")), "{report}");
        assert!(lines.iter().all(|line| !line.contains('│') || line.chars().count() <= 80));
        assert!(report.contains("because   all 16 connections were busy"), "{report}");
        assert!(report.contains("keeps 5.0 connections busy"), "{report}");
        assert!(report.contains("noise     1 step was not judged"), "{report}");
        assert!(report.ends_with("effort    3 steps in 12.0s\n"), "{report}");
    }

    #[test]
    fn both_rates_of_a_step_have_the_same_digits() {
        let mut step = steps().remove(0);
        (step.hz, step.achieved_hz) = (141.4, 141.384_6);
        let line = SearchLine { number: 1, step: &step }.to_string();
        assert!(line.starts_with("   1      141.4/s      141.4/s "), "{line}");
    }

    #[test]
    fn a_limit_of_the_generators_machine_is_told_with_its_advice() {
        let mut steps = steps();
        let step = &mut steps[2];
        (step.verdict, step.shortages) = (Verdict::GeneratorFailing, vec!["7 failed".to_owned()]);
        let limit = Conclusion::GeneratorLimit { kept: None, limit: 1_000.0 };
        let [report, _] = shown(steps, limit);
        assert!(report.contains("\nbecause   at 1000/s 7 failed.\n"), "{report}");
        let nothing = Conclusion::Unfinished { kept: None, missed: None };
        for (failure, told) in [
            (
                Shortage::OpenFiles.kind(),
                "The generator fails even a single request: too many open",
            ),
            (FailureKind::new("timeout"), "The target fails even a single request: timeout."),
        ] {
            let results = Results {
                failure: Some(failure),
                end: End::TargetFailing,
                ..results(Vec::new(), nothing)
            };
            let promise = Promise::new(vec!["p99 response < 20ms".parse().unwrap()]);
            let report =
                SearchReport { results: &results, promise: &promise, width: 80 }.to_string();
            assert!(report.contains(told), "{report}");
        }
    }

    #[test]
    fn without_steps_there_is_no_chart() {
        let nothing = Conclusion::Unfinished { kept: None, missed: None };
        let [report, picture] = shown(Vec::new(), nothing);
        assert!(!report.contains('│') && !report.contains("because"), "{report}");
        Document::parse(&picture).unwrap();
    }
}
