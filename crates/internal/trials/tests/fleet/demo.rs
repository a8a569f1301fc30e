//! Tests the demonstration of a fleet.

use nanopace_trials::demo::record::Record;
use nanopace_trials::fleet::{Fate, Start};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

fn demo(options: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nanopace-trials"));
    command.arg("demo").args(options.split(' '));
    command
}

#[test]
fn the_demonstration_says_what_to_install() {
    let output = demo("--svg none").env("PATH", "").output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(error.contains("apt-get install redis-server"), "{error}");
}

#[test]
fn the_demonstration_refuses_a_rate_that_it_can_not_show() {
    let output = demo("--svg none --rate 1/s").output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && error.contains("100/s to 20k/s"), "{error}");
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn the_demonstration_shows_a_fleet() {
    let svg = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("fleet.svg");
    let output = demo("--rate 400/s --svg").arg(&svg).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    for shown in ["expected 4000", "2 Killed"] {
        assert!(text.contains(shown), "{shown}: {text}");
    }
    let picture = fs::read_to_string(svg).unwrap();
    let picture = roxmltree::Document::parse(&picture).unwrap();
    let texts: Vec<_> = picture.descendants().filter_map(|node| node.text()).collect();
    for shown in ["node 2 is killed", "node 5 joins"] {
        assert!(texts.concat().contains(shown), "{shown}: {texts:?}");
    }
}

#[test]
fn every_start_is_in_one_column() {
    let start =
        |ms, wait| Start { intended: Duration::from_millis(ms), wait: Duration::from_millis(wait) };
    let early = vec![start(0, 0), start(0, 99), start(50, 50)];
    let late = vec![start(9_999, 0), start(9_000, 3_000)];
    let nodes = [(1, Fate::Killed, early), (3, Fate::Killed, late)];
    let totals = Record::new(&nodes, Vec::new()).totals();
    assert_eq!((totals.len(), totals[0], totals[1], totals[99]), (100, 2, 1, 2));
    assert_eq!(totals.iter().sum::<u32>(), 5);
}
