//! A crew of threads that all do the same, from one moment to another.

use crate::float;
use core_affinity::CoreId;
use std::sync::{LazyLock, OnceLock};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// Calls between two looks at the clock: so many that a look does not matter.
const BATCH: u64 = 4096;

/// What a crew did.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Calls by all threads.
    pub calls: u64,
    /// From the first thread's start to the last one's end.
    pub span: Duration,
}

impl Work {
    /// Calls per second by the whole crew.
    #[must_use]
    pub fn per_second(&self) -> f64 {
        float(self.calls) / self.span.as_secs_f64()
    }
}

/// Read once, before any thread is bound: a bound one sees its own core only.
static CORES: LazyLock<Vec<CoreId>> =
    LazyLock::new(|| core_affinity::get_core_ids().unwrap_or_default());

/// How many processors there are.
#[must_use]
pub fn cores() -> usize {
    CORES.len().max(1)
}

/// Binds the calling thread, and all that it will start, to a core, if there is one of that number.
pub fn pin(index: usize) {
    if let Some(&core) = CORES.get(index) {
        core_affinity::set_for_current(core);
    }
}

/// Does something in a thread of its own on the first core.
///
/// # Panics
/// When it does.
pub fn alone<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let work = || {
        pin(0);
        work()
    };
    thread::scope(|scope| scope.spawn(work).join().expect("work that does not panic"))
}

/// Runs `threads` threads for about `span`, each repeating what `hire` gives it; pinned, one to a
/// core, if there are cores enough. What was hired is dropped when everyone is done.
///
/// Everyone stops at one moment rather than after so many calls, so that nobody finishes alone and
/// uncontended. The gate at the start is no [`std::sync::Barrier`], and nobody has to be told that
/// it is over: with a thousand threads on two cores, who leaves the barrier first keeps the others
/// from its lock for minutes, and whoever tells is never run.
///
/// # Panics
/// When a thread can't be had, or panics.
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
    // Who got the processor only when it was over has not worked.
    let ends = shifts.iter().filter(|shift| shift.0 > 0).map(|shift| shift.1);
    Work { calls: shifts.iter().map(|shift| shift.0).sum(), span: ends.max().unwrap_or(span) }
}

/// How long a crew has to work so that everyone gets a turn: the scheduler's slices are some
/// milliseconds.
#[must_use]
pub fn fair_span(threads: usize) -> Duration {
    let slices = Duration::from_millis(2) * u32::try_from(threads).unwrap_or(u32::MAX);
    slices.max(Duration::from_millis(100))
}

/// Everyone sleeps here, without any lock, until it opens; the moment at which it did is the crew's
/// start.
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
        // Long enough for a crew that fits the cores to be asleep here.
        thread::sleep(Duration::from_millis(5));
        self.0.get_or_init(Instant::now);
        crew.for_each(Thread::unpark);
    }
}
