//! Runs the same work on several pinned threads, with a common start and end time.

use crate::float;
use core_affinity::CoreId;
use std::sync::{LazyLock, OnceLock};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// Calls between two clock readings. Their number makes the cost of a reading negligible.
const BATCH: u64 = 4096;

/// The calls that a crew made, and the time that they took.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// The number of calls by all threads.
    pub calls: u64,
    /// The time from the common start to the end of the last thread.
    pub span: Duration,
}

impl Work {
    /// Returns the number of calls per second of the whole crew.
    #[must_use]
    pub fn per_second(&self) -> f64 {
        float(self.calls) / self.span.as_secs_f64()
    }
}

/// The cores of this machine. They are listed before any thread is pinned, because a pinned thread sees only its own
/// core.
static CORES: LazyLock<Vec<CoreId>> =
    LazyLock::new(|| core_affinity::get_core_ids().unwrap_or_default());

/// Returns the number of cores.
#[must_use]
pub fn cores() -> usize {
    CORES.len().max(1)
}

/// Pins the calling thread to the core with this index, if there is one. Threads that it starts later inherit the core.
pub fn pin(index: usize) {
    if let Some(&core) = CORES.get(index) {
        core_affinity::set_for_current(core);
    }
}

/// Runs `work` in a new thread on the first core.
///
/// # Panics
/// Panics if `work` panics.
pub fn alone<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let work = || {
        pin(0);
        work()
    };
    thread::scope(|scope| scope.spawn(work).join().expect("work that does not panic"))
}

/// Runs `threads` threads for about `span`. Each thread repeats the function that `hire` returns for it. If there are
/// enough cores, each thread is pinned to its own core. The functions are dropped after all threads have ended.
///
/// All threads stop at one time and not after a number of calls, so that no thread runs alone and uncontended at the
/// end. Each thread reads the clock itself, because with a thousand threads on two cores, a thread that should stop the
/// others would not be scheduled. The gate is not a [`std::sync::Barrier`], because the first thread that leaves a
/// barrier would keep the others from its lock for minutes.
///
/// # Panics
/// Panics if a thread cannot be started or panics.
pub fn run<W: FnMut() + Send>(threads: usize, span: Duration, hire: impl Fn() -> W + Sync) -> Work {
    let gate = Gate(OnceLock::new());
    let pinned = threads <= cores();
    let work = |index: usize| {
        if pinned {
            pin(index);
        }
        let mut call = hire();
        let start = gate.enter();
        let (mut calls, mut worked) = (0, start.elapsed());
        while worked < span {
            for _ in 0..BATCH {
                call();
            }
            calls += BATCH;
            worked = start.elapsed();
        }
        (calls, worked, call)
    };
    let work = &work;
    let shifts: Vec<(u64, Duration, W)> = thread::scope(|scope| {
        let start_one = |index| {
            let builder = thread::Builder::new().stack_size(1 << 18);
            builder.spawn_scoped(scope, move || work(index)).expect("a thread")
        };
        let crew: Vec<_> = (0..threads).map(start_one).collect();
        gate.open(crew.iter().map(thread::ScopedJoinHandle::thread));
        crew.into_iter()
            .map(|worker| worker.join().expect("a worker that does not panic"))
            .collect()
    });
    // A thread that was first scheduled after the end has made no calls.
    let ends = shifts.iter().filter(|shift| shift.0 > 0).map(|shift| shift.1);
    Work { calls: shifts.iter().map(|shift| shift.0).sum(), span: ends.max().unwrap_or(span) }
}

/// Returns a run time that is long enough for every thread of a crew to be scheduled. Time slices last a few
/// milliseconds.
#[must_use]
pub fn fair_span(threads: usize) -> Duration {
    let slices = Duration::from_millis(2) * u32::try_from(threads).unwrap_or(u32::MAX);
    slices.max(Duration::from_millis(100))
}

/// A gate at which threads sleep, without a lock, until it opens. When open, it contains the crew's start time.
struct Gate(OnceLock<Instant>);

impl Gate {
    fn enter(&self) -> Instant {
        loop {
            match self.0.get() {
                Some(&start) => return start,
                None => thread::park(),
            }
        }
    }

    fn open<'a>(&self, crew: impl Iterator<Item = &'a Thread>) {
        // Gives a crew that fits the cores time to fall asleep at the gate.
        thread::sleep(Duration::from_millis(5));
        self.0.get_or_init(Instant::now);
        crew.for_each(Thread::unpark);
    }
}
