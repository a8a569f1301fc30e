//! Measures the cost of a due slot, and the lateness of starts, from C and from Rust in one run.
//!
//! ```text
//! cargo bench -p nanopace-capi
//! ```
//!
//! The benchmark needs a C compiler. Rounds of C and of Rust alternate. Only the least figure of all rounds and loops
//! is reported, because other programs can only slow a loop down.

use nanopace::{MonotonicClock, Pacer, Pause};
use std::env;
use std::error::Error;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const SLOTS: u32 = 100_000;
const LOOPS: usize = 100;
const ROUNDS: usize = 5;
const STARTS: usize = 1_000;

/// The upper bounds of the figures, as multiples of Rust's figures.
const BOUNDS: [(&str, f64); 4] = [
    ("shared acquire", 1.25),
    ("a lane's acquire", 2.0),
    ("lateness at 10k/s, hybrid, p50", f64::INFINITY),
    ("lateness at 10k/s, hybrid, p90", f64::INFINITY),
];

fn main() -> Result<(), Box<dyn Error>> {
    let program = build()?;
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        rounds.push((rust()?, c(&program)?));
    }
    for (index, (name, bound)) in BOUNDS.into_iter().enumerate() {
        let rust = least(rounds.iter().map(|(rust, _)| rust[index]));
        let c = least(rounds.iter().map(|(_, c)| c[index]));
        let ratio = c / rust;
        let outcome = match bound.is_finite() {
            true if ratio <= bound => format!(", at most {bound} x: met"),
            true => format!(", at most {bound} x: NOT MET"),
            false => String::new(),
        };
        println!("{name}: C {c:.2} ns, Rust {rust:.2} ns, {ratio:.2} x{outcome}");
    }
    Ok(())
}

fn least(times: impl Iterator<Item = f64>) -> f64 {
    times.fold(f64::INFINITY, f64::min)
}

fn build() -> Result<PathBuf, Box<dyn Error>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let executable = env::current_exe()?;
    let folder = executable.parent().ok_or("no target folder")?;
    let program = folder.join("nanopace-c-loops");
    let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
    let mut cc = Command::new(compiler);
    cc.arg("-O2").arg("-I").arg(here.join("include")).arg(here.join("benches/loops.c"));
    cc.arg("-o").arg(&program).arg("-L").arg(folder).arg("-lnanopace_capi");
    cc.arg(format!("-Wl,-rpath,{}", folder.display()));
    if cc.status()?.success() { Ok(program) } else { Err("the C compiler failed".into()) }
}

fn c(program: &Path) -> Result<[f64; 4], Box<dyn Error>> {
    let output = Command::new(program).arg(LOOPS.to_string()).arg(SLOTS.to_string()).output()?;
    let text = String::from_utf8(output.stdout)?;
    let told: Result<Vec<f64>, _> = text.split_whitespace().map(str::parse).collect();
    told?.try_into().map_err(|_| "the C program failed".into())
}

fn rust() -> Result<[f64; 4], Box<dyn Error>> {
    let pacer = Pacer::new("10G/s".parse()?);
    let mut lane = pacer.lane();
    let (mut shared, mut by_lane) = (Vec::new(), Vec::new());
    for _ in 0..LOOPS {
        let began = Instant::now();
        for _ in 0..SLOTS {
            black_box(told(pacer.acquire()?));
        }
        shared.push(began.elapsed());
        let began = Instant::now();
        for _ in 0..SLOTS {
            black_box(told(lane.acquire()?));
        }
        by_lane.push(began.elapsed());
        lane.give_back();
    }
    let each = |times: Vec<Duration>| {
        least(times.into_iter().map(|time| time.as_secs_f64() * 1e9 / f64::from(SLOTS)))
    };
    let [half, most] = lateness()?;
    Ok([each(shared), each(by_lane), half, most])
}

fn lateness() -> Result<[f64; 2], Box<dyn Error>> {
    let builder = Pacer::builder("10k/s".parse()?).pause(Pause::Hybrid);
    let pacer = builder.clock(MonotonicClock).build();
    let mut late = Vec::new();
    for start in 0..4 * STARTS {
        let grant = pacer.acquire()?;
        if start >= 3 * STARTS {
            late.push(grant.wait_time().as_secs_f64() * 1e9);
        }
    }
    late.sort_by(f64::total_cmp);
    Ok([late[STARTS / 2], late[STARTS / 10 * 9]])
}

fn told(grant: nanopace::Grant) -> nanopace_capi::Grant {
    grant.into()
}
