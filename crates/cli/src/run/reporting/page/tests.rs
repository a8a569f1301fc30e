//! What a page must be, whatever the run was like.

use super::html;
use crate::run::reporting::fixture::{empty, long};
use crate::run::reporting::json::Object;
use crate::run::reporting::summary::Summary;
use nanopace_console::human;
use roxmltree::{Document, Node};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;
use std::{env, fs};

const HOSTILE: &str = "http://x/<script>alert('1')</script>\"onload=\"f()&amp;ü/日本/\u{202e}";

fn hostile() -> Summary {
    let mut summary = long(40, 500);
    summary.title.url = HOSTILE.to_owned();
    summary.missed = vec![HOSTILE.to_owned()];
    for name in ["header", "body", HOSTILE] {
        summary.title.settings.insert(name.to_owned(), HOSTILE.into());
    }
    summary.title.machine.processor = Some(HOSTILE.to_owned());
    summary
}

fn all() -> Vec<(&'static str, Summary)> {
    vec![
        ("nothing", empty()),
        ("one", long(1, 1)),
        ("hostile", hostile()),
        ("long", long(1_200, 5_000)),
    ]
}

/// The page with every element closed, as XML has it.
fn xml(page: &str) -> String {
    let parts = page.trim_start_matches("<!DOCTYPE html>").split("<meta ");
    let mut parts = parts.map(str::to_owned);
    let first = parts.next().unwrap();
    parts.fold(first, |xml, part| xml + "<meta " + &part.replacen('>', "/>", 1))
}

#[test]
fn an_hour_at_100_000_per_second_is_a_small_page() {
    let summary = long(3_600, 100_000);
    assert!(summary.over_time.intervals().len() > 200);
    let length = html(&summary).len();
    assert!((100_000..400_000).contains(&length), "{length}");
}

#[test]
fn a_page_loads_nothing() {
    for (name, summary) in all() {
        let page = html(&summary);
        for reference in ["src=", "href=", "url(", "@import", "<link", "<img", "<iframe", "<base"] {
            assert!(!page.contains(reference), "{name}: {reference}");
        }
        assert!(page.contains("content=\"default-src 'none'; "), "{name}");
    }
}

#[test]
fn what_comes_from_outside_is_text() {
    let page = html(&hostile());
    assert_eq!(page.matches("<script").count(), 1);
    assert!(!page.contains("\"onload=\""));
    assert!(page.contains("http://x/&lt;script&gt;alert('1')&lt;/script&gt;&quot;onload="));
    // What turns the direction of reading around ends with it.
    assert!(page.contains("ü/日本/\u{202e}</bdi>"));
}

#[test]
fn pages_are_well_formed() {
    for (name, summary) in all() {
        let page = xml(&html(&summary));
        let document = Document::parse(&page).unwrap_or_else(|error| panic!("{name}: {error}"));
        let ids: Vec<_> = document.descendants().filter_map(|node| node.attribute("id")).collect();
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{name}: {ids:?}");
        let numbers = document.descendants().flat_map(|node| node.attributes());
        for number in numbers.filter(|attribute| !["content", "class"].contains(&attribute.name()))
        {
            let value = number.value();
            assert!(!value.contains("NaN") && !value.contains("inf"), "{name}: {number:?}");
        }
    }
}

#[test]
fn every_chart_names_itself_and_its_figures() {
    let page = xml(&html(&long(40, 500)));
    let document = Document::parse(&page).unwrap();
    let named = |name: &'static str| move |node: &Node<'_, '_>| node.has_tag_name(name);
    let figures: Vec<_> = document.descendants().filter(named("figure")).collect();
    assert_eq!(figures.len(), 7);
    for figure in figures {
        let has = |name| figure.descendants().any(|node| node.tag_name().name() == name);
        assert!(has("title") && has("desc") && has("h3"), "{figure:?}");
        let id = figure.attribute("data-table");
        let is_table =
            |node: &Node<'_, '_>| node.has_tag_name("table") && node.attribute("id") == id;
        let table = document.descendants().find(is_table).unwrap();
        let columns = table.descendants().filter(|node| node.has_tag_name("th")).count();
        let wanted = figure.attribute("data-columns").unwrap().split(' ');
        assert!(
            wanted.map(|column| column.parse::<usize>().unwrap()).all(|column| column < columns)
        );
    }
}

/// The texts of a table, row by row.
fn cells(page: &str, id: &str) -> Vec<Vec<String>> {
    let page = xml(page);
    let document = Document::parse(&page).unwrap();
    let table = document.descendants().find(|node| node.attribute("id") == Some(id)).unwrap();
    let rows = table.descendants().filter(|node| node.has_tag_name("tr"));
    let text = |cell: Node<'_, '_>| cell.text().unwrap_or_default().replace('\u{202f}', "");
    rows.map(|row| row.children().map(text).collect()).collect()
}

#[test]
fn figures_are_those_of_the_json_object() {
    for seconds in [1, 40, 1_200] {
        let summary = long(seconds, 500);
        let (page, json) =
            (html(&summary), serde_json::to_value(Object::new(&summary, None)).unwrap());
        let time = |ns: &Value| human::time(Duration::from_nanos(ns.as_u64().unwrap()));
        let kinds = ["wait_time_ns", "service_time_ns", "response_time_ns"];
        for row in &cells(&page, "percentiles")[1..] {
            let shown = |kind: &str| match row[0].as_str() {
                "count" => json[kind]["count"].to_string(),
                "mean" => human::time(Duration::from_secs_f64(
                    json[kind]["mean"].as_f64().unwrap() * 1e-9,
                )),
                name => time(&json[kind][name.replace('.', "_")]),
            };
            if row[0] != "at least" {
                assert_eq!(row[1..], kinds.map(shown), "{row:?}");
            }
        }
        let intervals = json["rate_over_time"].as_array().unwrap();
        let rows = &cells(&page, "times")[1..];
        assert_eq!(rows.len(), intervals.len());
        for (row, interval) in rows.iter().zip(intervals) {
            assert_eq!(row[2], human::short_hz(interval["target_rate"].as_f64().unwrap()));
            assert_eq!(row[3], human::short_hz(interval["achieved_rate"].as_f64().unwrap()));
            assert_eq!(
                [&row[4], &row[5]],
                [&interval["failed"].to_string(), &interval["backlog_slots"].to_string()]
            );
            let times = kinds.iter().flat_map(|kind| {
                ["p50", "p90", "p99", "max"].map(|point| time(&interval[kind][point]))
            });
            assert_eq!(row[7..], times.collect::<Vec<_>>());
        }
        let spectrum = json["spectrum"]["response_time_ns"].as_array().unwrap();
        let shown: Vec<_> =
            cells(&page, "spectrum-table")[1..].iter().map(|row| row[2].clone()).collect();
        assert_eq!(shown, spectrum.iter().map(|point| time(&point["ns"])).collect::<Vec<_>>());
    }
}

/// For `just page`, which looks at them in a browser.
#[test]
fn pages_are_written_where_they_are_wanted() {
    let Ok(folder) = env::var("NANOPACE_PAGES") else { return };
    for (name, summary) in all() {
        fs::write(Path::new(&folder).join(format!("made-{name}.html")), html(&summary)).unwrap();
    }
}
