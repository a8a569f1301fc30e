//! The same load on one shared word from ever more threads.

use crate::crew::{self, Work};
use crate::pacers;
use nanopace::{Pacer, Rate};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The numbers of threads that the benchmarks go through.
pub const THREADS: [usize; 7] = [1, 2, 4, 8, 64, 256, 1024];

/// Threads that add to one word: what any shared pacer costs at least.
///
/// # Panics
/// When an addition is lost.
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

/// Threads that acquire from one pacer, slots due.
///
/// # Panics
/// When a slot is lost or granted twice.
#[must_use]
pub fn shared(threads: usize, span: Duration) -> Work {
    let pacer = pacers::behind(0.0);
    let work = crew::run(threads, span, || {
        || {
            let _ = black_box(pacer.acquire());
        }
    });
    assert_eq!(pacer.ledger().granted, work.calls, "a slot was lost or granted twice");
    work
}

/// Threads that acquire by a lane each, slots due.
///
/// # Panics
/// When a slot is lost or granted twice.
#[must_use]
pub fn lanes(threads: usize, span: Duration) -> Work {
    by_lanes(&pacers::behind(0.0), threads, span)
}

/// As [`lanes`], but in blocks of 10 us of schedule at `rate`.
///
/// # Panics
/// When a slot is lost or granted twice.
#[must_use]
pub fn lanes_in_blocks(rate: Rate, threads: usize, span: Duration) -> Work {
    by_lanes(&pacers::in_blocks(rate), threads, span)
}

fn by_lanes(pacer: &Pacer, threads: usize, span: Duration) -> Work {
    let work = crew::run(threads, span, || {
        let mut lane = pacer.lane();
        move || {
            let _ = black_box(lane.acquire());
        }
    });
    assert_eq!(pacer.ledger().granted, work.calls, "a slot was lost or granted twice");
    work
}
