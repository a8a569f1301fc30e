//! Measures the cost that `nanopace-load` adds to a call, compared with a bare loop over the same driver.

use crate::rounds::{Samples, alternate};
use crate::{float, os};
use nanopace::Rate;
use nanopace_load::{BlockingTarget, Done, Failure, Load, Report, Slot, Target};
use std::thread;
use std::time::{Duration, Instant};
use tokio::runtime::Builder;
use tokio::task::{LocalSet, spawn_local, yield_now};

/// A driver that responds when its task is polled again. No call that is still async is cheaper.
#[derive(Debug)]
pub(crate) struct Nothing;

impl Target for Nothing {
    type Session = ();

    async fn connect(&self, _index: usize) -> Result<(), Failure> {
        Ok(())
    }

    async fn call(&self, (): &mut (), _slot: Slot) -> Result<Done, Failure> {
        yield_now().await;
        Ok(Done::new())
    }
}

#[derive(Debug)]
struct Blocking;

impl BlockingTarget for Blocking {
    type Session = ();

    fn connect(&self, _index: usize) -> Result<(), Failure> {
        Ok(())
    }

    fn call(&self, (): &mut (), _slot: Slot) -> Result<Done, Failure> {
        thread::yield_now();
        Ok(Done::new())
    }
}

/// The CPU time per call in nanoseconds, of a candidate and a baseline, measured in alternating rounds.
#[derive(Debug)]
pub struct Calls {
    /// The CPU time per call of the candidate: calls through the library.
    pub ours: Samples,
    /// The CPU time per call of the baseline: a bare loop per session, or simpler calls through the library.
    pub bare: Samples,
}

impl Calls {
    /// Measures sessions that are tasks on one thread.
    #[must_use]
    pub fn of_tasks(sessions: u32) -> Calls {
        Calls::measure(
            || ours(Load::new(endless()).sessions(sessions).threads(1), Nothing),
            || bare_tasks(sessions),
        )
    }

    /// Measures sessions with a thread each.
    #[must_use]
    pub fn of_threads(sessions: u32) -> Calls {
        Calls::measure(
            || ours(Load::new(endless()).sessions(sessions), Blocking),
            || bare_threads(sessions),
        )
    }

    pub(crate) fn measure(mut ours: impl FnMut() -> f64, mut bare: impl FnMut() -> f64) -> Calls {
        let samples = alternate(5, &mut [&mut ours, &mut bare]);
        let [ours, bare] = samples.try_into().expect("two candidates");
        Calls { ours, bare }
    }

    /// Returns how much more CPU time a call of the candidate takes than a call of the baseline, in nanoseconds.
    #[must_use]
    pub fn added(&self) -> f64 {
        let pairs = self.ours.0.iter().zip(&self.bare.0);
        Samples(pairs.map(|(ours, bare)| ours - bare).collect()).median()
    }
}

pub(crate) const ROUND: Duration = Duration::from_secs(1);

/// Returns a rate that no session can reach, so that no session waits.
pub(crate) fn endless() -> Rate {
    "1G/s".parse().expect("a rate")
}

pub(crate) fn ours(load: Load, target: impl Target) -> f64 {
    per_call(|| {
        let report = load.duration(ROUND).run_blocking(target).expect("a load that can be run");
        report.completed() + report.failed()
    })
}

fn bare_tasks(sessions: u32) -> f64 {
    per_call(|| {
        let runtime = Builder::new_current_thread().build().expect("a runtime");
        LocalSet::new().block_on(&runtime, async {
            let end = Instant::now() + ROUND;
            let loops: Vec<_> = (0..sessions).map(|_| spawn_local(bare_task(end))).collect();
            let mut calls = 0;
            for one in loops {
                calls += one.await.expect("a loop that does not panic");
            }
            calls
        })
    })
}

async fn bare_task(end: Instant) -> u64 {
    let mut calls = 0;
    while Instant::now() < end {
        yield_now().await;
        calls += 1;
    }
    calls
}

fn bare_threads(sessions: u32) -> f64 {
    per_call(|| {
        let end = Instant::now() + ROUND;
        thread::scope(|scope| {
            let loops: Vec<_> = (0..sessions).map(|_| scope.spawn(|| bare_thread(end))).collect();
            loops.into_iter().map(|one| one.join().expect("a loop that does not panic")).sum()
        })
    })
}

fn bare_thread(end: Instant) -> u64 {
    let mut calls = 0;
    while Instant::now() < end {
        thread::yield_now();
        calls += 1;
    }
    calls
}

fn per_call(work: impl FnOnce() -> u64) -> f64 {
    let before = os::process_time();
    let calls = work();
    os::process_time().saturating_sub(before).as_secs_f64() * 1e9 / float(calls)
}

/// Runs 100 k/s for 5 s, after a warm-up of 1 s, on 64 sessions of a target that does nothing.
///
/// # Panics
/// Panics if the load cannot be run.
#[must_use]
pub fn hundred_thousand() -> Report {
    let rate = "100k/s".parse().expect("a rate");
    let load = Load::new(rate).sessions(64).duration(Duration::from_secs(5));
    load.warmup(Duration::from_secs(1)).run_blocking(Nothing).expect("a load that can be run")
}
