//! Writes a run as `JUnit` XML: a test case for each requirement, and one for the completeness of the load.

use super::comparison::ComparisonText;
use super::repetition::RepetitionTable;
use super::report::compared;
use crate::console::human;
use crate::judged::summary::Summary;
use maud::{Markup, html};

const CUT_SHORT: &str = "the run was ended before its load was over";

pub(crate) fn xml(summary: &Summary) -> String {
    let required = summary.required.iter().map(|of| (of.text.as_str(), of.missed.as_deref()));
    let load = ("the load is complete", summary.incomplete.as_deref());
    let cases = required.clone().chain([load]);
    let failures = cases.clone().filter(|(_, missed)| missed.is_some()).count();
    let cut_short = summary.early_end().unwrap_or_else(|| CUT_SHORT.to_owned());
    let skipped = (summary.is_cut_short && load.1.is_none()).then_some(cut_short.as_str());
    let seconds = format!("{:.3}", summary.duration.as_secs_f64());
    let suite = html! {
        testsuites {
            testsuite name="nanopace" tests=(cases.count()) failures=(failures) skipped=(skipped.iter().len()) time=(seconds) {
                @for required in required { (case(required, None)) }
                (case(load, skipped))
                @if let Some(text) = comparisons(summary) { system-out { (text) } }
            }
        }
    };
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n", suite.into_string())
}

fn comparisons(summary: &Summary) -> Option<String> {
    let results = compared(summary).map(|(option, text)| format!("{option}: {text}"));
    let beside = summary.beside.iter().flatten();
    let beside = beside.map(|comparison| ComparisonText(comparison, &[]).to_string());
    let again = summary.repetition.iter().map(|it| RepetitionTable(it).to_string());
    let texts: Vec<_> = results.chain(beside).chain(again).collect();
    let lines: Vec<_> = texts.iter().flat_map(|text| text.lines()).map(human::visible).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn case((text, missed): (&str, Option<&str>), skipped: Option<&str>) -> Markup {
    // XML does not allow control characters, so they are replaced.
    let text = human::visible(text);
    html! {
        testcase classname="nanopace" name=(text) {
            @if let Some(missed) = missed { failure message=(human::visible(missed)) {} }
            @if let Some(why) = skipped { skipped message=(why) {} }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judged::criteria::Required;
    use crate::shown::fixture::long;
    use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

    fn read(summary: &Summary) -> Vec<TestSuite> {
        Report::deserialize_from_str(&xml(summary)).unwrap().test_suites
    }

    /// Returns the test suite that is expected for a run of two seconds. The library counts its test cases.
    fn suite(cases: &[(&str, TestCaseStatus)]) -> Vec<TestSuite> {
        let mut suite = TestSuite::new("nanopace");
        suite.set_time(std::time::Duration::from_secs(2));
        for (name, status) in cases {
            let mut case = TestCase::new(*name, status.clone());
            case.set_classname("nanopace");
            suite.add_test_case(case);
        }
        vec![suite]
    }

    fn failed(why: &str) -> TestCaseStatus {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_message(why);
        status
    }

    fn passed() -> TestCaseStatus {
        TestCaseStatus::success()
    }

    const LOAD: &str = "the load is complete";

    #[test]
    fn each_requirement_is_a_test_case() {
        let mut summary = long(2, 100);
        let hostile = "p99 <\"&'\u{1}\u{ffff}ü> 5ms";
        let required = |text: &str, missed: Option<&str>| Required {
            text: text.to_owned(),
            value: "1".to_owned(),
            missed: missed.map(str::to_owned),
        };
        summary.required = vec![required("errors <= 1%", None), required(hostile, Some(hostile))];
        let shown = r#"p99 <"&'\u{1}\u{ffff}ü> 5ms"#;
        let [few, more] = [("errors <= 1%", passed()), (shown, failed(shown))];
        assert_eq!(read(&summary), suite(&[few.clone(), more.clone(), (LOAD, passed())]));
        summary.incomplete = Some("ended early".to_owned());
        assert_eq!(read(&summary), suite(&[few, more, (LOAD, failed("ended early"))]));
    }

    #[test]
    fn a_load_that_somebody_ended_is_no_case_that_has_passed() {
        let summary = Summary { is_cut_short: true, ..long(2, 100) };
        let mut skipped = TestCaseStatus::skipped();
        skipped.set_message(CUT_SHORT);
        assert_eq!(read(&summary), suite(&[(LOAD, skipped)]));
        let lost = Summary { lost: Some("errors <= 1%".to_owned()), ..summary };
        let mut skipped = TestCaseStatus::skipped();
        skipped.set_message(
            "Ended early by --fail-fast: errors <= 1% could not be met any more after 2.00s",
        );
        assert_eq!(read(&lost), suite(&[(LOAD, skipped)]));
        let missed = Summary { incomplete: Some("ended early".to_owned()), ..lost };
        assert_eq!(read(&missed), suite(&[(LOAD, failed("ended early"))]));
    }
}
