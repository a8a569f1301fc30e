//! Draws README's figure: service times and response times of a run with a stall, by percentile.
//!
//! ```text
//! nanopace run --rate 100 -c 2 --duration 6s --target-stall 2s@2s --json - |
//!     cargo run --release -p nanopace-benches --bin stall -- docs/figures/stall.svg
//! ```

use nanopace_benches::chart::{Chart, Line};
use nanopace_benches::machine::Machine;
use serde_json::Value;
use std::env;
use std::error::Error;
use std::io;
use std::time::Duration;

const LINES: [(&str, &str); 2] =
    [("a closed loop's times", "service_time_ns"), ("what users saw", "response_time_ns")];

fn main() -> Result<(), Box<dyn Error>> {
    let file = env::args_os().nth(1).ok_or("usage: stall FILE.svg < RESULTS.json")?;
    let run: Value = serde_json::from_reader(io::stdin())?;
    let lines = LINES.map(|(name, times)| Line {
        name: name.to_owned(),
        points: points(&run["spectrum"][times]),
    });
    let mark = |(beyond, name): (f64, &str)| (beyond, name.to_owned());
    let marks = [(2.0, "p50"), (10.0, "p90"), (100.0, "p99"), (1_000.0, "p99.9")].map(mark);
    let chart = Chart {
        title: "The target stalls for 2 s in a run of 6 s at 100/s",
        across: ("percentile", &marks),
        up: "ms",
    };
    chart.draw(file.as_ref(), &lines)?;
    println!("{}", Machine::here());
    for (name, times) in LINES {
        println!("p99 of {name}: {}", time(&run[times]["p99"]));
    }
    Ok(())
}

fn points(spectrum: &Value) -> Vec<(f64, f64)> {
    let steps = spectrum.as_array().into_iter().flatten();
    let steps = steps.filter_map(|step| Some((step["quantile"].as_f64()?, step["ns"].as_f64()?)));
    let beyond = steps.map(|(quantile, ns)| (1.0 / (1.0 - quantile), ns * 1e-6));
    beyond.filter(|(beyond, _)| (2.0..=1_000.0).contains(beyond)).collect()
}

fn time(ns: &Value) -> String {
    format!("{:.2?}", Duration::from_nanos(ns.as_u64().unwrap_or_default()))
}
