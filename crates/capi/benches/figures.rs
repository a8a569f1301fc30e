//! What a slot that is due costs from C beside what it costs from Rust, in one run.
//!
//! ```text
//! cargo bench -p nanopace-capi
//! ```
//!
//! It needs a C compiler. Rounds of both take turns, and the least of each counts: other
//! programs only ever add to it.

use nanopace::Pacer;
use std::env;
use std::error::Error;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

const SLOTS: u32 = 2_000_000;
const ROUNDS: usize = 30;

/// What each figure must be at most, as a multiple of Rust's.
const BOUNDS: [(&str, f64); 2] = [("shared acquire", 1.25), ("a lane's acquire", 2.0)];

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
        let holds = if ratio <= bound { "holds" } else { "DOES NOT HOLD" };
        println!(
            "{name}: C {c:.2} ns, Rust {rust:.2} ns, {ratio:.2} x, at most {bound} x: {holds}"
        );
    }
    Ok(())
}

fn least(times: impl Iterator<Item = f64>) -> f64 {
    times.fold(f64::INFINITY, f64::min)
}

/// The C program, beside the library that cargo has just built.
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

fn c(program: &Path) -> Result<[f64; 2], Box<dyn Error>> {
    let output = Command::new(program).arg(SLOTS.to_string()).output()?;
    let text = String::from_utf8(output.stdout)?;
    let (shared, lane) = text.trim().split_once(' ').ok_or("the C program failed")?;
    Ok([shared.parse()?, lane.parse()?])
}

fn rust() -> Result<[f64; 2], Box<dyn Error>> {
    let pacer = Pacer::new("10G/s".parse()?);
    let began = Instant::now();
    for _ in 0..SLOTS {
        black_box(told(pacer.acquire()?));
    }
    let shared = began.elapsed();
    let mut lane = pacer.lane();
    let began = Instant::now();
    for _ in 0..SLOTS {
        black_box(told(lane.acquire()?));
    }
    Ok([shared, began.elapsed()].map(|time| time.as_secs_f64() * 1e9 / f64::from(SLOTS)))
}

/// All that a grant tells, as C gets it.
fn told(grant: nanopace::Grant) -> nanopace_capi::Grant {
    grant.into()
}
