//! Measures the figures of the engine and the load generator, and judges those that have a bound. A run takes a few
//! minutes.
//!
//! ```text
//! cargo run --release -p nanopace-benches --bin figures -- [--tables] [--record] [PART ...]
//! ```
//!
//! `--record` writes the figures to `benches/results/figures.json` and to the tables of README.md,
//! docs/PERFORMANCE.md, crates/engine/core/docs/schedules.md and crates/load/load/docs/own.md. `--tables` only
//! writes those tables and measures nothing.
//!
//! The parts are `cost`, `shapes`, `threads`, `rate`, `lateness`, `gaps`, `change`, `library` and `habits`. By default
//! all parts are measured. The exit status does not depend on the verdicts, because a busy machine can make figures
//! miss their bounds.

use nanopace::Pause;
use nanopace_benches::costs::Costs;
use nanopace_benches::crew::Work;
use nanopace_benches::figure::Sense::{AtLeast, AtMost};
use nanopace_benches::figure::{Figure, head};
use nanopace_benches::habits;
use nanopace_benches::library::{Calls, hundred_thousand};
use nanopace_benches::machine::{Machine, Others};
use nanopace_benches::pacers::rate;
use nanopace_benches::record::Record;
use nanopace_benches::rounds::{Samples, alternate, quantile};
use nanopace_benches::shapes::{self as loads, Beside};
use nanopace_benches::starts::{self, Starts};
use nanopace_benches::{crew, sweep};
use std::process::ExitCode;
use std::time::Duration;
use std::{env, io, thread};

const USAGE: &str = "usage: figures [--tables] [--record] [cost | shapes | threads | rate | lateness | gaps | change | library | habits ...]";

#[derive(Clone, Copy)]
struct Part {
    name: &'static str,
    rows: fn(&mut dyn FnMut(Figure)),
    /// Whether the part measures start times, which other programs delay. In the other parts, which compare costs or
    /// throughput, other programs only add noise.
    is_timed: bool,
}

const PARTS: [Part; 10] = [
    Part { name: "cost", rows: cost, is_timed: false },
    Part { name: "shapes", rows: shapes, is_timed: false },
    Part { name: "threads", rows: threads, is_timed: false },
    Part { name: "rate", rows: achieved_rate, is_timed: false },
    Part { name: "lateness", rows: lateness, is_timed: true },
    Part { name: "gaps", rows: gaps, is_timed: true },
    Part { name: "change", rows: change, is_timed: true },
    Part { name: "library", rows: library, is_timed: false },
    Part { name: "library", rows: library_on_time, is_timed: true },
    Part { name: "habits", rows: habits_of_calls, is_timed: false },
];

/// If other programs use more than this share of the CPU time, late starts may be due to them.
const MOST_BY_OTHERS: f64 = 0.03;

fn main() -> ExitCode {
    let mut is_recorded = false;
    let mut wanted = Vec::new();
    for word in env::args().skip(1) {
        match (word.as_str(), PARTS.iter().find(|part| part.name == word)) {
            ("--record", _) => is_recorded = true,
            ("--tables", _) => return code(Record::read().and_then(|record| record.write())),
            (_, Some(_)) => wanted.extend(PARTS.iter().filter(|part| part.name == word)),
            _ => {
                eprintln!("{USAGE}");
                return ExitCode::from(2);
            }
        }
    }
    if wanted.is_empty() {
        wanted = PARTS.iter().collect();
    }
    let machine = Machine::here();
    let figures = measure(&machine, &wanted);
    code(if is_recorded { record(&machine, &figures) } else { Ok(()) })
}

fn code(done: io::Result<()>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("figures: {error}");
            ExitCode::FAILURE
        }
    }
}

fn record(machine: &Machine, figures: &[Figure]) -> io::Result<()> {
    let mut record = Record::read()?;
    record.add(figures, machine);
    record.write()
}

fn measure(machine: &Machine, wanted: &[&Part]) -> Vec<Figure> {
    println!("{machine}\n\n{}", head());
    let mut figures = Vec::new();
    let mut most_by_others = 0.0_f64;
    for part in wanted {
        let (others, mut rows) = (Others::new(), Vec::new());
        (part.rows)(&mut |figure| rows.push(figure));
        let share = others.share();
        most_by_others = most_by_others.max(share);
        for figure in rows {
            let spoilt = part.is_timed && share > MOST_BY_OTHERS;
            let figure = if spoilt { figure.unjudged() } else { figure };
            println!("{figure}");
            figures.push(figure);
        }
    }
    println!(
        "\nOther programs used up to {:.0} % of the CPU time during a part of the benchmark.",
        most_by_others * 100.0
    );
    let noisy =
        figures.iter().filter(|figure| figure.bound.is_some() && figure.holds.is_none()).count();
    if noisy > 0 {
        println!(
            "The machine was too noisy to judge {noisy} figures. Run the benchmark again while the machine is idle."
        );
    }
    figures
}

