//! Simulates fleets of up to 500 nodes, for the figures of docs/SCALING.md.
//!
//! ```text
//! cargo run --release -p nanopace-benches --bin fleet-simulation -- docs/figures/fleet.svg
//! ```
//!
//! The nodes run the real code, and the simulated store makes the real store's decisions. The network, the clocks and
//! the store's processing times are assumed. Every run of a version of this program prints the same figures.

use nanopace_benches::chart::{Chart, Line};
use nanopace_benches::float;
use nanopace_fleet::simulation::{Fault, Outcome, Setup, simulate};
use std::error::Error;
use std::path::Path;
use std::time::Duration;

const NODES: [u32; 6] = [4, 16, 64, 128, 256, 500];
const ROUND_TRIPS_US: [u64; 5] = [200, 1_000, 5_000, 20_000, 50_000];
const LOSSES: [f64; 3] = [0.0, 0.001, 0.01];
const SECONDS: u64 = 10;
const SEEDS: u64 = 5;

fn main() -> Result<(), Box<dyn Error>> {
    assumptions();
    sizes();
    network();
    let lines = clocks();
    kills();
    std::env::args().nth(1).map_or(Ok(()), |file| draw(Path::new(&file), &lines))
}

fn setup() -> Setup {
    Setup {
        nodes: 16,
        shape: format!("hold 10M/s {SECONDS}s"),
        round_trip: Duration::from_millis(1),
        ..Setup::default()
    }
}

fn assumptions() {
    let Setup { jitter, drift_ppm, per_request, per_frame, .. } = Setup::default();
    println!(
        "10M/s for {SECONDS} s. Each message takes half the round trip plus an exponentially distributed delay, whose"
    );
    println!("mean is {jitter} times half the round trip. Clocks: +-{drift_ppm} ppm.");
    println!(
        "The store needs {per_request:?} for each request, and {per_frame:?} for each frame that the request names."
    );
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn millionths(slots: u64, outcome: &Outcome) -> f64 {
    1e6 * float(slots) / float(outcome.expected)
}

fn sizes() {
    println!("\nThe number of nodes, with a round trip of 1 ms\n");
    println!(
        "| nodes | frame | started | requests/s | store busy | wait at the store | deviation of starts | maximum | largest share |"
    );
    for nodes in NODES {
        let outcome = simulate(&Setup { nodes, ..setup() });
        println!(
            "| {nodes} | {:?} | {:.4} % | {:.0} | {:.1} % | {:.0} us | {:.0} us | {:.0} us | {:.2} |",
            outcome.frame,
            100.0 * float(outcome.fired - outcome.twice) / float(outcome.expected),
            outcome.requests_per_second,
            100.0 * outcome.utilisation,
            micros(outcome.wait),
            micros(outcome.start_error),
            micros(outcome.most_start_error),
            outcome.largest_share,
        );
    }
}

fn network() {
    println!("\n16 nodes: slots per million that are lost / started twice, mean of {SEEDS} runs\n");
    println!("| round trip | frame | no loss | 0.1 % of the messages | 1 % |");
    for round_trip in ROUND_TRIPS_US.map(Duration::from_micros) {
        let cells = LOSSES.map(|loss| {
            let runs =
                (1..=SEEDS).map(|seed| simulate(&Setup { seed, round_trip, loss, ..setup() }));
            let parts = runs
                .map(|run| (millionths(run.lost, &run), millionths(run.twice, &run), run.frame));
            let (lost, twice, frame) = parts.fold((0.0, 0.0, Duration::ZERO), |sum, part| {
                (sum.0 + part.0 / float(SEEDS), sum.1 + part.1 / float(SEEDS), part.2)
            });
            (format!("{lost:.1} / {twice:.1}"), frame)
        });
        let [(first, frame), (second, _), (third, _)] = cells;
        println!("| {round_trip:?} | {frame:?} | {first} | {second} | {third} |");
    }
}

fn clocks() -> [Line; 3] {
    println!(
        "\n16 nodes, 30 s: deviation of starts because of clock drift: standard deviation, maximum\n"
    );
    println!("| round trip | 0 ppm | +-50 ppm | +-200 ppm |");
    let drifts = [0.0, 50.0, 200.0];
    let mut lines = drifts.map(|ppm| Line { name: format!("+-{ppm} ppm"), points: Vec::new() });
    for round_trip in ROUND_TRIPS_US.map(Duration::from_micros) {
        print!("| {round_trip:?} |");
        for (drift_ppm, line) in drifts.into_iter().zip(&mut lines) {
            let shape = "hold 10M/s 30s".to_owned();
            let outcome = simulate(&Setup { round_trip, drift_ppm, shape, ..setup() });
            let (error, most) = (micros(outcome.start_error), micros(outcome.most_start_error));
            print!(" {error:.0} us, {most:.0} us |");
            line.points.push((micros(round_trip), error));
        }
        println!();
    }
    lines
}

fn kills() {
    println!("\nOne of 16 nodes is killed: the worst of {SEEDS} runs\n");
    println!(
        "| round trip | frame | lost slots, as time of the node's share | until all slots start again |"
    );
    for round_trip in ROUND_TRIPS_US.map(Duration::from_micros) {
        let kill = Duration::from_secs(5);
        let runs: Vec<Outcome> = (1..=SEEDS)
            .map(|seed| {
                let faults = vec![(kill + Duration::from_millis(7 * seed), Fault::Kill(3))];
                simulate(&Setup { seed, round_trip, faults, ..setup() })
            })
            .collect();
        let lost = runs.iter().map(|run| run.lost).max().unwrap_or(0);
        let share = float(lost) / (10e6 / 16.0);
        let over = runs.iter().zip(1..).filter_map(|(run, seed)| {
            Some(run.last_lost?.saturating_sub(kill + Duration::from_millis(7 * seed)))
        });
        println!(
            "| {round_trip:?} | {:?} | {:.0} ms | {:.0} ms |",
            runs[0].frame,
            1e3 * share,
            1e3 * over.max().unwrap_or_default().as_secs_f64()
        );
    }
}

fn draw(file: &Path, lines: &[Line]) -> Result<(), Box<dyn Error>> {
    let mark = |us: u64| {
        let time = Duration::from_micros(us);
        (micros(time), format!("{time:?}").replace('µ', "u"))
    };
    Chart {
        title: "Deviation of starts because of clock drift, 16 nodes (simulated)",
        across: ("round trip to the store", &ROUND_TRIPS_US.map(mark)),
        up: "standard deviation, us",
    }
    .draw(file, lines)
}
