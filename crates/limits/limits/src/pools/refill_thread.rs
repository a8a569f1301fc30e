//! Evenly spaced moments, and a thread that does a chore at such moments, on any clock.

use crate::QuotaError;
use crate::sync::{JoinHandle, Mutex, lock, spawn};
use nanopace::{Clock, Nanos, Pacer, Rate};
use std::sync::Arc;
use std::time::Duration;

const DAY_NS: u64 = 86_400_000_000_000;

/// Evenly spaced moments: the origin, and one more after each interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticks {
    origin: Nanos,
    interval_ns: u64,
}

impl Ticks {
    /// From `origin` on, every `interval`, 1 ns to 1 day.
    pub(crate) fn new(origin: Nanos, interval: Duration) -> Result<Ticks, QuotaError> {
        match u64::try_from(interval.as_nanos()) {
            Ok(interval_ns @ 1..=DAY_NS) => Ok(Ticks { origin, interval_ns }),
            _ => Err(QuotaError::Interval),
        }
    }

    pub(crate) fn interval(&self) -> Duration {
        Duration::from_nanos(self.interval_ns)
    }

    /// How many moments after the origin have come by `now`.
    pub(crate) fn number(&self, now: Nanos) -> u64 {
        now.as_nanos().saturating_sub(self.origin.as_nanos()) / self.interval_ns
    }

    /// The moment with that number; at most the last moment there is.
    pub(crate) fn moment(&self, number: u64) -> Nanos {
        let nanos = number.saturating_mul(self.interval_ns);
        Nanos::from_nanos(self.origin.as_nanos().saturating_add(nanos))
    }

    /// The last moment at `moment` or earlier.
    pub(crate) fn moment_by(&self, moment: Nanos) -> Nanos {
        self.moment(self.number(moment))
    }

    /// The first moment after `moment`.
    pub(crate) fn moment_after(&self, moment: Nanos) -> Nanos {
        self.moment(self.number(moment) + 1)
    }

    /// The first moment at `moment` or later.
    pub(crate) fn moment_from(&self, moment: Nanos) -> Nanos {
        let before = self.moment_by(moment);
        if before >= moment { before } else { self.moment_after(moment) }
    }
}

/// A thread that does a chore at moments that may change, and the way to stop it.
#[derive(Debug)]
pub(crate) struct RefillThread {
    alarm: Arc<Alarm>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread sleeps on: a pacer that stays paused. It grants nothing, so a sleep ends at its
/// deadline, or when the pacer is closed. None if the thread is to end.
#[derive(Debug)]
struct Alarm {
    clock: Arc<dyn Clock>,
    pacer: Mutex<Option<Pacer>>,
}

impl RefillThread {
    /// Calls `refill` with the time, and again at the moment that it returns, or when it is woken.
    pub(crate) fn start(
        clock: Arc<dyn Clock>,
        mut refill: impl FnMut(Nanos) -> Nanos + Send + 'static,
    ) -> RefillThread {
        let pacer = Mutex::new(Some(paused(&clock)));
        let alarm = Arc::new(Alarm { clock, pacer });
        let thread = spawn({
            let alarm = Arc::clone(&alarm);
            move || while alarm.sleep_after(&mut refill) {}
        });
        RefillThread { alarm, thread: Some(thread) }
    }

    /// Calls `refill` anew: the moment that it returned last may be wrong.
    pub(crate) fn wake(&self) {
        self.alarm.wake();
    }

    /// Wakes the thread and lets it come to its end.
    pub(crate) fn stop(&self) {
        self.alarm.stop();
    }
}

impl Alarm {
    /// Calls `refill` and sleeps until the moment that it returns; false if the thread is to end.
    fn sleep_after(&self, refill: &mut impl FnMut(Nanos) -> Nanos) -> bool {
        // Taken before `refill` looks, so that a change after its look ends the sleep. Model:
        // `a_change_reaches_the_refill_thread`.
        let Some(pacer) = lock(&self.pacer).clone() else { return false };
        let now = pacer.now();
        let next = refill(now);
        // It grants nothing: it is paused, or closed by now.
        let _ = pacer.acquire_deadline(next);
        next > now // else it is the end of time
    }

    fn wake(&self) {
        let next = paused(&self.clock);
        let last = lock(&self.pacer).as_mut().map(|pacer| std::mem::replace(pacer, next));
        last.inspect(Pacer::close);
    }

    fn stop(&self) {
        let last = lock(&self.pacer).take();
        last.inspect(Pacer::close);
    }
}

fn paused(clock: &Arc<dyn Clock>) -> Pacer {
    Pacer::builder(Rate::SLOWEST).clock(Arc::clone(clock)).start_paused().build()
}

impl Drop for RefillThread {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            // A refill that panicked has said so.
            let _ = thread.join();
        }
    }
}
