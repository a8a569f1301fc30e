//! Defines the pacer, from which callers claim slots. Its submodules change the pacer's load and query its state.

mod changes;
mod queries;

use crate::engine::Engine;
use crate::timeline::{Attempt, NotGranted};
use crate::{Ended, Grant, Nanos, Refused};
use std::sync::Arc;
use std::time::Duration;

/// Paces operations: each [`acquire`](Pacer::acquire) blocks until the next slot may start, and returns a grant, which
/// reports how late the start is.
///
/// Clones are handles to the same pacer. Every method takes a shared reference and can be called from any number of
/// threads. No method panics, unless your own clock, curve, recording or waker panics. A worker that starts many
/// operations is usually fastest with its own [`Lane`](crate::Lane).
///
/// Most callers need only `acquire`. [`try_acquire`](Pacer::try_acquire) never waits for a slot.
/// [`acquire_timeout`](Pacer::acquire_timeout) and [`acquire_deadline`](Pacer::acquire_deadline) limit the waiting
/// time. [`acquire_many`](Pacer::acquire_many) claims several slots for one operation. [`claim`](Pacer::claim) claims a
/// slot and leaves the pausing to you.
///
/// By default the schedule depends on the rate and not on the target: an *open loop*. Response times are measured from
/// the intended start, which avoids *coordinated omission* (Gil Tene, "How NOT to Measure Latency"). A
/// [`Strictness`](crate::Strictness) sets how a late start affects the slots after it.
///
/// ```
/// use nanopace::{Pacer, Rate};
///
/// let pacer = Pacer::new(Rate::per_second(2_000)?);
/// for _ in 0..10 {
///     let grant = pacer.acquire()?;
///     // ... the operation ...
///     let response_time = grant.response_time(pacer.now());
///     assert!(response_time >= grant.wait_time());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pacer(pub(crate) Arc<Engine>);

