//! Writes a short summary of a run in Markdown.

use super::comparison::{cells, sides_of_run};
use super::repetition;
use super::report::compared;
use super::times::{AT_LEAST, Cell, NONE};
use crate::console::human;
use crate::judged::criteria::Required;
use crate::judged::summary::Summary;
use crate::results::percentiles::Sample;
use crate::results::stats::OperationStats;
use std::fmt::{self, Display, Formatter};

const POINTS: [(&str, f64); 3] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)];

#[derive(Debug)]
pub(crate) struct Markdown<'run>(pub(crate) &'run Summary);

impl Display for Markdown<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let summary = self.0;
        writeln!(f, "### {}\n\n{}\n", plain(&summary.title.url), plain(&summary.sentence()))?;
        let incomplete = summary.incomplete.iter().map(|why| format!("Incomplete: {why}"));
        let mut ends = summary.early_end().into_iter().chain(incomplete);
        ends.try_for_each(|why| writeln!(f, "{}\n", plain(&why)))?;
        figures(f, summary)?;
        labels(f, &summary.stats)?;
        failures(f, &summary.stats)?;
        comparisons(f, summary)?;
        if !summary.required.is_empty() {
            writeln!(f, "\n| required | |\n|---|---|")?;
        }
        for Required { text, missed, .. } in &summary.required {
            let missed = missed.as_ref().map_or("holds".to_owned(), |missed| plain(missed));
            writeln!(f, "| {} | {missed} |", plain(text))?;
        }
        let mut loads = summary.loads.iter();
        loads.try_for_each(|load| write!(f, "\n## {}\n\n{}", load.name, Markdown(&load.summary)))
    }
}

fn comparisons(f: &mut Formatter<'_>, summary: &Summary) -> fmt::Result {
    let beside = summary.beside.as_ref().and_then(|beside| beside.as_ref().ok());
    let told = beside.map_or(&[][..], |comparison| &comparison.told);
    let told = told.iter().map(|told| ("differ", told.clone()));
    compared(summary)
        .chain(told)
        .try_for_each(|(option, text)| writeln!(f, "\n{option}: {}", plain(&text)))?;
    if let Some(comparison) = beside {
        let [a, b] = sides_of_run(comparison);
        table(f, [a, b, "difference", ""], comparison.rows.iter().map(cells))?;
    }
    summary.repetition.iter().try_for_each(|repetition| {
        table(f, repetition::COLUMNS, repetition::rows(repetition))?;
        writeln!(f, "\n{}", plain(&repetition::note(repetition)))
    })
}

fn table(
    f: &mut Formatter<'_>,
    columns: [&str; 4],
    rows: impl IntoIterator<Item = [String; 5]>,
) -> fmt::Result {
    writeln!(f, "\n| | {} |\n|---|---|---|---|---|", columns.join(" | "))?;
    let line = |cells: [String; 5]| cells.map(|cell| plain(&cell)).join(" | ");
    rows.into_iter().try_for_each(|cells| writeln!(f, "| {} |", line(cells)))
}

fn figures(f: &mut Formatter<'_>, summary: &Summary) -> fmt::Result {
    let (stats, confidence) = (&summary.stats, summary.confidence());
    let [asked, achieved] = [summary.target_hz, summary.achieved_hz].map(human::hz);
    writeln!(f, "| | service | response |\n|---|---|---|")?;
    for (name, quantile) in POINTS {
        let [service, response] = [confidence.service(), confidence.response()].map(|times| {
            let Cell { time, range } = Cell::percentile(&times, quantile, AT_LEAST);
            plain(format!("{time} {range}").trim())
        });
        writeln!(f, "| {name} | {service} | {response} |")?;
    }
    let (completed, failed) = (stats.completed(), stats.failed());
    let duration = human::long_time(summary.duration);
    writeln!(f, "\n{achieved} of {asked} over {duration}: {completed} completed, {failed} failed.")
}

