//! Tests that pages quote the records of the programs.

#[test]
fn the_page_of_fleets_quotes_the_record() {
    let record = include_str!("../results/2026-11-25-fleet.txt");
    let page = include_str!("../../docs/FLEET.md");
    let (_, numbers) = page.split_once("## In numbers").unwrap();
    let rows = |text: &'static str| text.lines().filter(|line| line.starts_with('|'));
    let (with_redis, _) = record.split_once("\nThe store's CPU time").unwrap();
    let [quoted, measured]: [Vec<&str>; 2] = [numbers, with_redis].map(|text| rows(text).collect());
    assert_eq!(quoted[..2], measured[..2]);
    for row in &quoted {
        assert!(measured.contains(row), "the record has no row {row}");
    }
    assert!(quoted.len() > 4);
}

#[test]
fn the_page_of_scaling_quotes_the_record() {
    let record = include_str!("../../crates/load/fleet/src/simulation/figures.txt");
    let page = include_str!("../../docs/SCALING.md");
    let (_, fleet) = page.split_once("## A fleet").unwrap();
    let rows = |text: &'static str| text.lines().filter(|line| line.starts_with('|'));
    let quoted: Vec<&str> = rows(fleet).filter(|line| !line.starts_with("|---")).collect();
    assert_eq!(quoted, rows(record).collect::<Vec<_>>());
}

#[test]
fn the_first_page_quotes_the_record() {
    let record = include_str!("../results/stall.txt");
    let page = include_str!("../../README.md").replace('\n', " ");
    let lines = record.lines().filter(|line| line.starts_with("p99"));
    let figures: Vec<_> = lines.filter_map(|line| line.split(": ").nth(1)).collect();
    let [closed, users] = figures[..] else { panic!("{record}") };
    let quoted = format!("a closed loop reports a p99 of {closed}, users saw {users}]");
    assert!(page.contains(&quoted), "{quoted}");
}
