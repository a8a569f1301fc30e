//! Measures the exactness and the CPU time of task starts, compared with other ways to pace tasks.
//!
//! ```text
//! cargo bench -p nanopace-benches --features rivals --bench tasks
//! cargo bench -p nanopace-benches --features rivals --bench tasks -- --tasks 64 --rate 1M/s
//! cargo bench -p nanopace-benches --features rivals --bench tasks -- --rounds 9 --way nanopace
//! ```
//!
//! Each figure of a way is the median of the rounds; the ways alternate in each round. All operations do nothing. The
//! lateness of a start is measured against its intended start. For a way that does not report intended starts, the
//! lateness of start n, counted from 0, is measured against n intervals after the first start, so it grows if the way
//! loses rate. The baseline is one task that waits for one timerfd.

mod ways;

use nanopace::{Pacer, Rate};
use nanopace_async::AsyncPacer;
use nanopace_benches::os;
use std::hint::black_box;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use ways::{Start, Way};

struct Seen {
    achieved: f64,
    late_us: [f64; 2],
    even: f64,
    cores: f64,
}

impl Seen {
    fn new(mut starts: Vec<Start>, rate: Rate, cores: f64) -> Seen {
        starts.sort_unstable_by_key(|start| start.at);
        let late = lateness(&starts, rate);
        let quantile = |share: usize| late[late.len() * share / 1000] * 1e6;
        let starts: Vec<Duration> = starts.iter().map(|start| start.at).collect();
        let first = starts[0].as_secs_f64();
        let interval = 1.0 / rate.as_hz();
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

    fn median(rounds: &[Seen]) -> Seen {
        let of = |read: &dyn Fn(&Seen) -> f64| {
            let mut values: Vec<f64> = rounds.iter().map(read).collect();
            values.sort_unstable_by(f64::total_cmp);
            values[values.len() / 2]
        };
        Seen {
            achieved: of(&|seen| seen.achieved),
            late_us: [of(&|seen| seen.late_us[0]), of(&|seen| seen.late_us[1])],
            even: of(&|seen| seen.even),
            cores: of(&|seen| seen.cores),
        }
    }
}

/// Returns the sorted lateness of the starts in seconds. If some starts are early, adds the same time to all, so that
/// the earliest start has a lateness of 0.
fn lateness(starts: &[Start], rate: Rate) -> Vec<f64> {
    let first = starts[0].at.as_secs_f64();
    let by_count =
        |start: &Start, n: u32| start.at.as_secs_f64() - first - f64::from(n) / rate.as_hz();
    let late = |(start, n): (&Start, u32)| {
        start.late.map_or_else(|| by_count(start, n), |late| late.as_secs_f64())
    };
    let mut late: Vec<f64> = starts.iter().zip(0..).map(late).collect();
    late.sort_unstable_by(f64::total_cmp);
    let earliest = late[0].min(0.0);
    late.iter().map(|late| late - earliest).collect()
}

struct Args {
    seconds: f64,
    rounds: usize,
    tasks: usize,
    rates: Vec<Rate>,
    ways: Vec<Way>,
}

fn args() -> Args {
    let mut args =
        Args { seconds: 0.5, rounds: 5, tasks: 8, rates: Vec::new(), ways: Way::ALL.to_vec() };
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    while let Some(word) = words.next() {
        let value = words.next().unwrap_or_default();
        match word.as_str() {
            "--seconds" => args.seconds = value.parse().expect("a number of seconds"),
            "--rounds" => args.rounds = value.parse().expect("a number of rounds"),
            "--tasks" => args.tasks = value.parse().expect("a number of tasks"),
            "--rate" => args.rates.push(value.parse().expect("a rate")),
            "--way" => args.ways.retain(|way| *way == Way::Bare || way.name().contains(&value)),
            _ => {
                panic!(
                    "{word} is not an option: write --seconds N, --rounds N, --tasks N, --rate RATE or --way TEXT"
                )
            }
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
        println!("| {:>26} | {:>7} | rate | p50 us | p99 us | even | cores |", "", "target");
        println!("|---|---|---|---|---|---|---|");
        for &rate in &args.rates {
            for (way, seen) in args.ways.iter().zip(medians(&runtime, rate, &args)) {
                let Seen { achieved, late_us: [p50, p99], even, cores } = seen;
                println!(
                    "| {:>26} | {:>7} | {achieved:.3} | {p50:>6.1} | {p99:>6.0} | {:>3.0} % | {cores:.3} |",
                    way.name(),
                    rate.to_string(),
                    100.0 * even
                );
            }
        }
        let [shared, lane] = runtime.block_on(runtime.spawn(due())).expect("no panic");
        println!("\nA slot that is due: {shared:.1} ns, with a lane {lane:.1} ns.\n");
    }
}

async fn due() -> [f64; 2] {
    const SLOTS: u32 = 5_000_000;
    let pacer = AsyncPacer::new(Pacer::new(Rate::FASTEST)).expect("a timer");
    let begun = Instant::now();
    for _ in 0..SLOTS {
        black_box(pacer.acquire().await.expect("open"));
    }
    let shared = begun.elapsed();
    let (mut lane, begun) = (pacer.lane(), Instant::now());
    for _ in 0..SLOTS {
        black_box(lane.acquire().await.expect("open"));
    }
    [shared, begun.elapsed()].map(|span| span.as_secs_f64() * 1e9 / f64::from(SLOTS))
}

fn runtime(threads: usize) -> Runtime {
    let mut builder =
        if threads == 1 { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    builder.worker_threads(threads).enable_all().build().expect("a runtime")
}

fn medians(runtime: &Runtime, rate: Rate, args: &Args) -> Vec<Seen> {
    let mut rounds: Vec<Vec<Seen>> = args.ways.iter().map(|_| Vec::new()).collect();
    for _ in 0..args.rounds {
        for (way, seen) in args.ways.iter().zip(&mut rounds) {
            seen.push(measure(runtime, *way, rate, args));
        }
    }
    rounds.iter().map(|seen| Seen::median(seen)).collect()
}

fn measure(runtime: &Runtime, way: Way, rate: Rate, args: &Args) -> Seen {
    let span = Duration::from_secs_f64(args.seconds);
    let (wall, cpu) = (Instant::now(), os::process_time());
    let starts = runtime.block_on(way.starts(rate, args.tasks, span));
    let cores = os::process_time().saturating_sub(cpu).as_secs_f64() / wall.elapsed().as_secs_f64();
    Seen::new(starts, rate, cores)
}
