//! A pacer for tasks.

use crate::acquire::Acquire;
use crate::line::Line;
use crate::timer::{self, Timer};
use nanopace::{Grant, Nanos, Pacer, Refused};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Paces tasks: each `acquire().await` completes when the next slot is due.
///
/// Clones share one FIFO queue of waiting tasks. Use one `AsyncPacer` per runtime, created inside that runtime: the
/// timer is in its reactor and rings as long as the reactor is driven. Several of them may share one [`Pacer`]. Threads
/// that block claim their slots ahead of time, so tasks on the same pacer get only the slots that threads leave: use
/// one pacer for threads and another for tasks.
///
/// The timer counts real time: the pacer's clock has to run at the same speed.
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
pub struct AsyncPacer(pub(crate) Arc<Line>);

impl AsyncPacer {
    /// An `AsyncPacer` for `pacer`, with the best timer for the caller's runtime: on Linux inside a tokio runtime a
    /// timerfd in its reactor, otherwise a thread.
    ///
    /// A tokio runtime without I/O (`enable_io` or `enable_all`) can't be distinguished from a runtime with I/O, and
    /// tokio panics when the timer is registered in it. The panic is caught, if panics unwind, and shown by the panic
    /// hook, and a thread is used. To avoid this, use [`with_timer`](AsyncPacer::with_timer) with a
    /// [`ThreadTimer`](timer::ThreadTimer).
    ///
    /// # Errors
    /// When the system cannot start another thread for the timer.
    pub fn new(pacer: Pacer) -> io::Result<AsyncPacer> {
        Ok(AsyncPacer(Line::new(pacer, timer::best()?)))
    }

    /// Tasks for `pacer`, with a timer of the caller's choice.
    pub fn with_timer(pacer: Pacer, timer: impl Timer) -> AsyncPacer {
        AsyncPacer(Line::new(pacer, Box::new(timer)))
    }

    /// Completes with the next slot when it is due, and returns how late it is.
    ///
    /// Cancel-safe: a task that waits holds no slot, so a future that is dropped gives nothing back. After 64 slots in
    /// a row that were due at once it yields to other tasks, so it never starves the other branches of a `select!`. To
    /// ask without waiting, use [`try_acquire`](AsyncPacer::try_acquire).
    ///
    /// The future borrows the pacer. A task that outlives the caller takes a clone of it: `async
    /// move { pacer.acquire().await }`.
    ///
    /// # Errors
    /// Only [`Refused::Closed`] and [`Refused::Finished`].
    #[inline]
    pub fn acquire(&self) -> Acquire<'_> {
        self.acquire_many(1)
    }

    /// Completes with the next `n` slots, as one operation, when the first of them is due; see
    /// [`Pacer::acquire_many`].
    ///
    /// # Errors
    /// [`Refused::Closed`], [`Refused::Finished`] when the schedule has fewer slots left, or
    /// [`Refused::TooFarAhead`] when more than 2^44 slots are taken that are not due yet.
    #[inline]
    pub fn acquire_many(&self, n: u32) -> Acquire<'_> {
        Acquire::new(&self.0, n, Nanos::MAX)
    }

    /// Like [`acquire`](AsyncPacer::acquire), but gives up if no slot can start by `deadline` on the pacer's clock: at
    /// once if the next slot can't, or at the deadline. A future that gives up has taken nothing.
    ///
    /// # Errors
    /// [`Refused::NotUntil`], [`Refused::Paused`], [`Refused::Finished`] or [`Refused::Closed`].
    pub fn acquire_deadline(&self, deadline: Nanos) -> Acquire<'_> {
        Acquire::new(&self.0, 1, deadline)
    }

    /// Like [`acquire_deadline`](AsyncPacer::acquire_deadline), `timeout` from now.
    ///
    /// # Errors
    /// As `acquire_deadline`.
    pub fn acquire_timeout(&self, timeout: Duration) -> Acquire<'_> {
        self.acquire_deadline(self.0.pacer.now() + timeout)
    }

    /// Takes the next slot if it is due now; see [`Pacer::try_acquire`].
    ///
    /// # Errors
    /// [`Refused::NotUntil`], [`Refused::Paused`], [`Refused::Finished`] or [`Refused::Closed`].
    pub fn try_acquire(&self) -> Result<Grant, Refused> {
        self.0.pacer.try_acquire()
    }

    /// How long tasks have kept the processor until their slots were due, instead of waiting for a wake-up. It is the
    /// sum of all tasks of this `AsyncPacer` and its clones; at most a quarter of a core.
    #[must_use]
    pub fn spun(&self) -> Duration {
        self.0.spun()
    }

    /// The pacer: for changing the rate, pausing, resuming, closing, and reading the ledger.
    #[must_use]
    pub fn pacer(&self) -> &Pacer {
        &self.0.pacer
    }
}
