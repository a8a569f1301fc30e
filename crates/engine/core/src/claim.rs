//! Claims a slot before its start, for callers that pause in their own way.

use crate::timeline::Claimed;
use crate::{Ended, Grant, Nanos, Pacer, Refused};
use std::borrow::Cow;
use std::time::Duration;

/// A claimed slot, which its owner starts when it is due. If the claim is dropped before the slot has started, the
/// slot is given back and another caller gets it.
///
/// A claim keeps its slot, even if another caller gives an earlier slot back. A claim borrows the pacer.
/// [`into_owned`](Claim::into_owned) returns a claim that can be stored together with the pacer.
///
/// ```
/// use nanopace::{ManualClock, Pacer, Rate, Refused};
/// use std::time::Duration;
///
/// let clock = ManualClock::new();
/// let pacer = Pacer::builder(Rate::per_second(100)?).clock(clock.clone()).build();
/// pacer.acquire()?; // slot 0, due now
/// let mut claim = pacer.claim()?; // slot 1, due in 10 ms
/// assert_eq!(claim.delay()?, Duration::from_millis(10));
/// assert!(matches!(claim.start(), Err(Refused::NotUntil(_))));
/// clock.advance(Duration::from_millis(12)); // your own timer
/// assert_eq!(claim.start()?.wait_time(), Duration::from_millis(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "a dropped claim gives its slot back"]
pub struct Claim<'p> {
    pacer: Cow<'p, Pacer>,
    /// `None` after the slots have started, or if they can never start.
    held: Option<Claimed>,
    started: Option<Grant>,
}

impl Pacer {
    /// Claims the next slot and returns without pausing, for event loops and for callers with their own timers.
    ///
    /// # Errors
    /// Returns [`Ended`] if the pacer is closed or its schedule has no slot left.
    ///
    /// # Examples
    /// ```
    /// use nanopace::{ManualClock, Pacer};
    ///
    /// let pacer = Pacer::builder("10/s".parse()?).clock(ManualClock::new()).build();
    /// let (first, second) = (pacer.claim()?, pacer.claim()?);
    /// assert_eq!(second.due()?.as_nanos(), 100_000_000);
    ///
    /// drop(first); // slot 0 goes back, and the next caller gets it
    /// assert_eq!(pacer.acquire()?.intended_start().as_nanos(), 0);
    /// assert_eq!(second.due()?.as_nanos(), 100_000_000); // a claim keeps its slot
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn claim(&self) -> Result<Claim<'_>, Ended> {
        self.claim_many(1).map_err(Refused::for_good)
    }

    /// Claims the next `n` slots in a row and returns without pausing. [`acquire_many`](Pacer::acquire_many) is the
    /// blocking form. The slots start as one operation, and are given back together. A claim of zero slots counts as
    /// started.
    ///
    /// ```
    /// use nanopace::{ManualClock, Pacer, Rate};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let pacer = Pacer::builder(Rate::per_second(1_000)?).clock(clock.clone()).build();
    /// pacer.acquire()?;
    /// let claim = pacer.claim_many(500)?; // due in 1 ms
    /// assert_eq!(claim.delay()?, Duration::from_millis(1));
    /// let next = pacer.claim()?;
    /// assert_eq!(next.delay()?, Duration::from_millis(501));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Refused::Closed`], [`Refused::Finished`] if the schedule has fewer than `n` slots left, or
    /// [`Refused::TooFarAhead`] if `n` is 2 or more, and more than 2^44 slots that are not due yet have been claimed.
    pub fn claim_many(&self, n: u32) -> Result<Claim<'_>, Refused> {
        if n == 0 {
            let started = Some(self.acquire_many(0)?);
            return Ok(Claim { pacer: Cow::Borrowed(self), held: None, started });
        }
        Ok(Claim::new(self, self.0.timeline.claim(n.into(), &*self.0.clock)?))
    }
}

