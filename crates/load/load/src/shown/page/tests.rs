//! Tests properties that the pages of all kinds of runs must have.

use super::{facts, html};
use crate::console::human;
use crate::judged::comparison::Comparison;
use crate::judged::comparison::stored_run::StoredRun;
use crate::judged::summary::{LoadResults, Summary};
use crate::judged::verdict::Verdict;
use crate::results::labels::tests::ended;
use crate::results::lateness::Lateness;
use crate::results::percentiles::Sample;
use crate::shown::comparison::ComparisonText;
use crate::shown::fixture::{empty, long};
use crate::shown::json::Object;
use crate::shown::times::POINTS;
use roxmltree::{Document, Node};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs};
use tempfile::TempDir;
use toml::Table;

pub(crate) const HOSTILE: &str =
    "http://x/<script>alert('1')</script>\"onload=\"f()&amp;ü/日本/\u{202e}";

fn hostile() -> Summary {
    let mut summary = long(40, 500);
    summary.title.url = HOSTILE.to_owned();
    summary.missed = vec![HOSTILE.to_owned()];
    for name in ["header", "body", HOSTILE] {
        summary.title.given.insert(name.to_owned());
        summary.title.settings.insert(name.to_owned(), HOSTILE.into());
    }
    summary.title.machine.processor = Some(HOSTILE.to_owned());
    summary
}

#[test]
fn an_option_without_a_value_is_no_setting() {
    let mut summary = long(1, 1);
    summary.title.given = ["header", "rate"].map(str::to_owned).into();
    let settings = facts::settings(&summary).into_string();
    assert!(settings.contains("rate") && !settings.contains("header"), "{settings}");
}

fn all() -> Vec<(&'static str, Summary)> {
    vec![
        ("nothing", empty()),
        ("one", long(1, 1)),
        ("hostile", hostile()),
        ("long", long(1_200, 5_000)),
        ("compared", compared(Ok(comparison()))),
        ("not compared", compared(Err(HOSTILE.to_owned()))),
    ]
}

fn comparison() -> Comparison {
    let json = serde_json::to_string(&Object::new(&long(40, 500), None::<()>)).unwrap();
    let [first, second] = [(); 2].map(|()| [serde_json::from_str::<StoredRun>(&json).unwrap()]);
    let comparison = Comparison::new(&first, &second).unwrap();
    Comparison { told: vec![HOSTILE.to_owned()], ..comparison }
}

fn compared(beside: Result<Comparison, String>) -> Summary {
    Summary { beside: Some(beside), ..long(40, 500) }
}

#[test]
fn a_baseline_has_a_row_for_each_figure_with_what_the_text_says() {
    let comparison = comparison();
    let text = ComparisonText(&comparison, &[]).to_string();
    let page = xml(&html(&compared(Ok(comparison))));
    let page = Document::parse(&page).unwrap();
    let table = page.descendants().find(|node| node.attribute("id") == Some("comparison")).unwrap();
    let rows = table.descendants().filter(|node| node.has_tag_name("tr")).skip(1);
    let cells = |row: Node<'_, '_>| -> Vec<String> {
        row.children().map(|cell| cell.text().unwrap_or_default().to_owned()).collect()
    };
    let rows: Vec<_> = rows.map(cells).collect();
    assert_eq!(rows.len(), 12);
    for row in rows {
        let is_line = |line: &str| row.iter().all(|cell| line.contains(cell));
        assert!(text.lines().any(is_line), "{row:?}: {text}");
    }
}

