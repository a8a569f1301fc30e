//! Measures the throughput of waiting requests with jitter, compared with no jitter.
//!
//! ```text
//! cargo bench -p nanopace-benches --features rivals --bench waiting -- [--record] [tasks] [threads]
//! ```
//!
//! `--record` writes the figures to `benches/results/figures.json` and to the tables of the pages.
//!
//! At any time, some requests wait: all for one limit, or each for one of several keys. A start is counted when the
//! request continues, after its jitter.

use nanopace_benches::figure::{Figure, Sense, head};
use nanopace_benches::float;
use nanopace_benches::machine::Machine;
use nanopace_benches::record::Record;
use nanopace_benches::rounds::alternate;
use nanopace_keyed::{AsyncKeyed, Keyed};
use nanopace_limits::{AsyncLimiter, Limiter, Wait};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use std::{io, thread};
use tokio::runtime::{Builder, Runtime};

const ROUNDS: usize = 5;
const WARM_UP: Duration = Duration::from_millis(200);
const SPAN: Duration = Duration::from_millis(500);
const JITTER: Duration = Duration::from_millis(10);
/// The rate of the single limit, and the total rate of all keys, per second.
const RATE: u32 = 1_000;
const KEYS: u32 = 10;
const BURST: u32 = 5;
const TASKS: usize = 50;
const THREADS: usize = 20;
const BOUND: f64 = 0.95;

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let wanted: Vec<&String> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|word| *word == name);
    println!("{}\n\n{}", Machine::here(), head());
    let mut figures = Vec::new();
    if is_wanted("tasks") {
        figures.extend(tasks());
    }
    if is_wanted("threads") {
        figures.extend(threads());
    }
    if words.iter().any(|word| word == "--record") {
        let mut record = Record::read()?;
        record.add(&figures, &Machine::here());
        record.write()?;
    }
    Ok(())
}

type Round = fn(Duration) -> f64;

fn compare(what: &str, ways: [(&str, Round); 2]) -> Vec<Figure> {
    let figure = |(name, round): (&str, Round)| {
        let samples =
            alternate(ROUNDS, &mut [&mut || round(Duration::ZERO), &mut || round(JITTER)]);
        let name =
            format!("starts of {what} that wait for {name}, with jitter, compared with no jitter");
        let figure = Figure::of_rounds(&name, "/s", &samples[1], &samples[0]);
        let figure = figure.bound(Sense::AtLeast, BOUND);
        println!("{figure}");
        figure
    };
    ways.into_iter().map(figure).collect()
}

fn tasks() -> Vec<Figure> {
    compare(
        &format!("{TASKS} tasks"),
        [
            ("a `Limiter`", |jitter| {
                in_tasks(|| {
                    let limiter = AsyncLimiter::new(limiter()).expect("a timer");
                    move |_| {
                        let limiter = limiter.clone();
                        async move { limiter.wait(wait(jitter)).await.map(drop).expect("it fits") }
                    }
                })
            }),
            ("10 keys of a `Keyed`", |jitter| {
                in_tasks(|| {
                    let keyed = AsyncKeyed::new(keyed()).expect("a timer");
                    move |key| {
                        let keyed = keyed.clone();
                        async move { keyed.wait(&key, wait(jitter)).await.map(drop).expect("it fits") }
                    }
                })
            }),
        ],
    )
}

fn threads() -> Vec<Figure> {
    compare(
        &format!("{THREADS} threads"),
        [
            ("a `Limiter`", |jitter| {
                let limiter = limiter();
                in_threads(|_| limiter.wait(wait(jitter)).map(drop).expect("it fits"))
            }),
            ("10 keys of a `Keyed`", |jitter| {
                let keyed = keyed();
                in_threads(|key| keyed.wait(&key, wait(jitter)).map(drop).expect("it fits"))
            }),
        ],
    )
}

fn wait(jitter: Duration) -> Wait<'static> {
    Wait::new(1).jitter(jitter)
}

fn limiter() -> Limiter {
    Limiter::per_second(RATE.into()).burst(BURST.into()).build().expect("limits")
}

fn keyed() -> Keyed<u32> {
    Keyed::per_second((RATE / KEYS).into()).burst(BURST.into()).build().expect("limits")
}

fn per_second(starts: &AtomicU64) -> f64 {
    thread::sleep(WARM_UP);
    // Relaxed, because the counter is a statistic and does not order other accesses.
    let (before, began) = (starts.load(Relaxed), Instant::now());
    thread::sleep(SPAN);
    float(starts.load(Relaxed) - before) / began.elapsed().as_secs_f64()
}

fn in_tasks<A, F>(make: impl FnOnce() -> A) -> f64
where
    A: Fn(u32) -> F + Clone + Send + 'static,
    F: Future<Output = ()> + Send,
{
    let runtime: Runtime =
        Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let _context = runtime.enter();
    let (ask, starts) = (make(), Arc::new(AtomicU64::new(0)));
    for key in (0..KEYS).cycle().take(TASKS) {
        let (ask, starts) = (ask.clone(), Arc::clone(&starts));
        runtime.spawn(async move {
            loop {
                ask(key).await;
                starts.fetch_add(1, Relaxed);
            }
        });
    }
    per_second(&starts)
}

fn in_threads(ask: impl Fn(u32) + Sync) -> f64 {
    let (starts, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        for key in (0..KEYS).cycle().take(THREADS) {
            let (ask, starts, is_over) = (&ask, &starts, &is_over);
            scope.spawn(move || {
                while !is_over.load(Relaxed) {
                    ask(key);
                    starts.fetch_add(1, Relaxed);
                }
            });
        }
        let per_second = per_second(&starts);
        is_over.store(true, Relaxed);
        per_second
    })
}
