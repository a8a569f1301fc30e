//! Provides futures that complete when a claimed slot is due.

use crate::AsyncPacer;
use crate::acquire::{TRIES, has_had_enough, spin};
use crate::sync::HAD;
use crate::wait_queue::ClaimKey;
use nanopace::{Claim, Ended, Grant, Nanos, Refused};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A claimed slot, as a future that completes when the slot is due. If the future is dropped before it has completed,
/// the slot is given back and another task gets it.
///
/// Use a claim to prepare an operation ahead of its start, or to keep a slot from going to another task. Any number of
/// tasks may await claims at the same time. Each task is woken when its own slot is due. A change of the schedule,
/// except a pause or a change during a pause, wakes all tasks that await claims, and so does a slot that is given back.
/// Each woken task checks its slot again.
///
/// ```
/// use nanopace::{Pacer, Rate};
/// use nanopace_async::AsyncPacer;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let pacer = AsyncPacer::new(Pacer::new(Rate::per_second(1_000)?))?;
/// let (first, second) = (pacer.claim()?, pacer.claim()?);
/// let due = second.due()?;
/// // ... prepare the operation ...
/// let sent = tokio::spawn(async move { second.await });
/// drop(first); // slot 0 goes back
/// assert_eq!(sent.await??.intended_start(), due);
/// # Ok(())
/// # }
/// ```
///
/// If the future is awaited again after it has completed with a grant, it returns the same grant again.
#[derive(Debug)]
#[must_use = "a dropped claim gives its slot back"]
pub struct AsyncClaim {
    claim: Claim<'static>,
    pacer: AsyncPacer,
    key: Option<ClaimKey>,
}

impl AsyncPacer {
    /// Claims the next slot, whether it is due or not, for the task that awaits the claim. See
    /// [`Pacer::claim`](nanopace::Pacer::claim).
    ///
    /// # Errors
    /// Returns [`Ended`] if the pacer is closed or its schedule has no slot left.
    pub fn claim(&self) -> Result<AsyncClaim, Ended> {
        let claim = self.pacer().claim()?.into_owned();
        Ok(self.await_claim(claim))
    }

    /// Returns a future that completes when `claim` is due. Use this method for a claim that was made on another
    /// thread. The claim must belong to the same [`pacer`](AsyncPacer::pacer).
    ///
    /// ```
    /// use nanopace::{Pacer, Rate};
    /// use nanopace_async::AsyncPacer;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pacer = AsyncPacer::new(Pacer::new(Rate::per_second(1_000)?))?;
    /// let claim = pacer.pacer().claim()?.into_owned();
    /// let due = claim.due()?;
    /// assert_eq!(pacer.await_claim(claim).await?.intended_start(), due);
    /// # Ok(())
    /// # }
    /// ```
    pub fn await_claim(&self, claim: Claim<'static>) -> AsyncClaim {
        AsyncClaim { claim, pacer: self.clone(), key: None }
    }
}

impl AsyncClaim {
    /// Returns the time at which the slot is due, by the current schedule. See [`Claim::due`].
    ///
    /// # Errors
    /// Returns [`Ended`] if the slot can no longer start.
    pub fn due(&self) -> Result<Nanos, Ended> {
        self.claim.due()
    }
}

impl Future for AsyncClaim {
    /// A grant, or one of the errors [`Refused::Closed`] and [`Refused::Finished`].
    type Output = Result<Grant, Refused>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let AsyncClaim { claim, pacer, key } = &mut *self;
        let tries = if has_had_enough() { 0 } else { TRIES };
        for _ in 0..tries {
            match claim.start() {
                Err(Refused::NotUntil(_) | Refused::Paused) => {}
                done => {
                    pacer.0.forget(key, done.ok().map(Grant::actual_start));
                    return Poll::Ready(done);
                }
            }
            let Some(hold) = pacer.0.keep(key, context.waker(), || claim.due()) else {
                HAD.with(|had| had.set(0));
                return Poll::Pending;
            };
            spin(hold);
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Drop for AsyncClaim {
    fn drop(&mut self) {
        self.pacer.0.forget(&mut self.key, None);
    }
}
