//! Simulates fleets of up to 500 nodes, for docs/SCALING.md, and compares each row with the record. The network, the
//! clocks and the store's processing times are assumed.

use super::{Fault, Outcome, Setup, simulate};
use std::env;
use std::time::Duration;

const SECONDS: u64 = 10;
const SEEDS: u64 = 5;

/// Returns all values if `NANOPACE_ALL_SEEDS` is set, as in `just fleet-simulation`, otherwise only the first ones.
fn sizes<T>(first: usize, all: &[T]) -> &[T] {
    if env::var_os("NANOPACE_ALL_SEEDS").is_some() { all } else { &all[..first] }
}

fn round_trips() -> impl Iterator<Item = Duration> {
    sizes(1, &[200, 1_000, 5_000, 20_000, 50_000]).iter().copied().map(Duration::from_micros)
}

fn setup() -> Setup {
    Setup {
        nodes: 16,
        shape: format!("hold 10M/s {SECONDS}s"),
        round_trip: Duration::from_millis(1),
        ..Setup::default()
    }
}

/// Prints the rows of a table, and checks that the rows of the record's table are the same, or begin with them.
fn is_recorded(heading: &str, rows: impl Iterator<Item = String>) {
    let (_, table) = include_str!("figures.txt").split_once(heading).unwrap();
    let table = table.trim_start().lines().take_while(|line| line.starts_with('|'));
    let table: Vec<&str> = table.collect();
    println!("\n{heading}\n\n{}", table[0]);
    let rows: Vec<String> = rows.inspect(|row| println!("{row}")).collect();
    for (row, recorded) in rows.iter().zip(&table[1..=rows.len()]) {
        assert!(recorded.starts_with(row), "the record differs: {recorded}");
    }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

#[expect(clippy::cast_precision_loss, reason = "a figure")]
fn float(count: u64) -> f64 {
    count as f64
}

fn millionths(slots: u64, outcome: &Outcome) -> f64 {
    1e6 * float(slots) / float(outcome.expected)
}

#[test]
fn the_number_of_nodes() {
    let row = |&nodes| {
        let outcome = simulate(&Setup { nodes, ..setup() });
        format!(
            "| {nodes} | {:?} | {:.4} % | {:.0} | {:.1} % | {:.0} us | {:.0} us | {:.0} us | {:.2} |",
            outcome.frame,
            100.0 * float(outcome.started - outcome.twice) / float(outcome.expected),
            outcome.requests_per_second,
            100.0 * outcome.utilisation,
            micros(outcome.wait),
            micros(outcome.start_error),
            micros(outcome.most_start_error),
            outcome.largest_share,
        )
    };
    let nodes = sizes(2, &[4, 16, 64, 128, 256, 500]);
    is_recorded("The number of nodes, with a round trip of 1 ms", nodes.iter().map(row));
}

#[test]
fn messages_that_are_lost() {
    let row = |round_trip| {
        let mut frame = Duration::ZERO;
        let cells = sizes(1, &[0.0, 0.001, 0.01]).iter().map(|&loss| {
            let mut mean = (0.0, 0.0);
            for seed in 1..=SEEDS {
                let run = simulate(&Setup { seed, round_trip, loss, ..setup() });
                mean.0 += millionths(run.lost, &run) / float(SEEDS);
                mean.1 += millionths(run.twice, &run) / float(SEEDS);
                frame = run.frame;
            }
            format!("{:.1} / {:.1}", mean.0, mean.1)
        });
        let cells = cells.collect::<Vec<_>>().join(" | ");
        format!("| {round_trip:?} | {frame:?} | {cells} |")
    };
    let heading = "16 nodes: slots per million that are lost / started twice, mean of 5 runs";
    is_recorded(heading, round_trips().map(row));
}

#[test]
fn the_drift_of_clocks() {
    let row = |round_trip| {
        let cells = sizes(1, &[0.0, 50.0, 200.0]).iter().map(|&drift_ppm| {
            let shape = "hold 10M/s 30s".to_owned();
            let outcome = simulate(&Setup { shape, round_trip, drift_ppm, ..setup() });
            let [error, most] = [outcome.start_error, outcome.most_start_error].map(micros);
            format!("{error:.0} us, {most:.0} us")
        });
        format!("| {round_trip:?} | {} |", cells.collect::<Vec<_>>().join(" | "))
    };
    let heading =
        "16 nodes, 30 s: deviation of starts because of clock drift: standard deviation, maximum";
    is_recorded(heading, round_trips().map(row));
}

#[test]
fn a_node_that_is_killed() {
    let row = |round_trip| {
        let (mut frame, mut lost, mut over) = (Duration::ZERO, 0, Duration::ZERO);
        for seed in 1..=SEEDS {
            let kill = Duration::from_millis(5_000 + 7 * seed);
            let faults = vec![(kill, Fault::Kill(3))];
            let run = simulate(&Setup { seed, round_trip, faults, ..setup() });
            (frame, lost) = (run.frame, run.lost.max(lost));
            over = run.last_lost.map_or(over, |last| last.saturating_sub(kill).max(over));
        }
        let [share, over] =
            [float(lost) / (10e6 / 16.0), over.as_secs_f64()].map(|time| 1e3 * time);
        format!("| {round_trip:?} | {frame:?} | {share:.0} ms | {over:.0} ms |")
    };
    is_recorded("One of 16 nodes is killed: the worst of 5 runs", round_trips().map(row));
}