fn labels(f: &mut Formatter<'_>, stats: &OperationStats) -> fmt::Result {
    let labels = stats.labels_apart();
    if !labels.is_empty() {
        writeln!(
            f,
            "\n| label | completed | failed | p99 service | p99 response |\n|---|---|---|---|---|"
        )?;
    }
    labels.into_iter().try_for_each(|labelled| {
        let [service, response] = [Sample::exact(&labelled.service), labelled.responses()]
            .map(|times| plain(&times.shown(0.99, AT_LEAST).unwrap_or_else(|| NONE.to_owned())));
        let (completed, failed) = (labelled.completed(), labelled.failed());
        writeln!(
            f,
            "| {} | {completed} | {failed} | {service} | {response} |",
            plain(&labelled.label)
        )
    })
}

fn failures(f: &mut Formatter<'_>, stats: &OperationStats) -> fmt::Result {
    if !stats.failures.is_empty() {
        writeln!(f, "\n| failed | |\n|---|---|")?;
    }
    let mut failures = stats.failures.iter();
    failures.try_for_each(|(kind, count)| writeln!(f, "| {} | {count} |", plain(&kind.to_string())))
}

fn plain(text: &str) -> String {
    let escaped = |letter: char| {
        let is_sign = matches!(
            letter,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '~' | '&'
        );
        is_sign.then_some('\\').into_iter().chain([letter])
    };
    human::visible(text).chars().flat_map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::kind::FailureKind;
    use crate::results::labels::tests::ended;
    use crate::shown::fixture::long;
    use proptest::prelude::*;
    use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

    fn read(page: &str) -> Vec<Vec<String>> {
        let mut lines = Vec::new();
        for event in Parser::new_ext(page, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::Heading { .. } | Tag::Paragraph) => {
                    lines.push(vec![String::new()]);
                }
                Event::Start(Tag::TableHead | Tag::TableRow) => lines.push(Vec::new()),
                Event::Start(Tag::TableCell) => lines.last_mut().unwrap().push(String::new()),
                Event::Text(text) => lines.last_mut().unwrap().last_mut().unwrap().push_str(&text),
                Event::Start(Tag::Table(_))
                | Event::End(
                    TagEnd::Heading(_)
                    | TagEnd::Paragraph
                    | TagEnd::Table
                    | TagEnd::TableHead
                    | TagEnd::TableRow
                    | TagEnd::TableCell,
                ) => {}
                other => panic!("{other:?} in {page}"),
            }
        }
        lines
    }

    #[test]
    fn a_run_in_short_has_its_figures_and_what_was_required() {
        let mut summary = long(40, 500);
        summary.title.url = "http://x/|<b>\n*a*".to_owned();
        summary.stats.labels.expect(&["a|b"]);
        summary.stats.labels.end(&ended("a|b", true, 7));
        summary.stats.failures.insert(FailureKind::new("a: check <b>"), 3);
        summary.incomplete = Some("ended *early*".to_owned());
        let missed = Some("p99 response is 7ms, wanted < 5ms".to_owned());
        summary.required = vec![
            Required { text: "errors <= 1%".to_owned(), value: "0.00%".to_owned(), missed: None },
            Required { text: "p99 response < 5ms".to_owned(), value: "7ms".to_owned(), missed },
        ];
        let lines = read(&Markdown(&summary).to_string());
        assert_eq!(lines[..2], [[r"http://x/|<b>\n*a*"], [&summary.sentence()]]);
        let names: Vec<_> = lines[3..].iter().map(|line| &line[0][..]).collect();
        assert_eq!(names[..4], ["", "p50", "p90", "p99"], "{names:?}");
        for line in [
            &["Incomplete: ended *early*"][..],
            &["", "service", "response"],
            &["a|b", "1", "0", "7.01ms", "7.01ms"],
            &["a: check <b>", "3"],
            &["errors <= 1%", "holds"],
            &["p99 response < 5ms", "p99 response is 7ms, wanted < 5ms"],
        ] {
            assert!(lines.iter().any(|shown| shown == line), "{line:?}: {lines:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_a_text_is_it_is_read_as_it_is_shown(text in "[ -~\\PC]{0,20}") {
            let shown = human::visible(&text);
            let page = format!("| {} | x |\n|---|---|\n| {} | y |\n", plain(&text), plain(&text));
            let cell = shown.trim_matches([' ', '\t']).to_owned();
            let expected = ["x", "y"].map(|last| vec![cell.clone(), last.to_owned()]);
            prop_assert_eq!(read(&page), expected);
        }
    }
}
