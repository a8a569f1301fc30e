//! Draws cost and throughput against the number of threads: ours, the bare word, and (feature
//! `rivals`) other crates.
//!
//! ```text
//! cargo run --release -p nanopace-benches --features rivals --bin plots -- docs/figures
//! ```

use nanopace_benches::chart::{Chart, Line};
use nanopace_benches::crew::{self, Work};
use nanopace_benches::rounds::alternate;
use nanopace_benches::{float, sweep};
use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

const ROUNDS: usize = 3;

type Load = Box<dyn Fn(usize, Duration) -> Work>;

fn main() -> Result<(), Box<dyn Error>> {
    let folder: PathBuf = std::env::args().nth(1).ok_or("usage: plots FOLDER")?.into();
    let throughput = measure(&loads());
    for line in &throughput {
        println!("{:>20} {:.1?}", line.name, line.points);
    }
    let cost: Vec<Line> = throughput
        .iter()
        .map(|line| Line {
            name: line.name.clone(),
            points: line.points.iter().map(|&point| cost(point)).collect(),
        })
        .collect();
    let threads: Vec<(f64, String)> =
        sweep::THREADS.map(|threads| (float(threads as u64), threads.to_string())).to_vec();
    let across = ("threads", &threads[..]);
    Chart { title: "Grants per second by all threads, slots due", across, up: "M grants/s" }
        .draw(&folder.join("throughput.svg"), &throughput)?;
    Chart { title: "Processor time per grant, slots due", across, up: "ns" }
        .draw(&folder.join("cost.svg"), &cost)
}

fn loads() -> Vec<(&'static str, Load)> {
    #[cfg_attr(not(feature = "rivals"), expect(unused_mut, reason = "the rivals come behind"))]
    let mut loads: Vec<(&'static str, Load)> = vec![
        ("nanopace, lanes", Box::new(sweep::lanes)),
        ("nanopace, shared", Box::new(sweep::shared)),
        ("bare fetch_add", Box::new(sweep::bare)),
    ];
    #[cfg(feature = "rivals")]
    for rival in nanopace_benches::rivals::Rival::ALL {
        loads.push((rival.name(), Box::new(move |threads, span| rival.unthrottled(threads, span))));
    }
    loads
}

fn measure(loads: &[(&'static str, Load)]) -> Vec<Line> {
    let mut lines: Vec<Line> = loads
        .iter()
        .map(|(name, _)| Line { name: (*name).to_owned(), points: Vec::new() })
        .collect();
    for threads in sweep::THREADS {
        let span = crew::fair_span(threads);
        let mut rounds: Vec<_> =
            loads.iter().map(|(_, load)| move || load(threads, span).per_second() / 1e6).collect();
        let mut candidates: Vec<&mut dyn FnMut() -> f64> = Vec::new();
        candidates.extend(rounds.iter_mut().map(|round| round as &mut dyn FnMut() -> f64));
        for (line, samples) in lines.iter_mut().zip(alternate(ROUNDS, &mut candidates)) {
            line.points.push((float(threads as u64), samples.median()));
        }
    }
    lines
}

/// Threads beyond the cores take none.
fn cost((threads, mega): (f64, f64)) -> (f64, f64) {
    let running = threads.min(float(crew::cores() as u64));
    (threads, running * 1e3 / mega)
}
