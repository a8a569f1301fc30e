//! A wake-up for a task when the schedule changes.

use crate::Pacer;
use crate::sync::unique;
use std::task::Waker;

/// Wakes a task when the schedule changes: when the rate or the late policy is changed, slots come
/// back, the last slot of a schedule that ends is taken, or the pacer is resumed or closed. A pause
/// wakes nobody, because it only makes slots later.
///
/// A wake-up is only a hint to look again. None is lost: a task that first calls
/// [`set`](Watch::set) and then looks at the schedule is woken by every change that it has not
/// seen. Each wake-up takes one call of `set`.
///
/// ```
/// use nanopace::driver::Drive;
/// use nanopace::{ManualClock, Pacer, Rate, Refused};
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use std::task::{Wake, Waker};
///
/// struct Count(AtomicUsize);
/// impl Wake for Count {
///     fn wake(self: Arc<Self>) {
///         self.0.fetch_add(1, Ordering::Relaxed);
///     }
/// }
///
/// let pacer = Pacer::builder("1/h".parse()?).clock(ManualClock::new()).build();
/// pacer.acquire()?;
/// let (watch, wakes) = (pacer.watch(), Arc::new(Count(AtomicUsize::new(0))));
/// watch.set(&Waker::from(wakes.clone()));
/// assert!(matches!(pacer.try_acquire(), Err(Refused::NotUntil(_)))); // in an hour
/// pacer.set_rate(Rate::per_second(10)?);
/// assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Watch {
    pacer: Pacer,
    /// No other watch has the same.
    number: u64,
}

impl Watch {
    pub(super) fn new(pacer: &Pacer) -> Watch {
        Watch { pacer: pacer.clone(), number: unique() }
    }

    /// The next change wakes `waker`, and no waker that was set before.
    pub fn set(&self, waker: &Waker) {
        self.pacer.0.timeline.sleepers.watch(self.number, waker);
    }

    /// The next change wakes nobody.
    pub fn clear(&self) {
        self.pacer.0.timeline.sleepers.unwatch(self.number);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.clear();
    }
}
