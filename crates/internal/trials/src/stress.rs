//! Runs random rounds with real threads on a real clock, and checks laws that must hold in each round.
//!
//! The laws are the guarantees in the engine's documentation. The checks use only results of public calls, and no law
//! limits how long a call takes.

mod allowance;
mod changer;
mod evidence;
mod laws;
mod policy;
mod record;
mod round;
mod scenario;
mod worker;

use anyhow::{Result, anyhow};
use clap::Args;
use scenario::Scenario;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

const PATIENCE: Duration = Duration::from_secs(30);
const BETWEEN_REPORTS: Duration = Duration::from_secs(5);

/// Calls pacers at random from many threads, and checks the results.
///
/// Each round draws everything from its seed: the rate, the way to pause, the late policy, the clock,
/// the number of workers, their calls, and the changes of the schedule. How the threads interleave
/// depends on the machine, so a round that failed may have to be repeated several times.
///
/// Exit status 1 means that a law was broken, or that a round hung or panicked. The output contains
/// the fault and the command that repeats the round.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// The number of rounds; 60 take about 10 s.
    #[arg(long, default_value_t = 60, conflicts_with = "minutes")]
    rounds: u64,
    /// The time to run in minutes, instead of a number of rounds.
    #[arg(long)]
    minutes: Option<u64>,
    /// The seed of the first round, which each further round increments by one; by default the time
    #[arg(long)]
    seed: Option<u64>,
}

/// Runs the given number of rounds, or rounds for the given time.
///
/// # Errors
/// Returns the law that was broken, or reports that a round hung or panicked.
pub fn run(options: &Options) -> Result<()> {
    let seed = options.seed.unwrap_or_else(seed_from_time);
    println!("seed {seed}");
    let counts = all_rounds(options, seed).map_err(|failure| anyhow!(failure))?;
    println!("{counts}: every law held");
    Ok(())
}

fn seed_from_time() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    since.as_secs() * 1_000 + u64::from(since.subsec_millis())
}

fn all_rounds(options: &Options, first_seed: u64) -> Result<String, String> {
    let (began, mut reported, mut starts) = (Instant::now(), Instant::now(), 0);
    let is_over = |rounds| match options.minutes {
        Some(minutes) => began.elapsed() >= Duration::from_secs(60 * minutes),
        None => rounds == options.rounds,
    };
    let mut rounds = 0;
    while !is_over(rounds) {
        starts += watched_round(first_seed.wrapping_add(rounds))?;
        rounds += 1;
        if reported.elapsed() >= BETWEEN_REPORTS {
            println!("{rounds} rounds, {starts} starts");
            reported = Instant::now();
        }
    }
    Ok(format!("{rounds} rounds, {starts} starts"))
}

fn watched_round(seed: u64) -> Result<u64, String> {
    let scenario = Scenario::draw(seed);
    let text = format!(
        "{scenario:#?}\nto repeat: cargo run -p nanopace-trials -- stress --seed {seed} --rounds 1"
    );
    let (done, outcome) = channel();
    thread::spawn(move || done.send(round::run(scenario)));
    match outcome.recv_timeout(PATIENCE) {
        Ok(Ok(starts)) => Ok(starts),
        Ok(Err(law)) => Err(format!("a law is broken: {law}\n{text}")),
        Err(RecvTimeoutError::Timeout) => Err(format!("the round hangs\n{text}")),
        Err(RecvTimeoutError::Disconnected) => Err(format!("a thread panicked\n{text}")),
    }
}
