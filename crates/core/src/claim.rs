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
        Claim::new(self.clone())
    }
}

impl Claim {
    pub(crate) fn new(pacer: Pacer) -> Result<Claim, Closed> {
        let claimed = pacer.0.timeline.claim(&*pacer.0.clock)?;
        Ok(Claim { pacer, held: Some(Claimed { is_fixed: true, ..claimed }), started: None })
    }

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
