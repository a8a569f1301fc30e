//! Computes evenly spaced moments, and runs a thread that refills at them, on any clock.

use crate::QuotaError;
use crate::sync::{AtomicBool, JoinHandle, Relaxed, spawn};
use nanopace_nanos::{Clock, Nanos, Parker, Unparker};
use std::sync::Arc;
use std::time::Duration;

const DAY_NS: u64 = 86_400_000_000_000;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticks {
    origin: Nanos,
    interval_ns: u64,
}

impl Ticks {
    pub(crate) fn new(origin: Nanos, interval: Duration) -> Result<Ticks, QuotaError> {
        match u64::try_from(interval.as_nanos()) {
            Ok(interval_ns @ 1..=DAY_NS) => Ok(Ticks { origin, interval_ns }),
            _ => Err(QuotaError::Interval),
        }
    }

    pub(crate) fn interval(&self) -> Duration {
        Duration::from_nanos(self.interval_ns)
    }

    pub(crate) fn number(&self, now: Nanos) -> u64 {
        now.as_nanos().saturating_sub(self.origin.as_nanos()) / self.interval_ns
    }

    pub(crate) fn moment(&self, number: u64) -> Nanos {
        let nanos = number.saturating_mul(self.interval_ns);
        Nanos::from_nanos(self.origin.as_nanos().saturating_add(nanos))
    }

    pub(crate) fn last_at_or_before(&self, moment: Nanos) -> Nanos {
        self.moment(self.number(moment))
    }

    pub(crate) fn first_after(&self, moment: Nanos) -> Nanos {
        self.moment(self.number(moment) + 1)
    }

    pub(crate) fn first_at_or_after(&self, moment: Nanos) -> Nanos {
        let before = self.last_at_or_before(moment);
        if before >= moment { before } else { self.first_after(moment) }
    }
}

#[derive(Debug)]
pub(crate) struct RefillThread {
    is_over: Arc<AtomicBool>,
    unparker: Unparker,
    thread: Option<JoinHandle<()>>,
}

impl RefillThread {
    /// Starts a thread that calls `refill`. Each call returns the moment of the next call, which is made earlier if the
    /// thread is woken.
    pub(crate) fn start(
        clock: Arc<dyn Clock>,
        mut refill: impl FnMut(Nanos) -> Nanos + Send + 'static,
    ) -> RefillThread {
        let (parker, is_over) = (Parker::new(), Arc::new(AtomicBool::new(false)));
        let (unparker, over) = (parker.unparker(), Arc::clone(&is_over));
        let thread = spawn(move || {
            // Relaxed: `stop` stores before it unparks, and the sleep that the unparking ends comes before the next
            // load. Model: `the_refill_thread_ends_with_the_bucket`.
            while !over.load(Relaxed) {
                let now = clock.now();
                let next = refill(now);
                if next <= now {
                    break; // no later moment exists, or the pool is closed
                }
                // A change that is made after `refill` has read the state ends this sleep too: the parker keeps the
                // wake-up. Model: `a_change_reaches_the_refill_thread`.
                clock.park(&parker, next);
            }
        });
        RefillThread { is_over, unparker, thread: Some(thread) }
    }

    pub(crate) fn wake(&self) {
        self.unparker.unpark();
    }

    pub(crate) fn stop(&self) {
        // Relaxed: the unparking that follows orders this store before the thread's next load. Model:
        // `the_refill_thread_ends_with_the_bucket`.
        self.is_over.store(true, Relaxed);
        self.unparker.unpark();
    }
}

impl Drop for RefillThread {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            // If `refill` panicked, the panic message has already been printed.
            let _ = thread.join();
        }
    }
}