impl<'p> Claim<'p> {
    fn new(pacer: &'p Pacer, claimed: Claimed) -> Claim<'p> {
        Claim { pacer: Cow::Borrowed(pacer), held: Some(claimed), started: None }
    }

    /// Converts this claim into one that owns a handle to the pacer. Use the owned claim in a struct that also contains
    /// the pacer, and in threads and tasks that outlive the caller.
    ///
    /// ```
    /// use nanopace::{Claim, ManualClock, Pacer, Rate};
    ///
    /// struct Client {
    ///     pacer: Pacer,
    ///     next: Claim<'static>,
    /// }
    ///
    /// let pacer = Pacer::builder(Rate::per_second(100)?).clock(ManualClock::new()).build();
    /// let next = pacer.claim()?.into_owned();
    /// let mut client = Client { pacer, next };
    /// client.next.start()?; // slot 0 is due
    /// client.next = client.pacer.claim()?.into_owned();
    /// assert_eq!(client.next.due()?.as_nanos(), 10_000_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_owned(mut self) -> Claim<'static> {
        let held = self.held.take(); // the drop of `self` gives nothing back
        Claim { pacer: Cow::Owned(Pacer::clone(&self.pacer)), held, started: self.started }
    }

    /// Returns the time at which the slot is due by the current schedule, or [`Nanos::MAX`] while the pacer is paused,
    /// the rate stays zero, or the slot is not [leased](crate::driver::leased) yet. A [sleep
    /// threshold](crate::PacerBuilder::sleep_threshold) lets the slot start earlier, by less than the threshold. After
    /// the slot has started, returns its actual start.
    ///
    /// Call this method again after a change of the schedule. A change may even undo [`Ended::Finished`], unless
    /// [`start`](Claim::start) or [`wait_for`](Claim::wait_for) has already returned that error. While time is owed
    /// under a burst ratio, the due time can be later than the intended start.
    ///
    /// # Errors
    /// Returns [`Ended`] if the slot can no longer start.
    ///
    /// # Examples
    /// ```
    /// use nanopace::{ManualClock, Nanos, Pacer};
    ///
    /// let pacer = Pacer::builder("10/s".parse()?).clock(ManualClock::new()).build();
    /// pacer.acquire()?; // slot 0, at 0 ms
    /// let claim = pacer.claim()?; // slot 1
    /// assert_eq!(claim.due()?.as_nanos(), 100_000_000);
    ///
    /// pacer.set_rate("100/s".parse()?);
    /// assert_eq!(claim.due()?.as_nanos(), 10_000_000);
    /// pacer.pause();
    /// assert_eq!(claim.due()?, Nanos::MAX);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn due(&self) -> Result<Nanos, Ended> {
        match (&self.held, self.started) {
            (Some(claimed), _) => {
                let release = self.pacer.0.timeline.release(claimed)?;
                Ok(Nanos::from_signed(release.moment()))
            }
            (None, Some(grant)) => Ok(grant.actual_start()),
            (None, None) => Err(self.ended()),
        }
    }

    fn ended(&self) -> Ended {
        if self.pacer.is_closed() { Ended::Closed } else { Ended::Finished }
    }

    /// Returns how long to delay the operation, counted from the call. The delay is zero if the slot is due, or if it
    /// is due so soon that the [sleep threshold](crate::PacerBuilder::sleep_threshold) lets it start.
    ///
    /// While the pacer is paused, the delay extends to [`Nanos::MAX`].
    ///
    /// # Errors
    /// Returns [`Ended`] if the slot can no longer start.
    ///
    /// # Examples
    /// ```
    /// use nanopace::{ManualClock, Pacer};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let pacer = Pacer::builder("10/s".parse()?).clock(clock.clone()).build();
    /// pacer.acquire()?; // slot 0, at 0 ms
    /// let claim = pacer.claim()?; // slot 1, due at 100 ms
    /// clock.advance(Duration::from_millis(70));
    /// assert_eq!(claim.delay()?, Duration::from_millis(30));
    /// clock.advance(Duration::from_millis(70));
    /// assert_eq!(claim.delay()?, Duration::ZERO);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delay(&self) -> Result<Duration, Ended> {
        Ok(self.pacer.0.timeline.delay(self.due()?, &*self.pacer.0.clock))
    }

    /// Starts the slot now, if it is due. After the start, every call returns the same grant.
    ///
    /// The late policy uses the lateness at the time of this call, not at the time of the claim. If the slot is so late
    /// that it is [skipped](crate::PacerBuilder::skip_later_than), the claim gets the next slot that is not too late.
    ///
    /// # Errors
    /// Returns [`Refused::NotUntil`] or [`Refused::Paused`] if the slot cannot start now; the claim keeps its slot.
    /// Returns [`Refused::Closed`] if the pacer is closed, and [`Refused::Finished`] if no slot is left for this claim
    /// before the end of the schedule, for example after a change to a slower rate.
    ///
    /// # Examples
    /// ```
    /// use nanopace::{ManualClock, Nanos, Pacer, Refused};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let pacer = Pacer::builder("10/s".parse()?).clock(clock.clone()).build();
    /// pacer.acquire()?; // slot 0, at 0 ms
    /// let mut claim = pacer.claim()?; // slot 1
    /// assert_eq!(claim.start(), Err(Refused::NotUntil(Nanos::from_nanos(100_000_000))));
    ///
    /// clock.advance(Duration::from_millis(103));
    /// let grant = claim.start()?;
    /// assert_eq!(grant.wait_time(), Duration::from_millis(3));
    /// clock.advance(Duration::from_millis(10));
    /// assert_eq!(claim.start()?, grant); // it has started already
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn start(&mut self) -> Result<Grant, Refused> {
        self.start_by(i64::MIN)
    }

    /// Blocks until the slot is due, but no longer than about `timeout`, and starts the slot if it is due. After a
    /// timeout the claim keeps its slot. This method works like [`Poller::wait_for`](crate::Poller::wait_for), except
    /// that a claim can have several slots.
    ///
    /// # Errors
    /// Returns the errors of [`start`](Claim::start).
    ///
    /// # Examples
    /// ```
    /// use nanopace::{ManualClock, Pacer};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::jumping();
    /// let pacer = Pacer::builder("10/s".parse()?).clock(clock).build();
    /// pacer.acquire()?; // slot 0, at 0 ms
    /// let mut claim = pacer.claim_many(5)?; // slots 1 to 5
    /// assert!(claim.wait_for(Duration::from_millis(60)).is_err());
    /// let grant = claim.wait_for(Duration::from_millis(60))?;
    /// assert_eq!(grant.actual_start().as_nanos(), 100_000_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait_for(&mut self, timeout: Duration) -> Result<Grant, Refused> {
        let limit = self.pacer.now() + timeout;
        self.start_by(limit.signed())
    }

    /// Blocks until the slot is due, but no longer than about `timeout`, and does not start the slot. A change of the
    /// schedule can end the wait early. Use this method if you have to acquire something else, such as a lock, before
    /// you decide whether to [`start`](Claim::start) the slot.
    ///
    /// The method returns at once if the slot is due, has started, or can no longer start. Call `start` to find out
    /// which of these applies.
    ///
    /// ```
    /// use nanopace::{ManualClock, Pacer};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::jumping();
    /// let pacer = Pacer::builder("10/s".parse()?).clock(clock).build();
    /// pacer.acquire()?; // slot 0, at 0 ms
    /// let mut claim = pacer.claim()?; // slot 1
    /// claim.pause_for(Duration::from_millis(60));
    /// assert!(claim.start().is_err());
    /// claim.pause_for(Duration::from_millis(60));
    /// assert_eq!(claim.start()?.actual_start().as_nanos(), 100_000_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pause_for(&mut self, timeout: Duration) {
        if let Some(claimed) = self.held {
            let limit = self.pacer.now() + timeout;
            self.pacer.0.pause_kept(claimed, limit.signed());
        }
    }

    fn start_by(&mut self, limit: i64) -> Result<Grant, Refused> {
        if let Some(grant) = self.started {
            return Ok(grant);
        }
        if self.held.is_none() {
            return Err(self.ended().into());
        }
        let grant = self.pacer.0.start_kept(&mut self.held, limit)?;
        Ok(*self.started.insert(grant))
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        if let Some(claimed) = self.held.take() {
            self.pacer.0.timeline.give_back(&claimed);
        }
    }
}
