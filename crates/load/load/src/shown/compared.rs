//! Writes the HTML page of a comparison, which is one self-contained file and similar to the page of a run.

use super::comparison::{BESIDE, sides, upshot};
use super::page::baseline::table;
use super::page::document;
use super::page::spectrum_chart::{ABOUT, Spectrum, spectra};
use crate::console::human;
use crate::judged::comparison::Comparison;
use crate::results::percentiles::Sample;
use maud::{Markup, html};
use std::path::PathBuf;

pub(crate) fn html(comparison: &Comparison, files: [&[PathBuf]; 2], failed: &[String]) -> String {
    let [a, b] = sides(comparison);
    let files = files.map(names);
    let content = html! {
        header {
            h1.good[failed.is_empty()] { (upshot(&comparison.rows)) }
            @for failed in failed { p.missed { "Missed: " (failed) } }
            p.what { "A: " bdi { (files[0]) } }
            p.what { "B: " bdi { (files[1]) } }
            p.what { bdi { (comparison.url) } }
        }
        section { h2 { (BESIDE) } (table(comparison, [&a, &b, BESIDE, ""])) }
        section { h2 { "Response times" } (curves(comparison)) }
    };
    document(&files.join(" and "), &content)
}

fn names(files: &[PathBuf]) -> String {
    let names: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
    human::visible(&names.join(", "))
}

fn curves(comparison: &Comparison) -> Markup {
    let [a, b] =
        comparison.times.each_ref().map(|it| Sample::bounded(&it.response, &it.lower_bounds));
    let a = Spectrum { name: "A", column: "A", class: "line d", sample: a };
    let b = Spectrum { name: "B", column: "B", class: "line b", sample: b };
    spectra("Percentiles of A and B", ABOUT, [a, b])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judged::comparison::stored_run::StoredRun;
    use crate::shown::comparison::ComparisonText;
    use crate::shown::fixture::long;
    use crate::shown::json::Object;
    use crate::shown::page::tests::{HOSTILE, cells, xml};
    use roxmltree::Document;

    fn recording(seconds: u64, per_second: u64) -> StoredRun {
        let object = Object::new(&long(seconds, per_second), None::<()>);
        serde_json::from_value(serde_json::to_value(object).unwrap()).unwrap()
    }

    fn compared(change: impl Fn(&mut StoredRun)) -> Comparison {
        let first = recording(40, 500);
        let mut second = first.clone();
        change(&mut second);
        Comparison::new(&[first], &[second]).unwrap()
    }

    fn page(comparison: &Comparison, failed: &[String]) -> String {
        html(comparison, [&["a.json".into()], &[HOSTILE.into()]], failed)
    }

    #[test]
    fn a_page_has_what_the_text_has_and_both_curves() {
        let comparison = compared(|run| run.machine.cores = 7);
        let failed = ["p50 response is slower".to_owned()];
        let text = ComparisonText(&comparison, &failed).to_string();
        let page = page(&comparison, &failed);
        let rows = cells(&page, "comparison");
        assert_eq!(rows[0], ["", "A: 1 run", "B: 1 run", "B compared with A", ""]);
        assert_eq!(rows.len(), 13);
        for row in rows {
            let is_line = |line: &str| row.iter().all(|cell| line.contains(cell));
            assert!(text.lines().any(is_line), "{row:?}: {text}");
        }
        let page = xml(&page);
        let document = Document::parse(&page).unwrap();
        let texts: Vec<_> = document.descendants().filter_map(|node| node.text()).collect();
        for wanted in
            ["no difference seen in ", "Missed: p50 response is slower", "a.json", HOSTILE]
        {
            assert!(texts.concat().contains(wanted), "{wanted}");
        }
        assert!(texts.iter().any(|text| text.contains("The sides differ: machines: ")));
        for class in ["line d", "line b", "line d upward", "line b upward"] {
            let is_drawn = |node: &roxmltree::Node<'_, '_>| {
                node.attribute("class") == Some(class) && node.attribute("d") != Some("M0 5H26")
            };
            assert!(document.descendants().any(|node| is_drawn(&node)), "{class}");
        }
    }

    #[test]
    fn texts_from_outside_are_escaped() {
        let page = page(&compared(|run| run.url = HOSTILE.to_owned()), &[HOSTILE.to_owned()]);
        assert_eq!(page.matches("<script").count(), 1);
        assert!(!page.contains("\"onload=\""));
        assert!(page.matches("&lt;script&gt;alert('1')&lt;/script&gt;&quot;onload=").count() >= 4);
        for reference in ["src=", "href=", "url(", "@import", "<link", "<img"] {
            assert!(!page.contains(reference), "{reference}");
        }
    }

    #[test]
    fn a_curve_ends_where_there_are_no_more_times() {
        let many = recording(40, 500);
        let few = StoredRun { histograms: recording(1, 20).histograms, ..many.clone() };
        let page = page(&Comparison::new(&[many], &[few]).unwrap(), &[]);
        let rows = cells(&page, "spectrum-table");
        let cell = |name: &str| rows.iter().find(|row| row[0] == name).unwrap();
        assert_eq!(rows[0], ["percentile", "A", "B"]);
        assert!(cell("p50")[2] != "–" && cell("p99")[1] != "–" && cell("max")[2] != "–");
        assert_eq!(cell("p99")[2], "–");
    }
}
