//! What was required of a run, as `JUnit` XML: a test case each, for programs that build and test.

use crate::console::human;
use crate::judged::summary::{Required, Summary};
use maud::{Markup, html};

/// The file.
pub(crate) fn xml(summary: &Summary) -> String {
    let load =
        Required { text: "the load is complete".to_owned(), missed: summary.incomplete.clone() };
    let cases: Vec<&Required> = summary.required.iter().chain([&load]).collect();
    let failures = cases.iter().filter(|case| case.missed.is_some()).count();
    let seconds = format!("{:.3}", summary.duration.as_secs_f64());
    let suite = html! {
        testsuites {
            testsuite name="nanopace" tests=(cases.len()) failures=(failures) time=(seconds) {
                @for required in cases { (case(required)) }
            }
        }
    };
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n", suite.into_string())
}

fn case(Required { text, missed }: &Required) -> Markup {
    // XML has no control characters.
    let text = human::visible(text);
    html! {
        testcase classname="nanopace" name=(text) {
            @if let Some(missed) = missed { failure message=(human::visible(missed)) {} }
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
        assert!(xml(&summary).contains("failures=\"2\""));
    }
}