impl Pacer {
    /// Claims the next slot, blocks until it may start, and returns a grant, which reports how late the start is.
    ///
    /// A slot that is known to be due costs one atomic addition and no reading of the clock. With random or recorded
    /// arrivals, it costs a compare-and-swap instead of the addition. If a late policy is set, each start has its own
    /// clock reading and acquires a lock.
    ///
    /// # Errors
    /// Returns [`Ended`] as soon as the pacer is closed or its schedule has no slot left. Callers that are asleep get
    /// this error as soon as their slots can no longer start.
    ///
    /// # Examples
    /// ```
    /// use nanopace::{ManualClock, Pacer};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::jumping(); // a pause moves it to the end of the pause
    /// let pacer = Pacer::builder("10/s".parse()?).clock(clock.clone()).build();
    ///
    /// let on_time = pacer.acquire()?; // slot 0, intended at 0 ms
    /// assert_eq!(on_time.wait_time(), Duration::ZERO);
    ///
    /// clock.advance(Duration::from_millis(130)); // its operation takes 130 ms
    /// let late = pacer.acquire()?; // slot 1, intended at 100 ms
    /// assert_eq!(late.wait_time(), Duration::from_millis(30));
    ///
    /// pacer.acquire()?; // slot 2, intended at 200 ms: held back for 70 ms
    /// assert_eq!(pacer.now().as_nanos(), 200_000_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn acquire(&self) -> Result<Grant, Ended> {
        let not_granted = match self.0.timeline.claim_fast() {
            Ok(grant) => return Ok(grant),
            Err(not_granted) => not_granted,
        };
        let mut grant = Grant::NONE;
        match not_granted {
            NotGranted::Claimed(position) => self.0.start_claimed(position, &mut grant)?,
            NotGranted::NotClaimed => self.0.start_next(&mut grant)?,
        }
        Ok(grant)
    }

    /// Claims the next `n` slots as one operation, and blocks until the operation may start. Use this method for
    /// operations whose size is counted in bytes, rows or requests.
    ///
    /// The operation is due at the intended start of the first slot, and the next caller's slot follows `n` intervals
    /// later. A row of two or more slots begins after the last claimed slot. Earlier slots that were given back are
    /// left to callers of single slots. With `n` = 1, this method does the same as [`acquire`](Pacer::acquire). With
    /// `n` = 0, it claims no slot and returns at once, even while the pacer is paused.
    ///
    /// # Errors
    /// Returns [`Refused::Closed`], [`Refused::Finished`] if the schedule has fewer than `n` slots left, or
    /// [`Refused::TooFarAhead`] if `n` is 2 or more, and more than 2^44 slots that are not due yet have been claimed.
    ///
    /// # Examples
    /// ```
    /// use nanopace::{ManualClock, Pacer};
    ///
    /// let clock = ManualClock::jumping();
    /// let pacer = Pacer::builder("1M/s".parse()?).clock(clock).build(); // 1 MB/s: one slot per byte
    ///
    /// let first = pacer.acquire_many(1_500)?; // slots 0 to 1 499
    /// let second = pacer.acquire_many(500)?; // slots 1 500 to 1 999
    /// assert_eq!(first.actual_start().as_nanos(), 0);
    /// assert_eq!(second.actual_start().as_nanos(), 1_500_000); // 1 500 intervals of 1 us later
    /// assert_eq!(pacer.ledger().granted, 2_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn acquire_many(&self, n: u32) -> Result<Grant, Refused> {
        match n {
            0 => Ok(self.start_nothing()?),
            1 => Ok(self.acquire()?),
            _ => self.0.start(Attempt::new(n.into(), i64::MAX)),
        }
    }

    #[cold]
    fn start_nothing(&self) -> Result<Grant, Ended> {
        if self.is_closed() {
            return Err(Ended::Closed);
        }
        Ok(self.0.timeline.start_now(&*self.0.clock))
    }

    /// Starts the next slot if it is due now. Otherwise claims no slot, and returns the time at which the slot can be
    /// granted. This method never blocks.
    ///
    /// # Errors
    /// Returns [`Refused::NotUntil`] with that time on the pacer's clock, [`Refused::Paused`], [`Refused::Finished`]
    /// or [`Refused::Closed`].
    ///
    /// # Examples
    /// ```
    /// use nanopace::{ManualClock, Nanos, Pacer, Refused};
    ///
    /// let clock = ManualClock::new();
    /// let pacer = Pacer::builder("10/s".parse()?).clock(clock.clone()).build();
    ///
    /// assert!(pacer.try_acquire().is_ok()); // slot 0, due now
    /// let when = Nanos::from_nanos(100_000_000); // slot 1 is due at 100 ms
    /// assert_eq!(pacer.try_acquire(), Err(Refused::NotUntil(when)));
    ///
    /// clock.set(when);
    /// assert!(pacer.try_acquire().is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn try_acquire(&self) -> Result<Grant, Refused> {
        let not_granted = match self.0.timeline.try_claim_fast() {
            Ok(grant) => return Ok(grant),
            Err(not_granted) => not_granted,
        };
        let mut grant = Grant::NONE;
        match not_granted {
            NotGranted::Claimed(position) => self.0.start_claimed_if_due(position, &mut grant)?,
            NotGranted::NotClaimed => self.0.start_next_if_due(&mut grant)?,
        }
        Ok(grant)
    }

    /// Starts the next `n` slots as one operation if the first of them is due now, as
    /// [`acquire_many`](Pacer::acquire_many) does. Otherwise claims no slot. This method never blocks.
    ///
    /// ```
    /// use nanopace::{ManualClock, Pacer, Rate, Refused};
    ///
    /// let pacer = Pacer::builder(Rate::per_second(10)?).clock(ManualClock::new()).build();
    /// assert!(pacer.try_acquire_many(20).is_ok()); // slot 0 is due now
    /// assert!(matches!(pacer.try_acquire_many(1), Err(Refused::NotUntil(_)))); // slot 20 in 2 s
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`try_acquire`](Pacer::try_acquire), or [`Refused::TooFarAhead`] as `acquire_many` does.
    #[inline]
    pub fn try_acquire_many(&self, n: u32) -> Result<Grant, Refused> {
        match n {
            0 => Ok(self.start_nothing()?),
            1 => self.try_acquire(),
            _ => self.0.start(Attempt::if_due(n.into())),
        }
    }

    /// Acquires a slot like [`acquire`](Pacer::acquire), but gives up if the slot can't start within `timeout` after
    /// the call.
    ///
    /// With a timeout of zero, this method grants only a slot that is due now.
    ///
    /// # Errors
    /// Returns the errors of [`acquire_deadline`](Pacer::acquire_deadline).
    ///
    /// # Examples
    /// ```
    /// use nanopace::{ManualClock, Nanos, Pacer, Refused};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::jumping();
    /// let pacer = Pacer::builder("10/s".parse()?).clock(clock).build();
    /// pacer.acquire()?; // slot 0, at 0 ms; slot 1 is due at 100 ms
    ///
    /// let refused = pacer.acquire_timeout(Duration::from_millis(99));
    /// assert_eq!(refused, Err(Refused::NotUntil(Nanos::from_nanos(100_000_000))));
    /// assert_eq!(pacer.now(), Nanos::ZERO); // refused at once, and slot 1 was not taken
    ///
    /// let grant = pacer.acquire_timeout(Duration::from_millis(100))?;
    /// assert_eq!(grant.actual_start().as_nanos(), 100_000_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn acquire_timeout(&self, timeout: Duration) -> Result<Grant, Refused> {
        self.acquire_deadline(self.now() + timeout)
    }

    /// Acquires a slot like [`acquire`](Pacer::acquire), but gives up if the slot can't start by `deadline`, a time on
    /// the pacer's clock.
    ///
    /// The call gives up as soon as the slot certainly cannot start in time: at once, after a change of the schedule,
    /// or at the deadline. A call that gives up has claimed no slot. A slot that is due now is granted, even if the
    /// deadline has passed.
    ///
    /// # Errors
    /// Returns [`Refused::NotUntil`], [`Refused::Finished`], [`Refused::Closed`], or [`Refused::Paused`] if the pacer
    /// is still paused at the deadline.
    ///
    /// # Examples
    /// ```
    /// use nanopace::{ManualClock, Nanos, Pacer, Refused};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::jumping();
    /// let pacer = Pacer::builder("10/s".parse()?).clock(clock.clone()).build();
    /// clock.advance(Duration::from_millis(50));
    /// assert!(pacer.acquire_deadline(Nanos::ZERO).is_ok()); // slot 0 is due now
    ///
    /// let at = |ms: u64| Nanos::from_nanos(ms * 1_000_000);
    /// assert_eq!(pacer.acquire_deadline(at(99)), Err(Refused::NotUntil(at(100))));
    /// assert_eq!(pacer.acquire_deadline(at(100))?.actual_start(), at(100));
    ///
    /// pacer.pause();
    /// assert_eq!(pacer.acquire_deadline(at(1_000)), Err(Refused::Paused));
    /// assert_eq!(pacer.now(), at(1_000)); // not before: it might have been resumed in time
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn acquire_deadline(&self, deadline: Nanos) -> Result<Grant, Refused> {
        self.0.start(Attempt::new(1, deadline.signed()))
    }
}
