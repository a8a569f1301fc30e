//! Counts the instructions of each kind of grant, and fails if a count has grown by more than 5 %.
//!
//! ```text
//! cargo run --release -p nanopace-benches --bin instructions              # exit status 1 if a count has grown
//! cargo run --release -p nanopace-benches --bin instructions -- --record  # writes benches/results/instructions.json
//! ```
//!
//! The program runs itself under valgrind, with two lengths of each workload. The difference between the two counts,
//! divided by the difference in grants, excludes the program's start. A manual clock makes the count deterministic. For
//! due slots, that clock does not move, so each reading serves the maximum of 2048 slots, and the count includes the
//! cold path once per 2048 grants. The record contains the compiler's version, because the count depends on it. Counts
//! from another compiler version are not judged.

use nanopace::{Grant, ManualClock, Pacer};
use nanopace_benches::float;
use nanopace_benches::machine::Machine;
use nanopace_benches::pacers::rate;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use std::{env, fs};

const USAGE: &str = "usage: instructions [--record]";

const MOST_GROWTH: f64 = 0.05;

const GRANTS: [u64; 2] = [100_000, 300_000];

type Workload = fn(u64);

const WORKLOADS: [(&str, Workload); 7] = [
    ("loop with a bare fetch_add", bare),
    ("shared acquire, due", |grants| {
        repeat(grants, &far_behind(), |pacer| pacer.acquire().is_ok());
    }),
    ("shared acquire, due, wait time read", |grants| {
        repeat(grants, &far_behind(), |pacer| pacer.acquire().map(Grant::wait_nanos));
    }),
    ("shared try_acquire, due", |grants| {
        repeat(grants, &far_behind(), |pacer| pacer.try_acquire().is_ok());
    }),
    ("shared acquire, paused for", |grants| {
        let pacer = Pacer::builder(rate("1k/s")).clock(ManualClock::jumping()).build();
        repeat(grants, &pacer, |pacer| pacer.acquire().is_ok());
    }),
    ("lane acquire, due", |grants| by_lane(grants, |grant| grant)),
    ("lane acquire, due, wait time read", |grants| by_lane(grants, Grant::wait_nanos)),
];

#[derive(Debug, Serialize, Deserialize)]
struct Record {
    machine: Machine,
    instructions_per_call: BTreeMap<String, f64>,
}

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["--workload", name, grants] => run(name, grants),
        [] => report(check),
        ["--record"] => report(record),
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn run(name: &str, grants: &str) -> ExitCode {
    let workload = WORKLOADS.iter().find(|workload| workload.0 == name);
    match (workload, grants.parse()) {
        (Some((_, work)), Ok(grants)) => {
            work(grants);
            ExitCode::SUCCESS
        }
        _ => ExitCode::from(2),
    }
}

fn bare(additions: u64) {
    let word = AtomicU64::new(0);
    for _ in 0..additions {
        black_box(word.fetch_add(1, Relaxed));
    }
    assert_eq!(word.into_inner(), additions);
}

fn far_behind() -> Pacer {
    let clock = ManualClock::new();
    let pacer = Pacer::builder(rate("1M/s")).clock(clock.clone()).build();
    clock.advance(Duration::from_secs(1 << 20));
    pacer
}

fn repeat<T>(grants: u64, pacer: &Pacer, mut call: impl FnMut(&Pacer) -> T) {
    for _ in 0..grants {
        black_box(call(pacer));
    }
    assert_eq!(pacer.ledger().granted, grants);
}

fn by_lane<T>(grants: u64, mut read: impl FnMut(Grant) -> T) {
    let pacer = far_behind();
    let mut lane = pacer.lane();
    for _ in 0..grants {
        let _ = black_box(lane.acquire().map(&mut read));
    }
    drop(lane);
    assert_eq!(pacer.ledger().granted, grants);
}

fn report(judge: fn(&BTreeMap<String, f64>) -> Result<bool, String>) -> ExitCode {
    match count_all().and_then(|counts| judge(&counts)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("instructions: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn count_all() -> Result<BTreeMap<String, f64>, String> {
    let per_call = |name: &str| -> Result<f64, String> {
        let [few, many] = [count(name, GRANTS[0])?, count(name, GRANTS[1])?];
        Ok(float(many - few) / float(GRANTS[1] - GRANTS[0]))
    };
    WORKLOADS.iter().map(|(name, _)| Ok(((*name).to_owned(), per_call(name)?))).collect()
}

fn count(name: &str, grants: u64) -> Result<u64, String> {
    let program = env::current_exe().map_err(|error| error.to_string())?;
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program);
    let output = valgrind.args(["--workload", name, &grants.to_string()]).output();
    let output = output.map_err(|error| format!("valgrind: {error}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let collected =
        text.lines().find_map(|line| line.split("Collected :").nth(1)?.trim().parse().ok());
    collected.filter(|_| output.status.success()).ok_or_else(|| format!("valgrind, {name}: {text}"))
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("results/instructions.json")
}

fn record(counts: &BTreeMap<String, f64>) -> Result<bool, String> {
    let record = Record { machine: Machine::here(), instructions_per_call: counts.clone() };
    let text = serde_json::to_string_pretty(&record).map_err(|error| error.to_string())?;
    fs::write(file(), text + "\n").map_err(|error| error.to_string())?;
    check(counts)
}

fn check(counts: &BTreeMap<String, f64>) -> Result<bool, String> {
    let text = fs::read_to_string(file())
        .map_err(|error| format!("cannot read the record to compare with: {error}"))?;
    let record: Record = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let compiler = Machine::here().compiler;
    let is_same = compiler == record.machine.compiler;
    if !is_same {
        println!(
            "not judged: the record was made with {}, and this program with {compiler}",
            record.machine.compiler
        );
    }
    println!("| instructions per call | recorded | now | growth |");
    let mut holds = true;
    for (name, &now) in counts {
        let before = record.instructions_per_call.get(name).copied().unwrap_or(now);
        let growth = now / before - 1.0;
        let grew = is_same && growth > MOST_GROWTH;
        holds &= !grew;
        let verdict = if grew { " GREW" } else { "" };
        println!(
            "| {name:<37} | {before:>8.2} | {now:>8.2} | {:>+5.1} %{verdict} |",
            growth * 100.0
        );
    }
    if !holds {
        println!(
            "A grant takes more instructions than recorded. Reduce them, or use --record and give the reason."
        );
    }
    Ok(holds)
}
