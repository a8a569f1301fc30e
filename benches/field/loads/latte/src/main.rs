//! Runs the main loop of ScyllaDB's latte, whose files `build` copies to this folder. Its cycles record their start.
//! latte itself needs a cluster, so this package and latte-cli's replace the other parts that the loop uses.

#![allow(dead_code, reason = "only the loop is called")]

#[path = "../../latte-cli/src/config.rs"]
mod config;
mod error;
mod exec;
mod stats;

use config::Interval;
use exec::cycle::BoundedCycleCounter;
use exec::progress::Progress;
use exec::workload::{Workload, WorkloadStats};
use exec::{par_execute, ExecutionOptions};
use stats::{BenchmarkStats, Recorder};
use std::error::Error;
use std::num::NonZeroUsize;
use std::time::Duration;

const THREADS: NonZeroUsize = NonZeroUsize::new(2).unwrap();
const CONCURRENCY: NonZeroUsize = NonZeroUsize::new(32).unwrap();

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [rate, seconds] = &arguments[..] else {
        return Err("usage: load-latte RATE SECONDS".into());
    };
    let options = ExecutionOptions {
        duration: Interval::Time(Duration::from_secs(seconds.parse()?)),
        cycle_range: (0, i64::MAX),
        rate: Some(rate.parse()?),
        rate_sine_amplitude: None,
        rate_sine_period: Duration::from_secs(60),
        threads: THREADS,
        concurrency: CONCURRENCY,
    };
    stamps::prepare();
    par_execute("stamps", &options, Interval::Unbounded, Workload, false, false, &mut None).await?;
    Ok(stamps::write()?)
}
