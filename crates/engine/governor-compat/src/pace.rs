//! Paces the cells of a quota, with a pacer and a queue of waiting tasks.

use crate::{InsufficientCapacity, Quota};
use futures_timer::Delay;
use nanopace::{Nanos, Pacer, Rate, RateError, Refused};
use nanopace_async::AsyncPacer;
use nanopace_async::timer::Timer;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Waker};
use std::time::Duration;

/// The lateness that is made up for with every burst size. Without this minimum, a quota with bursts of one cell would
/// lose time whenever a task is woken late.
const ALWAYS_MADE_UP_FOR: Duration = Duration::from_millis(100);

const DAY: Duration = Duration::from_secs(86_400);

#[derive(Debug)]
pub(crate) struct Pace {
    pub(crate) quota: Quota,
    pacer: Pacer,
    /// The number of slots per cell. The number is more than one if a cell takes more than a day, because the slowest
    /// rate is one slot per day.
    slots_per_cell: u32,
    line: OnceLock<AsyncPacer>,
}

impl Pace {
    pub(crate) fn new(quota: Quota, clock: Option<Arc<dyn nanopace::Clock>>) -> Pace {
        let slots_per_cell = slots_per_cell(&quota);
        let builder = Pacer::builder(rate(&quota, slots_per_cell))
            .max_backlog(most_made_up_for(&quota))
            .start_on_first_use();
        let builder = match clock {
            Some(clock) => builder.clock(clock),
            None => builder,
        };
        Pace { quota, pacer: builder.build(), slots_per_cell, line: OnceLock::new() }
    }

    /// Takes `n` cells, or returns the time until the first of them is due.
    pub(crate) fn take(&self, n: NonZeroU32) -> Result<(), Duration> {
        match self.pacer.try_acquire_many(self.slots(n)) {
            Ok(_) => Ok(()),
            Err(Refused::NotUntil(due)) => Err(due - self.pacer.now()),
            // No caller can pause or close this pacer. For any other error, no due time is known.
            Err(_) => Err(Nanos::MAX - self.pacer.now()),
        }
    }

    pub(crate) async fn wait(&self, n: NonZeroU32) {
        let fallback = || AsyncPacer::with_timer(self.pacer.clone(), FallbackTimer::default());
        let line = self.line().cloned().unwrap_or_else(fallback);
        // Only a closed pacer refuses this request, and no caller can close this pacer.
        let _ = line.acquire_many(self.slots(n)).await;
    }

    pub(crate) fn fits(&self, n: NonZeroU32) -> Result<(), InsufficientCapacity> {
        let most = self.quota.burst_size();
        if n > most { Err(InsufficientCapacity(most.get())) } else { Ok(()) }
    }

    fn slots(&self, n: NonZeroU32) -> u32 {
        n.get().saturating_mul(self.slots_per_cell)
    }

    /// Returns the queue, or `None` if the system has no resources left for a timer. The first task that awaits a cell
    /// creates the queue, so that the queue's timer is in that task's runtime.
    fn line(&self) -> Option<&AsyncPacer> {
        if self.line.get().is_none() {
            let line = AsyncPacer::new(self.pacer.clone()).ok()?;
            return Some(self.line.get_or_init(|| line));
        }
        self.line.get()
    }
}

/// A timer on the process's single futures-timer thread, for a system that has no resources left for a separate timer.
#[derive(Debug, Default)]
struct FallbackTimer(Mutex<Option<(Delay, Duration)>>);

impl FallbackTimer {
    fn start(&self, delay: Duration, again: Duration, waker: &Waker) {
        let mut timer = Delay::new(delay);
        // If the time has already passed, the timer is set to go off again.
        while Pin::new(&mut timer).poll(&mut Context::from_waker(waker)).is_ready() {
            timer = Delay::new(again);
        }
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((timer, again));
    }
}

impl Timer for FallbackTimer {
    fn set(&self, delay: Duration, again: Duration, waker: &Waker) {
        self.start(delay, again, waker);
    }

    fn went_off(&self, waker: &Waker) {
        let set = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((_, again)) = set {
            self.start(again, again, waker);
        }
    }

    fn stop(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Returns the maximum lateness that is made up for. A burst of n cells that start together spans n - 1 intervals.
fn most_made_up_for(quota: &Quota) -> Duration {
    let apart = quota.burst_size().get() - 1;
    quota.replenish_interval().saturating_mul(apart).max(ALWAYS_MADE_UP_FOR)
}

fn slots_per_cell(quota: &Quota) -> u32 {
    let days = quota.replenish_interval().as_nanos().div_ceil(DAY.as_nanos());
    u32::try_from(days).unwrap_or(u32::MAX).max(1)
}

fn rate(quota: &Quota, slots_per_cell: u32) -> Rate {
    let (cells, period) = quota.cells_per_period();
    let slots = u64::from(cells.get()) * u64::from(slots_per_cell);
    Rate::per(slots, period).unwrap_or_else(|error| match error {
        RateError::TooSlow => Rate::SLOWEST,
        _ => Rate::FASTEST,
    })
}
