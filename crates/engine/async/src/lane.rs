//! Provides one task's handle to a pacer. The handle can claim several due slots at once.

use crate::AsyncPacer;
use crate::acquire::Waiting;
use crate::wait_queue::WaitQueue;
use nanopace::{Grant, Lane, Nanos, Pacer, Refused};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A task's handle to an [`AsyncPacer`], based on [`nanopace::Lane`].
///
/// ```
/// use nanopace::{Pacer, Rate};
/// use nanopace_async::AsyncPacer;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let pacer = AsyncPacer::new(Pacer::new(Rate::per_second(10_000)?))?;
/// let mut lane = pacer.lane();
/// for _ in 0..100 {
///     let _grant = lane.acquire().await?;
///     // ... the operation ...
/// }
/// drop(lane);
/// assert_eq!(pacer.pacer().ledger().granted, 100);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct AsyncLane {
    pacer: AsyncPacer,
    lane: Lane,
}

impl AsyncPacer {
    /// Returns a lane: a handle for one task that starts many short operations. While it is late, a lane can claim
    /// several due slots at once.
    #[must_use]
    pub fn lane(&self) -> AsyncLane {
        AsyncLane::new(self.clone())
    }
}

impl AsyncLane {
    pub(crate) fn new(pacer: AsyncPacer) -> AsyncLane {
        AsyncLane { lane: pacer.pacer().lane(), pacer }
    }

    /// Completes with the next slot when it is due, like [`AsyncPacer::acquire`].
    ///
    /// # Errors
    /// Returns only [`Refused::Closed`] and [`Refused::Finished`].
    #[inline]
    pub fn acquire(&mut self) -> LaneAcquire<'_> {
        let waiting = Waiting::new(&*self.pacer.0, 1, Nanos::MAX);
        LaneAcquire { waiting, lane: &mut self.lane }
    }

    /// Starts the next slot if it is due now, like [`Lane::try_acquire`]. Use this method in tasks that start all due
    /// operations at once.
    ///
    /// # Errors
    /// Returns [`Refused::NotUntil`], [`Refused::Paused`], [`Refused::Finished`] or [`Refused::Closed`].
    #[inline]
    pub fn try_acquire(&mut self) -> Result<Grant, Refused> {
        self.lane.try_acquire()
    }

    /// Returns the pacer that this lane belongs to.
    #[must_use]
    pub fn pacer(&self) -> &Pacer {
        self.lane.pacer()
    }

    /// Gives back the slots that the lane has claimed and not started. Call this method if the task will not acquire a
    /// slot for a long time.
    pub fn give_back(&mut self) {
        self.lane.give_back();
    }
}

/// The future that [`AsyncLane::acquire`] returns.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct LaneAcquire<'l> {
    waiting: Waiting<&'l WaitQueue>,
    lane: &'l mut Lane,
}

impl Future for LaneAcquire<'_> {
    type Output = Result<Grant, Refused>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let LaneAcquire { waiting, lane } = &mut *self;
        waiting.poll(context, |_| lane.try_acquire())
    }
}