/// Converts a page to XML by closing each element that HTML leaves open.
pub(crate) fn xml(page: &str) -> String {
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
fn texts_from_outside_are_escaped() {
    let page = html(&hostile());
    assert_eq!(page.matches("<script").count(), 1);
    assert!(!page.contains("\"onload=\""));
    assert!(page.contains("http://x/&lt;script&gt;alert('1')&lt;/script&gt;&quot;onload="));
    // The URL contains a character that reverses the reading direction. It has no effect outside of its element.
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
    assert_eq!(figures.len(), 8);
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

pub(crate) fn cells(page: &str, id: &str) -> Vec<Vec<String>> {
    let page = xml(page);
    let document = Document::parse(&page).unwrap();
    let table = document.descendants().find(|node| node.attribute("id") == Some(id)).unwrap();
    let rows = table.descendants().filter(|node| node.has_tag_name("tr"));
    let text = |cell: Node<'_, '_>| cell.text().unwrap_or_default().trim().replace('\u{202f}', "");
    rows.map(|row| row.children().map(text).collect()).collect()
}

#[test]
fn figures_are_those_of_the_json_object() {
    for seconds in [1, 40, 1_200] {
        let summary = long(seconds, 500);
        let (page, json) =
            (html(&summary), serde_json::to_value(Object::<()>::new(&summary, None)).unwrap());
        let time = |ns: &Value| human::time(Duration::from_nanos(ns.as_u64().unwrap()));
        let bounded = |sample: Sample<'_>, quantile, ns: &Value| {
            let sign = if sample.is_at_least(quantile) { "≥" } else { "" };
            sign.to_owned() + &time(ns)
        };
        let kinds = ["wait_time_ns", "service_time_ns", "response_time_ns"];
        let responses = summary.stats.responses();
        for row in &cells(&page, "percentiles")[1..] {
            let name = row[0].replace('.', "_");
            let is_rough = |kind: &str| json["confidence_95"][kind][&name]["too_few"] == true;
            let shown = |kind: &str| match row[0].as_str() {
                _ if is_rough(kind) => {
                    let ns = json[kind][&name].as_u64().unwrap();
                    format!("~{}", human::rough_time(Duration::from_nanos(ns)))
                }
                "count" => json[kind]["count"].to_string(),
                "mean" => human::time(Duration::from_secs_f64(
                    json[kind]["mean"].as_f64().unwrap() * 1e-9,
                )),
                _ => time(&json[kind][&name]),
            };
            if row[0] != "at least" {
                assert_eq!(row[1..3], [kinds[0], kinds[1]].map(shown), "{row:?}");
                let quantile = POINTS.iter().find(|(name, _)| *name == row[0]);
                let is_bound = match quantile {
                    Some((_, quantile)) => responses.is_at_least(*quantile),
                    None => row[0] == "mean",
                };
                let sign = if is_bound { "≥" } else { "" };
                let shown = shown(kinds[2]);
                let shown = if is_bound { shown.trim_start_matches('~') } else { &shown };
                assert_eq!(row[3], sign.to_owned() + shown, "{row:?}");
            }
        }
        let intervals = json["rate_over_time"].as_array().unwrap();
        let rows = &cells(&page, "times")[1..];
        assert_eq!(rows.len(), intervals.len());
        for ((row, json), interval) in rows.iter().zip(intervals).zip(summary.over_time.intervals())
        {
            assert_eq!(row[2], human::short_hz(json["target_rate"].as_f64().unwrap()));
            assert_eq!(row[3], human::short_hz(json["achieved_rate"].as_f64().unwrap()));
            assert_eq!(row[4], json["backlog_slots"].to_string());
            let due = &json["by_intended_start"];
            let counts = ["due", "failed", "unfinished", "unstarted"];
            assert_eq!(row[6..10], counts.map(|count| due[count].to_string()));
            let samples =
                [Sample::exact(&interval.due.wait), Sample::exact(&interval.brief.service)];
            let samples = [samples[0], samples[1], interval.due.responses()];
            let objects = [&due[kinds[0]], &json[kinds[1]], &due[kinds[2]]];
            let times = samples.iter().zip(objects).flat_map(|(sample, object)| {
                [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0)]
                    .map(|(point, quantile)| bounded(*sample, quantile, &object[point]))
            });
            assert_eq!(row[10..], times.collect::<Vec<_>>());
        }
        let spectrum = json["spectrum"]["response_time_ns"].as_array().unwrap();
        let shown: Vec<_> =
            cells(&page, "spectrum-table")[1..].iter().map(|row| row[2].clone()).collect();
        let expected = spectrum
            .iter()
            .map(|point| bounded(responses, point["quantile"].as_f64().unwrap(), &point["ns"]));
        assert_eq!(shown, expected.collect::<Vec<_>>());
    }
}

fn tiles(page: &str) -> BTreeMap<String, String> {
    let page = xml(page);
    let document = Document::parse(&page).unwrap();
    let named = |name: &'static str| move |node: &Node<'_, '_>| node.has_tag_name(name);
    let text = |node: Node<'_, '_>| {
        let texts = node.descendants().filter(Node::is_text).filter_map(|node| node.text());
        texts.collect::<String>().replace('\u{202f}', "")
    };
    let [labels, figures] = ["dt", "dd"].map(|name| document.descendants().filter(named(name)));
    labels.map(text).zip(figures.map(text)).collect()
}

fn of_which_one_completed(slots: u64) -> Summary {
    let mut summary = empty();
    let stats = &mut summary.stats;
    stats.wait.record(1).unwrap();
    stats.service.record(1_000_000).unwrap();
    stats.response.record(1_000_000).unwrap();
    stats.unstarted(Duration::from_secs(1), Lateness::default(), slots - 1);
    summary
}