fn cost(show: &mut dyn FnMut(Figure)) {
    let costs = crew::alone(|| Costs::measure(25));
    for (call, ours, bound) in [
        ("lane `acquire`", &costs.lane, 1.0),
        ("lane `acquire`, wait time read", &costs.lane_wait, 1.0),
        ("shared `acquire`", &costs.shared, 1.12),
        ("shared `acquire`, wait time read", &costs.shared_wait, 1.16),
    ] {
        let name = format!("{call}, compared with one bare addition");
        show(Figure::of_rounds(&name, "ns", ours, &costs.bare).bound(AtMost, bound));
    }
    let name = "lane `acquire`, compared with a plain counter in memory";
    show(Figure::of_rounds(name, "ns", &costs.lane, &costs.counter).bound(AtMost, 2.5));
    show(Figure::plain("a claim, with its start", "ns", costs.claim.median()));
    show(Figure::plain("a claim that is dropped", "ns", costs.dropped_claim.median()));
}

fn shapes(show: &mut dyn FnMut(Figure)) {
    let measure = |load, gap| crew::alone(|| Beside::measure(25, load, gap));
    let micros = Duration::from_micros;
    let ramp = measure(loads::ramp, micros(2));
    let mut beside = |call, [constant, ramp]: &[Samples; 2], bound| {
        let name =
            format!("on a ramp from 0 to 1M/s in 10 s, {call}, compared with a constant rate");
        show(Figure::of_rounds(&name, "ns", ramp, constant).bound(AtMost, bound));
    };
    beside("shared `acquire`", &ramp.shared, 1.15);
    beside("lane `acquire`", &ramp.lane, 2.0);
    for (name, load, gap, shared, lane) in [
        ("on a ramp from 100/s to 5k/s in 30 s", loads::slow_ramp as fn() -> _, 392, 40.0, 45.0),
        ("on a sine from 500k/s to 1500k/s in 1 s", loads::sine, 1, 11.0, 10.0),
        ("random arrivals at 1M/s", loads::poisson, 1, 80.0, 60.0),
    ] {
        let Beside { shared: [_, by_pacer], lane: [_, by_lane] } = measure(load, micros(gap));
        for (call, ours, bound) in [("shared", by_pacer, shared), ("lane", by_lane, lane)] {
            let name = format!("{name}, {call} `acquire`");
            show(Figure::plain(&name, "ns", ours.median()).bound(AtMost, bound));
        }
    }
    let span = Duration::from_millis(120);
    let each_ns = |work: Work| 2e9 / work.per_second();
    let rounds = alternate(
        9,
        &mut [&mut || each_ns(loads::poisson_shared(2, span)), &mut || {
            each_ns(loads::poisson_lanes(2, span))
        }],
    );
    for (call, ours) in ["shared", "lane"].into_iter().zip(&rounds) {
        let name = format!("random arrivals at 1M/s, {call} `acquire`, each of 2 threads");
        show(Figure::plain(&name, "ns", ours.median()).bound(AtMost, 100.0));
    }
}

fn threads(show: &mut dyn FnMut(Figure)) {
    let span = Duration::from_millis(120);
    let mega = |work: Work| work.per_second() / 1e6;
    let samples = alternate(
        9,
        &mut [
            &mut || mega(sweep::bare(2, span)),
            &mut || mega(sweep::shared(2, span)),
            &mut || mega(sweep::lanes(1, span)),
            &mut || mega(sweep::lanes(2, span)),
        ],
    );
    let [bare, shared, lane, lanes] = &samples[..] else { unreachable!("four candidates") };
    let name = "throughput of 2 lanes on 2 threads, compared with 2 threads on a bare word";
    show(Figure::of_rounds(name, "M/s", lanes, bare));
    let mut figure = |name, ours, baseline, bound| {
        show(Figure::of_rounds(name, "M/s", ours, baseline).bound(AtLeast, bound));
    };
    figure("throughput of 2 lanes on 2 threads, compared with 1 lane", lanes, lane, 1.9);
    let name = "throughput of shared `acquire` on 2 threads, wait time read, compared with 2 threads on a bare word";
    figure(name, shared, bare, 0.65);
    tries(show);
    crowds(show);
}

