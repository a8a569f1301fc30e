//! Tests the full-screen view in terminals of different sizes.

use super::grid::Grid;
use super::picture::{Picture, Span};
use super::view;
use crate::load::kind::FailureKind;
use crate::load::schedule::args::MAX;
use crate::results::lateness::Lateness;
use crate::results::over_time::tests::over_time;
use crate::results::over_time::{Backlog, Brief, OverTime};
use crate::results::tally::Tally;
use crate::shown::keys::Prompt;
use crate::shown::run_title::RunTitle;
use crate::shown::snapshot::{Phase, Recent, Snapshot};
use crate::shown::status::Status;
use crossterm::event::KeyCode;
use nanopace::{ManualClock, Pacer, Rate};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

fn title() -> Arc<RunTitle> {
    Arc::new(RunTitle {
        url: "http://例え.テスト/é?q=1".to_owned(),
        load: "300k/min".to_owned(),
        is_closed: false,
        by: "16 connections on 2 threads".to_owned(),
    })
}

/// Returns the state of a run of 20 s after 5 s. The run has a backlog.
fn snapshot() -> Snapshot {
    let clock = ManualClock::new();
    let pacer = Pacer::builder(Rate::per_second(100).unwrap()).clock(clock.clone()).build();
    clock.advance(Duration::from_secs(5));
    let mut recent = Recent::new(&VecDeque::new(), 5_000.0);
    recent.hz = 4_321.0;
    for ns in [1, 1_000, 1_500_000, 70_000_000, 200_000_000_000] {
        recent.brief.wait.record(ns / 10).unwrap();
        recent.brief.response.record(ns).unwrap();
    }
    let mut tally = Tally { started: 1_234, completed: 1_200, ..Tally::default() };
    tally.statuses.extend([(200, 1_200), (503, 30)]);
    Snapshot {
        start: std::time::SystemTime::UNIX_EPOCH,
        backlog: Backlog { slots: 501, time: Duration::from_secs(5) },
        elapsed: Duration::from_secs(5),
        planned_end: Some(Duration::from_secs(20)),
        phase: Phase::Running,
        load: "5000/s".to_owned(),
        is_shape: false,
        is_load_over: false,
        own_hz: 5_000.0,
        ledger: pacer.ledger(),
        recent,
        tally,
        lateness: Lateness::default(),
        note: String::new(),
        fleet: None,
    }
}

#[test]
fn the_status_line_of_a_closed_loop_has_no_backlog() {
    let open = Status(&snapshot()).to_string();
    let expected = "  5s  4321/s of 5000/s  backlog 501 (5.00s)  wait ";
    assert!(open.starts_with(expected), "{open}");
    let closed = Status(&Snapshot { load: MAX.to_owned(), ..snapshot() }).to_string();
    assert!(closed.starts_with("  5s  4321/s  response 1.5"), "{closed}");
}

#[test]
fn a_lower_bound_has_its_sign() {
    let mut snapshot = snapshot();
    snapshot.recent.brief.bounds.record(200_000_000_000).unwrap();
    let text = shown(&picture(snapshot), 120, 40);
    assert!(text.contains(" 1.51ms ") && text.contains(" >=201s "), "{text}");
}

fn picture(snapshot: Snapshot) -> Picture {
    let course = over_time((0..20).map(|at| (at * 250, at * 250 + 250, 1_250.0, 1_100)));
    Picture {
        snapshot: Some(Arc::new(snapshot)),
        course: Span::all(&course),
        ..Picture::opening(&title())
    }
}

fn typed(text: &str) -> Prompt {
    let mut prompt = Prompt::default();
    for char in text.chars() {
        let key = if char == '\n' { KeyCode::Enter } else { KeyCode::Char(char) };
        prompt.press(key.into());
    }
    prompt
}

fn shown(picture: &Picture, width: u16, height: u16) -> String {
    drawn(picture, width, height).text()
}

fn drawn(picture: &Picture, width: u16, height: u16) -> Grid {
    let mut grid = Grid::new((width, height));
    view::draw(&mut grid, picture);
    grid
}

fn assert_shown(picture: &Picture, (width, height): (u16, u16), parts: &[&str]) {
    let shown = shown(picture, width, height);
    for part in parts {
        assert!(shown.contains(part), "{width} x {height}: no {part:?} in\n{shown}");
    }
}

#[test]
fn the_parts_are_seen_in_terminals_of_four_sizes() {
    let parts = [
        "5000/s, 16 connections",
        "running  5s of 20s",
        "4321/s of 5000/s   backlog 501 (5.00s)   in flight 34",
        "requests per second: • requested, ⠤ achieved",
        "5.00k/s",
        "response times, last second",
        "p50      p90      p99      max",
        "started 1234   completed 1200   failed 0",
        "statuses 503: 30, 200: 1200",
        "q stop",
        "? help",
    ];
    assert_shown(&picture(snapshot()), (80, 24), &parts);
    assert_shown(&picture(snapshot()), (200, 60), &parts);
    let small = ["running  5s of 20s", "4321/s of 5000/s", "p50      p99"];
    assert_shown(&picture(snapshot()), (35, 8), &small);
    assert_shown(&picture(snapshot()), (20, 1), &["4321/s of 5000/s"]);
}