#[test]
fn labels_are_in_a_table_if_there_are_several() {
    let mut summary = long(1, 500);
    summary.stats.labels.end(&ended("write", false, 7));
    summary.stats.labels.end(&ended("read <b>", true, 2));
    let table = cells(&html(&summary), "labels");
    assert_eq!(table[0][..4], ["label", "completed", "failed", "service p50"]);
    assert_eq!(table[1][1..7], ["1", "0", "2.01ms", "2.01ms", "2.01ms", "2.01ms"]);
    assert_eq!(table[2][1..7], ["0", "1", "–", "–", "–", "≥7.01ms"]);
    assert!(html(&summary).contains("<bdi>read &lt;b&gt;</bdi>"));
    let mut summary = of_which_one_completed(1);
    summary.stats.labels.end(&ended("all", true, 1));
    assert!(!html(&summary).contains("\"labels\""));
}

#[test]
fn requests_that_never_started_are_among_the_tiles() {
    let tiles = tiles(&html(&of_which_one_completed(20_000)));
    let expected = [
        ("completed", "1"),
        ("failed", "0"),
        ("never started", "19999 100.0 %"),
        ("response p50", "≥1.00s"),
        ("response max", "≥1.00s"),
    ];
    for (name, expected) in expected {
        assert_eq!(tiles[name], expected, "{tiles:?}");
    }
}

#[test]
fn lower_bounds_are_named_only_where_there_are_some() {
    for (summary, has_bounds) in [(of_which_one_completed(1), false), (long(40, 500), true)] {
        let page = html(&summary);
        assert_eq!(page.contains('≥'), has_bounds);
        assert_eq!(page.contains("class=\"line upward\""), has_bounds);
    }
}

#[test]
fn skipped_requests_are_counted_below_the_chart() {
    let mut summary = long(40, 500);
    assert!(!html(&summary).contains("The charts over time do not show"));
    summary.stats.skipped(7, Duration::from_secs(1));
    let page = html(&summary);
    assert!(page.contains(" The charts over time do not show 7 skipped requests."));
    assert!(tiles(&page)["never started"].starts_with("7 "));
}

#[test]
fn no_ratio_is_shown_if_nothing_completed() {
    let mut summary = of_which_one_completed(20);
    (summary.stats.service, summary.verdict) = (empty().stats.service, Verdict::TargetFailing);
    let page = html(&summary);
    assert!(page.contains("No request completed: ") && !page.contains("times as long"));
}

#[test]
fn only_the_options_that_were_given_are_shown() {
    let page = html(&empty());
    assert!(page.contains("<th scope=\"row\">rate</th>"));
    assert!(!page.contains("<th scope=\"row\">pin</th>"));
    let mut summary = empty();
    summary.title.given.clear();
    assert!(html(&summary).contains("All options have their defaults"));
}

/// `just page` sets `NANOPACE_PAGES`, and takes screenshots of the pages that this test writes.
#[test]
fn pages_are_written_where_they_are_wanted() {
    let own = TempDir::new().unwrap();
    let wanted = env::var_os("NANOPACE_PAGES").map(PathBuf::from);
    let folder = wanted.as_deref().unwrap_or(own.path());
    let mut pages = BTreeSet::new();
    for (name, summary) in all() {
        let page = folder.join(format!("made-{name}.html"));
        fs::write(&page, html(&summary)).unwrap();
        let text = fs::read_to_string(&page).unwrap();
        assert!(text.starts_with("<!DOCTYPE html>") && text.ends_with("</html>"), "{name}");
        assert!(pages.insert(page), "two pages are called {name}");
    }
}

#[test]
fn the_parts_of_several_loads_have_their_own_charts() {
    let load = |name: &str| LoadResults {
        name: name.to_owned(),
        start: Duration::ZERO,
        recorded_from: Duration::ZERO,
        summary: Arc::new(long(40, 500)),
    };
    let whole = Summary::of_loads(vec![load("reads"), load("writes")], Table::new());
    let page = xml(&html(&whole));
    let document = Document::parse(&page).unwrap();
    let ids: Vec<_> = document.descendants().filter_map(|node| node.attribute("id")).collect();
    let mut unique = BTreeSet::new();
    assert!(ids.iter().all(|id| unique.insert(*id)), "{ids:?}");
    for name in ["data-table", "aria-labelledby", "aria-describedby"] {
        let named: Vec<_> = document.descendants().filter_map(|it| it.attribute(name)).collect();
        assert!(named.len() == 24 && named.iter().all(|id| unique.contains(id)), "{named:?}");
    }
}
