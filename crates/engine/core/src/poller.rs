//! Provides a poller: a handle that claims one slot at a time, for callers that pause in their own way.

use crate::timeline::{Claimed, NotGranted};
use crate::{Grant, Pacer, Refused};
use std::time::Duration;

/// Starts one slot at a time for a caller that must not block, such as an event loop, a runtime with its own timers, or
/// code in another language.
///
/// A poller holds at most one slot. If the slot is due, [`poll`](Poller::poll) starts it. Otherwise the poller keeps
/// the slot, and `poll` returns the time at which the slot is due. The caller therefore keeps its slot while it does
/// something else. A slot that is due costs as much as with [`Pacer::acquire`], and allocates no memory. A slot that
/// the poller keeps is recorded in a map of the pacer, which allocates memory only when it needs another node.
///
/// Like a [`Claim`](crate::Claim), a poller keeps its slot even if another caller gives an earlier slot back. When the
/// poller is dropped, its slot is given back and another caller gets it.
///
/// ```
/// use nanopace::{ManualClock, Pacer, Rate, Refused};
/// use std::time::Duration;
///
/// let clock = ManualClock::new();
/// let pacer = Pacer::builder(Rate::per_second(100)?).clock(clock.clone()).build();
/// let mut poller = pacer.poller();
/// for slot in 0..100 {
///     let grant = loop {
///         match poller.poll() {
///             Ok(grant) => break grant,
///             Err(Refused::NotUntil(due)) => clock.set(due), // your own timer
///             Err(refused) => return Err(refused.into()),
///         }
///     };
///     assert_eq!((grant.slot(), grant.wait_time()), (slot, Duration::ZERO));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Poller {
    pacer: Pacer,
    held: Option<Claimed>,
}

impl Pacer {
    /// Returns a poller, which starts one slot at a time without blocking. The poller holds no slot before the first
    /// call of [`poll`](Poller::poll) or [`wait_for`](Poller::wait_for).
    #[must_use]
    pub fn poller(&self) -> Poller {
        Poller { pacer: self.clone(), held: None }
    }
}

impl Poller {
    /// Starts the poller's slot if it is due. A poller without a slot first claims the next slot. The poller keeps a
    /// slot that is not due. Never blocks.
    ///
    /// Poll again after a change of the schedule: the slot may be due earlier. [`Watch`](crate::driver::Watch) reports
    /// changes.
    ///
    /// # Errors
    /// Returns [`Refused::NotUntil`] or [`Refused::Paused`] if the slot cannot start now; the poller keeps the slot.
    /// Returns [`Refused::Closed`] or [`Refused::Finished`] if the poller's slot can no longer start, or if there is no
    /// slot to claim; the poller then holds no slot.
    ///
    /// # Examples
    /// ```
    /// use nanopace::{ManualClock, Nanos, Pacer, Rate, Refused};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let pacer = Pacer::builder(Rate::per_second(10)?).clock(clock.clone()).build();
    /// let mut poller = pacer.poller();
    /// assert_eq!(poller.poll()?.slot(), 0);
    /// assert_eq!(poller.poll(), Err(Refused::NotUntil(Nanos::from_nanos(100_000_000))));
    ///
    /// pacer.set_rate(Rate::per_second(20)?); // its slot moves
    /// assert_eq!(poller.poll(), Err(Refused::NotUntil(Nanos::from_nanos(50_000_000))));
    /// clock.advance(Duration::from_millis(53));
    /// let grant = poller.poll()?;
    /// assert_eq!((grant.slot(), grant.wait_time()), (1, Duration::from_millis(3)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn poll(&mut self) -> Result<Grant, Refused> {
        if let Some(grant) = self.start_if_known_to_be_due() {
            return Ok(grant);
        }
        let mut grant = Grant::NONE;
        self.start_by(i64::MIN, &mut grant)?;
        Ok(grant)
    }

    /// Blocks until the poller's slot is due, but no longer than about `timeout`, and starts the slot if it is due. A
    /// poller without a slot first claims the next slot, as [`Pacer::acquire`] does. After a timeout the poller keeps
    /// its slot.
    ///
    /// Call this method in a loop if the caller has to check periodically for an event, such as a signal or a request
    /// to stop. [`Pacer::acquire_timeout`], in contrast, claims no slot that is due after its timeout.
    ///
    /// # Errors
    /// Returns the errors of [`poll`](Poller::poll).
    ///
    /// # Examples
    /// ```
    /// use nanopace::{ManualClock, Pacer, Rate, Refused};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::jumping();
    /// let pacer = Pacer::builder(Rate::per_second(10)?).clock(clock.clone()).build();
    /// pacer.acquire()?; // slot 0
    /// let (mut poller, slice) = (pacer.poller(), Duration::from_millis(40));
    /// let mut slices = 1;
    /// let grant = loop {
    ///     match poller.wait_for(slice) {
    ///         Err(Refused::NotUntil(_) | Refused::Paused) => slices += 1, // look for signals
    ///         other => break other?,
    ///     }
    /// };
    /// assert_eq!((grant.slot(), slices), (1, 3));
    /// assert_eq!(grant.actual_start().as_nanos(), 100_000_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait_for(&mut self, timeout: Duration) -> Result<Grant, Refused> {
        if let Some(grant) = self.start_if_known_to_be_due() {
            return Ok(grant);
        }
        let mut grant = Grant::NONE;
        let limit = self.pacer.now() + timeout;
        self.start_by(limit.signed(), &mut grant)?;
        Ok(grant)
    }

    #[inline]
    fn start_if_known_to_be_due(&mut self) -> Option<Grant> {
        if self.held.is_some() {
            return None;
        }
        let tried = self.pacer.0.timeline.claim_fast();
        self.started(tried)
    }

    #[inline]
    fn started(&mut self, tried: Result<Grant, NotGranted>) -> Option<Grant> {
        match tried {
            Ok(grant) => Some(grant),
            Err(NotGranted::Claimed(position)) => {
                self.held = Some(Claimed::new(position, 1));
                None
            }
            Err(NotGranted::NotClaimed) => None,
        }
    }

    #[cold]
    #[inline(never)]
    fn start_by(&mut self, limit: i64, grant: &mut Grant) -> Result<(), Refused> {
        *grant = match self.start_on_bent() {
            Some(bent) => bent,
            None => self.pacer.0.start_kept(&mut self.held, limit)?,
        };
        Ok(())
    }

    /// Tries to claim a slot from a published parabola.
    fn start_on_bent(&mut self) -> Option<Grant> {
        if self.held.is_some() {
            return None;
        }
        let tried = self.pacer.0.timeline.claim_bent();
        self.started(tried)
    }

    /// Gives back the poller's slot, if it holds one. Another caller gets the slot.
    pub fn give_back(&mut self) {
        if let Some(claimed) = self.held.take() {
            self.pacer.0.timeline.give_back(&claimed);
        }
    }
}

impl Drop for Poller {
    fn drop(&mut self) {
        self.give_back();
    }
}
