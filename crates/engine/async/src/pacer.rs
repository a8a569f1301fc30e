//! Provides a pacer for async tasks.

use crate::acquire::Acquire;
use crate::timer::{self, Timer};
use crate::wait_queue::WaitQueue;
use nanopace::{Grant, Nanos, Pacer, Refused};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Paces async tasks: each `acquire().await` completes when the next slot is due.
///
/// Clones share one FIFO queue of waiting tasks. Use one `AsyncPacer` per runtime, and create it inside that runtime,
/// because a timer in the runtime's reactor fires only while the runtime drives the reactor. Several `AsyncPacer`s can
/// share one [`Pacer`]. Use one pacer for threads and another for tasks. A blocking thread claims its slot ahead of
/// time, so tasks on the same pacer get only the slots that threads leave.
///
/// The timer counts real time, so the pacer's clock has to run at the same speed.
///
/// ```
/// use nanopace::{Pacer, Rate};
/// use nanopace_async::AsyncPacer;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let pacer = AsyncPacer::new(Pacer::new(Rate::per_second(2_000)?))?;
/// for _ in 0..10 {
///     let grant = pacer.acquire().await?;
///     // ... the operation ...
///     let response_time = grant.response_time(pacer.pacer().now());
///     assert!(response_time >= grant.wait_time());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct AsyncPacer(pub(crate) Arc<WaitQueue>);

impl AsyncPacer {
    /// Creates an `AsyncPacer` for `pacer`, with the [best](timer::best) timer for the caller's runtime. On Linux
    /// inside a tokio runtime (feature `tokio`), the timer is a timerfd in the runtime's reactor. Otherwise, and if the
    /// timerfd cannot be created, the timer is a thread.
    ///
    /// A tokio runtime without I/O (`enable_io` or `enable_all`) can't be distinguished from a runtime with I/O, and
    /// tokio panics when the timer is registered in it. If panics unwind, this panic is caught, the panic hook prints
    /// it, and a thread is used. To avoid the panic, use [`with_timer`](AsyncPacer::with_timer) with a
    /// [`ThreadTimer`](timer::ThreadTimer).
    ///
    /// # Errors
    /// Returns an error if the system cannot start another thread for the timer.
    pub fn new(pacer: Pacer) -> io::Result<AsyncPacer> {
        Ok(AsyncPacer(WaitQueue::new(pacer, timer::best()?)))
    }

    /// Creates an `AsyncPacer` for `pacer` with the given timer.
    pub fn with_timer(pacer: Pacer, timer: impl Timer) -> AsyncPacer {
        AsyncPacer(WaitQueue::new(pacer, Box::new(timer)))
    }

    /// Completes with the next slot when the slot is due. The grant contains the lateness of the start.
    ///
    /// The future is cancel-safe, because a task that waits holds no slot. After the tasks of a thread have tried to
    /// start slots 64 times in a row without waiting, the next poll yields to other tasks, so the future never starves
    /// the other branches of a `select!`. To check without waiting, use [`try_acquire`](AsyncPacer::try_acquire).
    ///
    /// The future borrows the pacer. A task that outlives the caller needs a clone of the pacer: `async move {
    /// pacer.acquire().await }`.
    ///
    /// # Errors
    /// Returns only [`Refused::Closed`] and [`Refused::Finished`].
    #[inline]
    pub fn acquire(&self) -> Acquire<'_> {
        self.acquire_many(1)
    }

    /// Completes with the next `n` slots, as one operation, when the first of them is due. See
    /// [`Pacer::acquire_many`].
    ///
    /// # Errors
    /// Returns [`Refused::Closed`], [`Refused::Finished`] if the schedule has fewer than `n` slots left, or
    /// [`Refused::TooFarAhead`] if `n` is 2 or more, and more than 2^44 slots that are not due yet have been claimed.
    #[inline]
    pub fn acquire_many(&self, n: u32) -> Acquire<'_> {
        Acquire::new(&self.0, n, Nanos::MAX)
    }

    /// Acquires a slot like [`acquire`](AsyncPacer::acquire), but gives up if no slot can start by `deadline` on the
    /// pacer's clock. The future gives up at once if the next slot cannot start in time, and at the latest at the
    /// deadline. A future that gives up has claimed no slot.
    ///
    /// # Errors
    /// Returns [`Refused::NotUntil`], [`Refused::Paused`], [`Refused::Finished`] or [`Refused::Closed`].
    pub fn acquire_deadline(&self, deadline: Nanos) -> Acquire<'_> {
        Acquire::new(&self.0, 1, deadline)
    }

    /// Acquires a slot like [`acquire_deadline`](AsyncPacer::acquire_deadline), with a deadline `timeout` after the
    /// call.
    ///
    /// # Errors
    /// Returns the errors of `acquire_deadline`.
    pub fn acquire_timeout(&self, timeout: Duration) -> Acquire<'_> {
        self.acquire_deadline(self.0.pacer.now() + timeout)
    }

    /// Starts the next slot if it is due now. See [`Pacer::try_acquire`].
    ///
    /// # Errors
    /// Returns [`Refused::NotUntil`], [`Refused::Paused`], [`Refused::Finished`] or [`Refused::Closed`].
    pub fn try_acquire(&self) -> Result<Grant, Refused> {
        self.0.pacer.try_acquire()
    }

    /// Returns the total time that all tasks of this `AsyncPacer` and its clones planned to spin until their slots were
    /// due. The total is at most about a quarter of a core's time.
    #[must_use]
    pub fn spun(&self) -> Duration {
        self.0.spun()
    }

    /// Returns the pacer, for changing the rate, pausing, resuming, closing, and reading the ledger.
    #[must_use]
    pub fn pacer(&self) -> &Pacer {
        &self.0.pacer
    }
}
