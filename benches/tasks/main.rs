//! How exactly do tasks start, and what does it take, beside the other ways to pace them?
//!
//! ```text
//! cargo bench -p nanopace-benches --features rivals --bench tasks
//! cargo bench -p nanopace-benches --features rivals --bench tasks -- --seconds 1 --tasks 64
//! ```
//!
//! Every way has the same tasks, which do nothing but start. The lateness of the n-th start is that
//! against the n-th interval, so a way that loses rate shows it there too; starts are counted in the
//! order in which they came. The baseline is one task that waits for one timerfd, and nothing else.

mod ways;

use nanopace::Rate;
use nanopace_benches::os;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use ways::Way;

/// What a row of starts came to.
struct Seen {
    achieved: f64,
    late_us: [f64; 2],
    even: f64,
    cores: f64,
}

impl Seen {
    /// From the starts of all tasks, since the beginning.
    fn new(mut starts: Vec<Duration>, rate: Rate, cores: f64) -> Seen {
        starts.sort_unstable();
        let interval = 1.0 / rate.as_hz();
        let first = starts[0].as_secs_f64();
        let since = starts.iter().map(|start| start.as_secs_f64() - first);
        let mut late: Vec<f64> =
            since.zip(0_u32..).map(|(start, n)| start - f64::from(n) * interval).collect();
        late.sort_unstable_by(f64::total_cmp);
        // Against the earliest start, relative to its interval: nothing is early.
        let earliest = late[0];
        let quantile = |share: usize| (late[late.len() * share / 1000] - earliest) * 1e6;
        let gaps = starts.windows(2).map(|pair| pair[1].as_secs_f64() - pair[0].as_secs_f64());
        let even = gaps.filter(|gap| (0.75..=1.25).contains(&(gap / interval))).count();
        let span = starts[starts.len() - 1].as_secs_f64() - first;
        let intervals = u32::try_from(starts.len() - 1).expect("some million starts");
        Seen {
            achieved: f64::from(intervals) / span / rate.as_hz(),
            late_us: [quantile(500), quantile(990)],
            even: f64::from(u32::try_from(even).expect("no more")) / f64::from(intervals),
            cores,
        }
    }
}

struct Args {
    seconds: f64,
    tasks: usize,
    rates: Vec<Rate>,
}

fn args() -> Args {
    let mut args = Args { seconds: 2.0, tasks: 8, rates: Vec::new() };
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    while let Some(word) = words.next() {
        let value = words.next().unwrap_or_default();
        match word.as_str() {
            "--seconds" => args.seconds = value.parse().expect("a number of seconds"),
            "--tasks" => args.tasks = value.parse().expect("a number of tasks"),
            "--rate" => args.rates.push(value.parse().expect("a rate")),
            _ => panic!("--seconds N, --tasks N or --rate RATE, not {word}"),
        }
    }
    if args.rates.is_empty() {
        args.rates = ["1k/s", "10k/s", "100k/s"].map(|rate| rate.parse().expect("a rate")).to_vec();
    }
    args
}

fn main() {
    let args = args();
    for (name, runtime) in [("current-thread", runtime(1)), ("2 threads", runtime(2))] {
        println!("{} tasks, tokio, {name}\n", args.tasks);
        println!("| {:>26} | {:>7} | rate | p50 us | p99 us | even | cores |", "", "asked");
        println!("|---|---|---|---|---|---|---|");
        for &rate in &args.rates {
            for way in Way::ALL {
                let seen = measure(&runtime, way, rate, &args);
                let Seen { achieved, late_us: [p50, p99], even, cores } = seen;
                println!(
                    "| {:>26} | {:>7} | {achieved:.3} | {p50:>6.1} | {p99:>6.0} | {:>3.0} % | {cores:.3} |",
                    way.name(),
                    rate.to_string(),
                    100.0 * even
                );
            }
        }
        println!();
    }
}

fn runtime(threads: usize) -> Runtime {
    let mut builder =
        if threads == 1 { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    builder.worker_threads(threads).enable_all().build().expect("a runtime")
}

fn measure(runtime: &Runtime, way: Way, rate: Rate, args: &Args) -> Seen {
    let span = Duration::from_secs_f64(args.seconds);
    let (wall, cpu) = (Instant::now(), os::process_time());
    let starts = runtime.block_on(way.starts(rate, args.tasks, span));
    let cores = os::process_time().saturating_sub(cpu).as_secs_f64() / wall.elapsed().as_secs_f64();
    Seen::new(starts, rate, cores)
}