#[test]
fn the_verdict_so_far_is_seen() {
    let late = Lateness { target: 3.0, generator: 1.0, ..Lateness::default() };
    let snapshot = Snapshot { lateness: late, ..snapshot() };
    let parts =
        ["so far: The target could not keep up: requests were due", "lateness: target 75.0 %"];
    assert_shown(&picture(snapshot.clone()), (80, 24), &parts);
    let nothing = Snapshot { tally: Tally::default(), ..snapshot };
    assert!(!shown(&picture(nothing), 80, 24).contains("so far"));
}

#[test]
fn a_large_terminal_shows_labels_statuses_and_errors() {
    let mut snapshot = snapshot();
    snapshot.tally.failures.insert(FailureKind::new("timeout"), 4);
    snapshot.tally.expect(&["read", "write"]);
    let picture = picture(snapshot);
    let parts = ["label ", "mean service", "read ", "write ", "outcome ", "share", "timeout "];
    assert_shown(&picture, (200, 60), &parts);
    let large = shown(&picture, 200, 60);
    let line = |text: &str| large.lines().position(|line| line.contains(text)).unwrap();
    assert_eq!(line("last second  ") - line("requests per second"), 20, "{large}");
}

#[test]
fn the_two_lines_of_the_chart_differ_without_colours() {
    let text = shown(&picture(snapshot()), 80, 24);
    let is_braille = |char: &char| ('\u{2801}'..='\u{28ff}').contains(char);
    let achieved = text.chars().filter(is_braille).count();
    assert!(text.matches('•').count() > 5 && achieved > 10, "{text}");
}

#[test]
fn a_prompt_is_seen_with_what_is_wrong() {
    let mut picture = picture(snapshot());
    picture.prompt = typed("sramp 1/s..2/s 3s, jump 3/s\n");
    let parts = ["shape> ramp 1/s..2/s 3s, jump 3/s", "column 19: `jump`: begin a part"];
    assert_shown(&picture, (80, 24), &parts);
    let whole = shown(&picture, 80, 24).replace(['"', '\n'], "");
    let wrong = picture.prompt.wrong().split(' ').next_back().unwrap();
    assert!(whole.contains(wrong), "{wrong} {whole}");
    // A terminal with one line shows the part of a longer text that contains the cursor.
    assert_shown(&picture, (20, 1), &["ramp 1/s..2/s 3s, j"]);
    picture.prompt = typed(&format!("s{}end", "hold 1/s 2s, ".repeat(100)));
    assert_shown(&picture, (20, 2), &["hold 1/s 2s, end"]);
    picture.prompt = typed("250");
    assert_shown(&picture, (80, 1), &["rate> 250"]);
}

#[test]
fn help_has_every_key() {
    let mut picture = picture(snapshot());
    picture.prompt = typed("?");
    let parts = ["raise the rate", "type a shape", "Ctrl-C", "open requests", "backlog   "];
    assert_shown(&picture, (80, 24), &parts);
}

#[test]
fn a_message_is_seen() {
    let note = "waiting for 3 responses; Ctrl-C gives up".to_owned();
    let picture = picture(Snapshot { note, phase: Phase::WaitingForAnswers, ..snapshot() });
    for size in [(80, 24), (80, 1)] {
        assert_shown(&picture, size, &["waiting for 3 responses; Ctrl-C gives up"]);
    }
}

fn odd() -> Vec<Picture> {
    let mut empty = snapshot();
    empty.recent.brief = Brief::new();
    empty.tally = Tally::default();
    (empty.elapsed, empty.planned_end) = (Duration::ZERO, Some(Duration::ZERO));
    let mut huge = snapshot();
    (huge.elapsed, huge.planned_end) = (Duration::MAX, None);
    (huge.recent.hz, huge.recent.asked_hz, huge.is_shape) = (f64::MAX, f64::MAX, true);
    huge.recent.brief.response.record_n(u64::MAX / 2, 1_000_000).unwrap();
    (huge.tally.started, huge.lateness.target) = (u64::MAX, f64::MAX);
    let opening = Picture::opening(&title());
    let mut pictures = vec![opening, picture(snapshot()), picture(empty), picture(huge)];
    pictures[2].course = Span::all(&OverTime::new());
    pictures[3].course = Span::all(&over_time([(0, u64::MAX / 1_000_000, f64::MAX, u64::MAX)]));
    for text in ["?", "1", "snö ", "sx\n"] {
        pictures.push(Picture { prompt: typed(text), ..pictures[1].clone() });
    }
    pictures
}

#[test]
fn no_size_is_too_small_and_no_run_too_odd() {
    let sizes = (0..=200).step_by(13).flat_map(|width| {
        let heights = (0..=60).step_by(if width == 0 { 20 } else { 7 });
        heights.map(move |height| (width, height))
    });
    let tiny = (1..12).flat_map(|width| (1..12).map(move |height| (width, height)));
    let sizes: Vec<_> = sizes.chain(tiny).chain([(200, 60), (80, 24)]).collect();
    for picture in odd() {
        for &(width, height) in &sizes {
            drawn(&picture, width, height);
        }
    }
}
