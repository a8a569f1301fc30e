//! Finds the highest rate at which the p99 of a target's response times stays below a bound, by changing the rate of
//! one pacer.
//!
//! The target serves one request at a time and takes 1 ms for each, so it can serve at most 1000/s. Its users arrive at
//! random, so some users queue even at rates far below 1000/s. A closed loop with one connection would measure 1 ms at
//! any rate.
//!
//! `cargo run --release -p nanopace --example saturation`

use nanopace::{Arrivals, Nanos, Pacer, Rate};
use std::error::Error;
use std::mem;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

const BOUND: Duration = Duration::from_millis(8);
const TRIAL: Duration = Duration::from_millis(600);
const WORKERS: usize = 16;

struct Target {
    busy_until: Mutex<Nanos>,
}

impl Target {
    fn request(&self, pacer: &Pacer) {
        let served = {
            let mut busy_until = self.busy_until.lock().unwrap_or_else(PoisonError::into_inner);
            *busy_until = pacer.now().max(*busy_until) + Duration::from_millis(1);
            *busy_until
        };
        thread::sleep(served - pacer.now());
    }
}

/// Runs a trial at this rate. Returns the p99 of the response times of all slots that are due in the trial.
fn p99_at(rate: Rate, pacer: &Pacer, times: &Mutex<Vec<Duration>>) -> Duration {
    pacer.set_rate(rate);
    thread::sleep(TRIAL);
    // After this call, hardly any slots become due. Slots that are due start, however late they are.
    pacer.set_rate(Rate::SLOWEST);
    while pacer.ledger().backlog_slots > 0 {
        thread::sleep(Duration::from_millis(1));
    }
    // The last operations are still running: at most one for each worker.
    thread::sleep(Duration::from_millis(50));
    let mut times = mem::take(&mut *times.lock().unwrap_or_else(PoisonError::into_inner));
    times.sort_unstable();
    times.get(times.len() * 99 / 100).copied().unwrap_or_default()
}

fn main() -> Result<(), Box<dyn Error>> {
    let pacer = Pacer::builder(Rate::SLOWEST).arrivals(Arrivals::poisson(1)).build();
    let target = Target { busy_until: Mutex::new(Nanos::ZERO) };
    let times = Mutex::new(Vec::new());
    let work = || {
        while let Ok(grant) = pacer.acquire() {
            target.request(&pacer);
            let time = grant.response_time(pacer.now());
            times.lock().unwrap_or_else(PoisonError::into_inner).push(time);
        }
    };
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(work);
        }
        // The highest rate assumed or found to be within the bound, and the lowest assumed or found to be above it.
        let (mut good, mut bad) = (100, 1_600);
        while bad - good > 50 {
            let middle = u64::midpoint(good, bad);
            let p99 = p99_at(Rate::per_second(middle)?, &pacer, &times);
            let verdict = if p99 <= BOUND { "within the bound" } else { "above the bound" };
            println!("{middle:>5}/s: p99 of response times {p99:>10.1?}, {verdict}");
            *if p99 <= BOUND { &mut good } else { &mut bad } = middle;
        }
        println!("The highest rate with a p99 of at most {BOUND:?} is about {good}/s.");
        pacer.close();
        Ok(())
    })
}