/// Measures many short rounds, because the speed of two threads that write one word varies between rounds.
fn tries(show: &mut dyn FnMut(Figure)) {
    let span = Duration::from_millis(30);
    let mega = |work: Work| work.per_second() / 1e6;
    let samples = alternate(
        61,
        &mut [&mut || mega(sweep::shared(2, span)), &mut || mega(sweep::tried(2, span))],
    );
    let name = "throughput of `try_acquire` on 2 threads, compared with `acquire` on 2 threads";
    show(Figure::of_many_rounds(name, "M/s", &samples[1], &samples[0]).bound(AtLeast, 0.9));
}

fn crowds(show: &mut dyn FnMut(Figure)) {
    let mut worst = f64::INFINITY;
    for threads in sweep::THREADS.into_iter().filter(|&threads| threads > 2) {
        let mega = |threads| sweep::shared(threads, crew::fair_span(threads)).per_second() / 1e6;
        let rounds = alternate(3, &mut [&mut || mega(2), &mut || mega(threads)]);
        worst = worst.min(rounds[1].ratio_to(&rounds[0]));
    }
    let name =
        "throughput of shared `acquire` on 4 to 1024 threads, compared with 2 threads, the worst";
    show(Figure::plain(name, "x", worst).bound(AtLeast, 0.8));
}

/// Measures the slow rates concurrently, because they use little CPU time.
fn achieved_rate(show: &mut dyn FnMut(Figure)) {
    let span = Duration::from_secs(10);
    for rates in
        [&["1/s", "10/s", "100/s", "1k/s", "10k/s"][..], &["100k/s"], &["1M/s"], &["10M/s"]]
    {
        let achieved: Vec<f64> = thread::scope(|scope| {
            let runs: Vec<_> = rates
                .iter()
                .map(|&text| scope.spawn(move || starts::achieved(rate(text), span)))
                .collect();
            runs.into_iter().map(|run| run.join().expect("a run that does not panic")).collect()
        });
        for (text, achieved) in rates.iter().zip(achieved) {
            let name = format!("achieved rate at {text}, distance from target");
            show(Figure::plain(&name, "ppm", (achieved - 1.0).abs() * 1e6).bound(AtMost, 100.0));
        }
    }
}

fn lateness(show: &mut dyn FnMut(Figure)) {
    for (text, count) in [("1k/s", 1_000), ("10k/s", 10_000)] {
        let interval = Duration::from_secs_f64(rate(text).interval_ns() / 1e9);
        let rounds: Vec<(Starts, Starts)> = (0..5)
            .map(|_| {
                (
                    starts::bare(interval, count),
                    starts::paced(rate(text), Pause::Sleep, count as usize),
                )
            })
            .collect();
        for (part, name) in [(0.5, "p50"), (0.99, "p99")] {
            let of = |starts: &Starts| quantile(&starts.late_ns, part) / 1e3;
            let bare = Samples(rounds.iter().map(|round| of(&round.0)).collect());
            let ours = Samples(rounds.iter().map(|round| of(&round.1)).collect());
            let name =
                format!("lateness at {text}, sleeping, {name}, compared with the bare sleep");
            show(Figure::of_rounds(&name, "us", &ours, &bare).bound(AtMost, 1.3));
        }
    }
    for (text, count, bound) in [("1k/s", 1_000, 1.7), ("10k/s", 10_000, 1.3)] {
        let interval = Duration::from_secs_f64(rate(text).interval_ns() / 1e9);
        let rounds: Vec<(Starts, Starts)> = (0..9)
            .map(|_| {
                (
                    starts::bare(interval, count),
                    starts::paced(rate(text), Pause::Hybrid, count as usize),
                )
            })
            .collect();
        let median = |of: &dyn Fn(&(Starts, Starts)) -> f64| {
            Samples(rounds.iter().map(of).collect()).median()
        };
        // If sleeps are slow, as on most virtual machines, the median has a higher bound, and the p90 has none.
        let is_fast = median(&|round| quantile(&round.0.late_ns, 0.5)) < 5_000.0;
        let bounds = if is_fast { [Some(150.0), Some(300.0)] } else { [Some(500.0), None] };
        for ((part, name), bound) in [(0.5, "p50"), (0.9, "p90")].into_iter().zip(bounds) {
            let late = median(&|round| quantile(&round.1.late_ns, part));
            let name = format!("lateness at {text}, hybrid, {name}");
            let figure = Figure::plain(&name, "ns", late);
            show(match bound {
                Some(bound) => figure.bound(AtMost, bound),
                None => figure,
            });
        }
        let cpu = |of: &dyn Fn(&(Starts, Starts)) -> f64| Samples(rounds.iter().map(of).collect());
        let (bare, ours) = (cpu(&|round| round.0.cpu * 100.0), cpu(&|round| round.1.cpu * 100.0));
        let name = format!("CPU time at {text}, hybrid, compared with the bare sleep");
        show(Figure::of_rounds(&name, "%", &ours, &bare).bound(AtMost, bound));
    }
    for (text, count) in [("100k/s", 300_000), ("1M/s", 3_000_000)] {
        let ours = starts::paced(rate(text), Pause::Sleep, count);
        let name = format!("CPU time at {text}, sleeping, of one core");
        show(Figure::plain(&name, "%", ours.cpu * 100.0));
    }
}

