//! Measures the throughput of one shared word or pacer with growing numbers of threads.

use crate::crew::{self, Work};
use crate::scaling::Runs;
use crate::{float, pacers};
use nanopace::{Grant, Pacer};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The numbers of threads in the benchmarks.
pub const THREADS: [usize; 7] = [1, 2, 4, 8, 64, 256, 1024];

/// Measures threads that add to one word. This addition is the minimum cost of a shared pacer.
///
/// # Panics
/// Panics if an addition is lost.
#[must_use]
pub fn bare(threads: usize, span: Duration) -> Work {
    let cell = AtomicU64::new(0);
    let work = crew::run(threads, span, || {
        || {
            black_box(cell.fetch_add(1, Relaxed));
        }
    });
    assert_eq!(cell.load(Relaxed), work.calls, "an addition was lost");
    work
}

/// Measures threads that acquire from one pacer and read the wait time, with slots that are due.
#[must_use]
pub fn shared(threads: usize, span: Duration) -> Work {
    by_pacer(&pacers::behind(), threads, span, Pacer::acquire)
}

/// Measures threads that acquire from one pacer with `try_acquire` and read the wait time, with slots that are due.
#[must_use]
pub fn tried(threads: usize, span: Duration) -> Work {
    by_pacer(&pacers::behind(), threads, span, Pacer::try_acquire)
}

/// Measures threads that acquire from one pacer with the given function.
///
/// # Panics
/// Panics if a slot is lost, granted twice or refused.
pub fn by_pacer<E>(
    pacer: &Pacer,
    threads: usize,
    span: Duration,
    acquire: impl Fn(&Pacer) -> Result<Grant, E> + Sync,
) -> Work {
    let work = crew::run(threads, span, || {
        || {
            let _ = black_box(acquire(pacer).map(Grant::wait_nanos));
        }
    });
    assert_eq!(pacer.ledger().granted, work.calls, "a slot was lost, granted twice or refused");
    work
}

/// Measures threads that each acquire slots with their own lane. All slots are due.
#[must_use]
pub fn lanes(threads: usize, span: Duration) -> Work {
    by_lanes(&pacers::behind(), threads, span)
}

/// Measures the same as [`lanes`], but with shorter runs, because the clock runs `factor` times too fast.
#[must_use]
pub fn lanes_in_runs(factor: u32, threads: usize, span: Duration) -> Runs {
    let (pacer, clock) = pacers::hurried(factor);
    let before = clock.readings();
    let work = by_lanes(&pacer, threads, span);
    let slots = float(work.calls) / float(clock.readings() - before);
    Runs { slots, mega: work.per_second() / 1e6 }
}

/// Measures threads that each acquire slots of one pacer with their own lane.
///
/// # Panics
/// Panics if a slot is lost or granted twice.
#[must_use]
pub fn by_lanes(pacer: &Pacer, threads: usize, span: Duration) -> Work {
    let work = crew::run(threads, span, || {
        let mut lane = pacer.lane();
        move || {
            let _ = black_box(lane.acquire());
        }
    });
    assert_eq!(pacer.ledger().granted, work.calls, "a slot was lost or granted twice");
    work
}
