//! A slot taken ahead of its start, for callers that pause in their own way.

use crate::grant::Stamp;
use crate::pacer::Turn;
use crate::{Closed, Grant, Nanos, Pacer, Refused};
use std::time::Duration;

/// A slot that is yours, to be started when it is due. Dropped unstarted, it goes back and someone else gets it.
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
    turn: Turn,
    started: Option<Grant>,
}

impl Claim {
    pub(crate) fn new(pacer: Pacer) -> Result<Claim, Closed> {
        let position = pacer.0.timeline.claim(1, &*pacer.0.clock)?.0;
        let mut turn = Turn::single(position);
        let plan = pacer.0.admit(&mut turn, || ())?;
        pacer.0.timeline.refresh(turn.position, 1, &plan);
        Ok(Claim { pacer, turn, started: None })
    }

    /// When it may start, under the rate now in force; [`Nanos::MAX`] while the pacer is paused. Ask again after a change.
    ///
    /// # Errors
    /// [`Closed`].
    pub fn due(&self) -> Result<Nanos, Closed> {
        let plan = self.pacer.0.timeline.plan(self.turn.position, &*self.pacer.0.clock)?;
        Ok(Nanos::from_signed(plan.release))
    }

    /// How long to hold back yet; zero when it is due.
    ///
    /// # Errors
    /// [`Closed`].
    pub fn delay(&self) -> Result<Duration, Closed> {
        Ok(self.due()? - self.pacer.now())
    }

    /// Starts it now, if it is due. Starting again returns the same grant.
    ///
    /// # Errors
    /// [`Refused::NotUntil`], [`Refused::Paused`] or [`Refused::Closed`]; the claim stays yours.
    pub fn start(&mut self) -> Result<Grant, Refused> {
        if let Some(grant) = self.started {
            return Ok(grant);
        }
        let plan = self.pacer.0.timeline.plan(self.turn.position, &*self.pacer.0.clock)?;
        if !plan.is_due() {
            return Err(plan.refusal());
        }
        let nanos = |moment| Nanos::from_signed(moment).as_nanos();
        Ok(*self.started.insert(Grant::new(nanos(plan.intended), Stamp::new(nanos(plan.now)))))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if self.started.is_none() {
            self.pacer.0.give_back(&self.turn);
        }
    }
}
