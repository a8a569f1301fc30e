//! What was required of a run, as `JUnit` XML: a test case each, for programs that build and test.

use crate::console::human;
use crate::judged::summary::{Required, Summary};
use maud::{Markup, html};

/// Why nobody knows whether a load would have been complete.
const CUT_SHORT: &str = "somebody ended the run before its load was over";

/// The file.
pub(crate) fn xml(summary: &Summary) -> String {
    let load =
        Required { text: "the load is complete".to_owned(), missed: summary.incomplete.clone() };
    let cases = summary.required.iter().chain([&load]);
    let failures = cases.clone().filter(|case| case.missed.is_some()).count();
    let skipped = (summary.is_cut_short && load.missed.is_none()).then_some(CUT_SHORT);
    let seconds = format!("{:.3}", summary.duration.as_secs_f64());
    let suite = html! {
        testsuites {
            testsuite name="nanopace" tests=(cases.count()) failures=(failures) skipped=(skipped.iter().len()) time=(seconds) {
                @for required in &summary.required { (case(required, None)) }
                (case(&load, skipped))
            }
        }
    };
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n", suite.into_string())
}

fn case(Required { text, missed }: &Required, skipped: Option<&str>) -> Markup {
    // XML has no control characters.
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
    use crate::shown::fixture::long;
    use roxmltree::Document;

    #[test]
    fn each_requirement_is_a_test_case() {
        let mut summary = long(2, 100);
        let hostile = "p99 <\"&'\u{1}ü> 5ms";
        let required = |text: &str, missed: Option<&str>| Required {
            text: text.to_owned(),
            missed: missed.map(str::to_owned),
        };
        summary.required = vec![required("errors <= 1%", None), required(hostile, Some(hostile))];
        let text = xml(&summary);
        let document = Document::parse(&text).unwrap();
        let suite = document.root_element().first_element_child().unwrap();
        let counts = ["tests", "failures", "time"].map(|name| suite.attribute(name).unwrap());
        assert_eq!(counts, ["3", "1", "2.000"]);
        let cases = suite.children().map(|case| {
            let failure = case.first_element_child().and_then(|it| it.attribute("message"));
            (case.attribute("name").unwrap(), failure)
        });
        let shown = r#"p99 <"&'\u{1}ü> 5ms"#;
        let expected =
            [("errors <= 1%", None), (shown, Some(shown)), ("the load is complete", None)];
        assert_eq!(cases.collect::<Vec<_>>(), expected);
        summary.incomplete = Some("ended early".to_owned());
        assert!(xml(&summary).contains("failures=\"2\" skipped=\"0\""));
    }

    #[test]
    fn a_load_that_somebody_ended_is_no_case_that_has_passed() {
        let summary = Summary { is_cut_short: true, ..long(2, 100) };
        let text = xml(&summary);
        let document = Document::parse(&text).unwrap();
        let load = document.descendants().rfind(|node| node.has_tag_name("testcase")).unwrap();
        let skipped = load.first_element_child().unwrap();
        assert_eq!(skipped.tag_name().name(), "skipped");
        assert_eq!(skipped.attribute("message"), Some(CUT_SHORT));
        assert!(text.contains("failures=\"0\" skipped=\"1\""), "{text}");
        let missed = Summary { incomplete: Some("ended early".to_owned()), ..summary };
        assert!(xml(&missed).contains("failures=\"1\" skipped=\"0\""));
    }
}
