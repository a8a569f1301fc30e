//! A thread that refills something at a fixed interval, on any clock, until it is dropped.

use crate::QuotaError;
use crate::sync::{JoinHandle, spawn};
use nanopace::{Clock, Nanos, Pacer, Rate};
use std::sync::Arc;
use std::time::Duration;

/// Evenly spaced moments: the origin, and one more after each interval.
#[derive(Debug)]
pub(crate) struct Ticks {
    clock: Arc<dyn Clock>,
    origin: Nanos,
    rate: Rate,
    interval_ns: u64,
}

impl Ticks {
    /// From now on, every `interval`, 1 ns to 1 day.
    pub(crate) fn new(
        interval: Duration,
        clock: impl Clock + 'static,
    ) -> Result<Ticks, QuotaError> {
        let rate = Rate::per(1, interval).map_err(|_| QuotaError::Interval)?;
        let interval_ns = u64::try_from(interval.as_nanos()).expect("at most a day");
        Ok(Ticks { origin: clock.now(), clock: Arc::new(clock), rate, interval_ns })
    }

    pub(crate) fn now(&self) -> Nanos {
        self.clock.now()
    }

    pub(crate) fn origin(&self) -> Nanos {
        self.origin
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

    /// The first moment at `moment` or later.
    pub(crate) fn moment_from(&self, moment: Nanos) -> Nanos {
        let number = self.number(moment);
        if self.moment(number) >= moment { self.moment(number) } else { self.moment(number + 1) }
    }
}

/// The thread, and the way to stop it.
#[derive(Debug)]
pub(crate) struct RefillThread {
    pacer: Pacer,
    thread: Option<JoinHandle<()>>,
}

impl RefillThread {
    /// Calls `refill` now and after each interval. If a call is late by more than an interval,
    /// ticks are skipped.
    pub(crate) fn start(
        ticks: &Ticks,
        mut refill: impl FnMut(Nanos) + Send + 'static,
    ) -> RefillThread {
        let clock = Arc::clone(&ticks.clock);
        let interval = Duration::from_nanos(ticks.interval_ns);
        let pacer = Pacer::builder(ticks.rate).clock(clock).skip_later_than(interval).build();
        let beat = pacer.clone();
        let thread = spawn(move || {
            while let Ok(grant) = beat.acquire() {
                refill(grant.actual_start());
            }
        });
        RefillThread { pacer, thread: Some(thread) }
    }

    /// Wakes the thread and lets it come to its end.
    pub(crate) fn stop(&self) {
        self.pacer.close();
    }
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