fn gaps(show: &mut dyn FnMut(Figure)) {
    for (text, interval_us, count, bound) in
        [("2k/s", 500, 2_000, 95.0), ("20k/s", 50, 20_000, 90.0)]
    {
        let rounds: Vec<[Starts; 3]> = (0..5)
            .map(|_| {
                let ours = |pause| starts::paced(rate(text), pause, count as usize);
                [
                    starts::bare(Duration::from_micros(interval_us), count),
                    ours(Pause::Sleep),
                    ours(Pause::Hybrid),
                ]
            })
            .collect();
        let even = |way: usize| {
            Samples(rounds.iter().map(|round| round[way].even() * 100.0).collect()).median()
        };
        for (way, name) in [(1, "sleeping"), (2, "hybrid")] {
            let name = format!("gaps within 25 % of the interval, {text}, {name}");
            let figure = Figure::plain(&name, "%", even(way)).bound(AtLeast, bound);
            show(Figure { baseline: Some(even(0)), ..figure });
        }
    }
}

fn change(show: &mut dyn FnMut(Figure)) {
    let reached = starts::reached(1_000);
    let p99 = quantile(&reached, 0.99) / 1e3;
    show(Figure::plain("change of rate reaches a sleeper, p99", "us", p99).bound(AtMost, 200.0));
    let first = Samples((0..5).map(|_| quantile(&starts::herd(1_000)[..10], 1.0)).collect());
    let name = "1000 sleepers to 10k/s: latest of the first ten starts";
    show(Figure::plain(name, "us", first.median() / 1e3).bound(AtMost, 1_000.0));
}

fn library(show: &mut dyn FnMut(Figure)) {
    for (sessions, name) in [(1, "1 session"), (64, "64 sessions")] {
        added(show, name, &Calls::of_tasks(sessions));
    }
    for (sessions, name) in [(1, "1 blocking session"), (64, "64 blocking sessions")] {
        added(show, name, &Calls::of_threads(sessions));
    }
}

fn added(show: &mut dyn FnMut(Figure), sessions: &str, calls: &Calls) {
    let name = format!("CPU time that `nanopace-load` adds to a call, {sessions}");
    let figure = Figure::plain(&name, "ns", calls.added()).bound(AtMost, 1_000.0);
    show(Figure { baseline: Some(calls.bare.median()), ..figure });
}

fn habits_of_calls(show: &mut dyn FnMut(Figure)) {
    for (habit, calls) in habits::all() {
        let name = format!("a call that {habit}: additional CPU time");
        show(Figure::plain(&name, "ns", calls.added()));
    }
    for (wait, rate) in habits::waits() {
        let name = format!("64 sessions on 2 threads, calls that wait 10 ms and {wait}");
        show(Figure::plain(&name, "calls/s", rate.median()));
    }
}

fn library_on_time(show: &mut dyn FnMut(Figure)) {
    let report = hundred_thousand();
    let achieved = report.achieved_rate() / report.target_rate();
    let name = "achieved rate of `nanopace-load` at 100k/s, distance from target";
    show(Figure::plain(name, "ppm", (achieved - 1.0).abs() * 1e6).bound(AtMost, 100.0));
    let late = report.wait_time(0.99).map_or(f64::INFINITY, |wait| wait.as_secs_f64() * 1e6);
    let name = "lateness of `nanopace-load` at 100k/s, 64 sessions, p99";
    show(Figure::plain(name, "us", late).bound(AtMost, 1_000.0));
}
