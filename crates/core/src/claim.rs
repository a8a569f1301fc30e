//! A slot taken ahead of its start, for callers that pause in their own way.

use crate::timeline::{Claimed, Step};
use crate::{Closed, Grant, Nanos, Pacer, Refused};
use std::time::Duration;

/// A slot that is yours, to be started when it is due. Dropped unstarted, it goes back and someone
/// else gets it.
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
#[must_use = "a claim that is dropped goes back"]
pub struct Claim {
    pacer: Pacer,
    /// None once it has started, or the pacer has been closed.
    held: Option<Claimed>,
    started: Option<Grant>,
}

impl Pacer {
    /// Takes the next slot and returns without pausing, for event loops and timers of your own.
    ///
    /// # Errors
    /// [`Closed`].
    pub fn claim(&self) -> Result<Claim, Closed> {
        // Nothing else can refuse a single slot.
        self.claim_many(1).map_err(|_| Closed)
    }

    /// Takes the next `n` slots in a row and returns without pausing, as
    /// [`acquire_many`](Pacer::acquire_many) does for callers that block. They start as one
    /// operation, and go back together. Zero slots have started already.
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
    /// assert_eq!(pacer.next_due()?, pacer.now() + Duration::from_millis(501));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Refused::Closed`], or [`Refused::TooFarAhead`] when more than 2^44 slots are taken that
    /// are not due yet.
    pub fn claim_many(&self, n: u32) -> Result<Claim, Refused> {
        if n == 0 {
            let started = Some(self.acquire_many(0)?);
            return Ok(Claim { pacer: self.clone(), held: None, started });
        }
        let claimed = self.0.timeline.claim(n.into(), &*self.0.clock)?;
        let held = Some(Claimed { is_fixed: true, ..claimed });
        Ok(Claim { pacer: self.clone(), held, started: None })
    }
}

impl Claim {
    /// When the schedule lets it start, under the rate now in force; [`Nanos::MAX`] while the pacer
    /// is paused. Ask again after a change. Once it has started: when it did.
    ///
    /// # Errors
    /// [`Closed`].
    pub fn due(&self) -> Result<Nanos, Closed> {
        match (&self.held, self.started) {
            (Some(claimed), _) => self.pacer.0.timeline.due(claimed).map(Nanos::from_signed),
            (None, Some(grant)) => Ok(grant.actual_start()),
            (None, None) => Err(Closed),
        }
    }

    /// How long to hold back yet; zero when it is due, or by less than the
    /// [sleep threshold](crate::PacerBuilder::sleep_threshold) before it is.
    ///
    /// # Errors
    /// [`Closed`].
    pub fn delay(&self) -> Result<Duration, Closed> {
        Ok(self.pacer.0.timeline.delay(self.due()?, &*self.pacer.0.clock))
    }

    /// Starts it now, if it is due. Starting again returns the same grant.
    ///
    /// The late policy judges it now, not when it was claimed. Where it is so late that it is
    /// [skipped](crate::PacerBuilder::skip_later_than), the claim goes on with the next slot that
    /// is not.
    ///
    /// # Errors
    /// [`Refused::NotUntil`] and [`Refused::Paused`]; the claim stays yours. [`Refused::Closed`].
    pub fn start(&mut self) -> Result<Grant, Refused> {
        if let Some(grant) = self.started {
            return Ok(grant);
        }
        let (timeline, clock) = (&self.pacer.0.timeline, &*self.pacer.0.clock);
        if self.held.is_none() {
            return Err(Refused::Closed);
        }
        match timeline.begin(&mut self.held, 1, i64::MAX, None, clock)? {
            Step::Start(grant) => Ok(*self.started.insert(grant)),
            Step::Hold(plan) => Err(plan.refusal()),
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let Some(claimed) = self.held.take() {
            self.pacer.0.timeline.give_back(&claimed, &*self.pacer.0.clock);
        }
    }
}
