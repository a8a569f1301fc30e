//! What `acquire` returns.

use crate::Nanos;
use std::fmt;
use std::num::NonZeroU64;
use std::time::Duration;

/// A slot that may start now: how late it is, and when it was meant to start.
///
/// A `Copy` value of two words. The *response time* of the operation includes its wait time, and so
/// hides no stall: it is `end - grant.intended_start()`; see
/// [`response_time`](Grant::response_time).
///
/// ```
/// use nanopace::{ManualClock, Pacer, Rate};
/// use std::time::Duration;
///
/// let clock = ManualClock::new();
/// let pacer = Pacer::builder(Rate::per_second(10)?).clock(clock.clone()).build();
/// clock.advance(Duration::from_millis(30)); // the caller comes 30 ms late,
/// let grant = pacer.acquire()?;
/// clock.advance(Duration::from_millis(5)); // and its operation takes 5 ms
/// assert_eq!(grant.wait_time(), Duration::from_millis(30));
/// assert_eq!(grant.response_time(pacer.now()), Duration::from_millis(35));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    intended_ns: u64,
    start: Stamp,
}

/// A moment, doubled and made odd: so a `Result` of a grant is no larger than a grant, and comes
/// back in two registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp(NonZeroU64);

impl Stamp {
    #[inline]
    pub(crate) fn new(nanos: u64) -> Stamp {
        Stamp(NonZeroU64::MIN | nanos << 1)
    }

    #[inline]
    fn nanos(self) -> u64 {
        self.0.get() >> 1
    }
}

impl Default for Stamp {
    fn default() -> Stamp {
        Stamp::new(0)
    }
}

impl Grant {
    /// Both within the range of [`Nanos`].
    #[inline]
    pub(crate) fn new(intended_ns: u64, start: Stamp) -> Grant {
        Grant { intended_ns, start }
    }

    /// Intended and started at these moments of the schedule.
    pub(crate) fn at(intended: i64, start: i64) -> Grant {
        let nanos = |moment| Nanos::from_signed(moment).as_nanos();
        Grant::new(nanos(intended), Stamp::new(nanos(start)))
    }

    /// How late the operation starts: actual start minus intended start, never negative.
    ///
    /// Never more than the truth. Exact where a late policy is set: a strictness other than 0, a
    /// maximum backlog, or a limit beyond which slots are skipped. Otherwise slots that are due may
    /// be granted on a reading of the clock that was made for an earlier one: as many as callers,
    /// at the pace at which they really come, take within 10 us, and at most 2048. So a wait time
    /// is at most some 10 us too short while callers go on at their pace; and where they stop right
    /// after a grant, the next few of that reading say nothing of the stop: 2048 at most, or as
    /// many as had been taken within 10 us. Slots that are taken 10 us apart or more have a reading
    /// each: [`Pacer::acquire`](crate::Pacer::acquire) goes by the pace of all its callers
    /// together, a [`Lane`](crate::Lane) by its own.
    #[must_use]
    #[inline]
    pub fn wait_time(self) -> Duration {
        Duration::from_nanos(self.wait_nanos())
    }

    /// [`wait_time`](Grant::wait_time) in nanoseconds.
    #[must_use]
    #[inline]
    pub fn wait_nanos(self) -> u64 {
        self.start.nanos().saturating_sub(self.intended_ns)
    }

    /// When the schedule says that the operation starts.
    ///
    /// It is settled: no change of rate, pause or policy moves it any more.
    #[must_use]
    #[inline]
    pub fn intended_start(self) -> Nanos {
        Nanos::from_nanos(self.intended_ns)
    }

    /// When it was allowed to start: intended start plus wait time. With a [sleep
    /// threshold](crate::PacerBuilder::sleep_threshold) it may lie before the intended start, by
    /// less than that.
    #[must_use]
    #[inline]
    pub fn actual_start(self) -> Nanos {
        Nanos::from_nanos(self.start.nanos())
    }

    /// The response time of an operation that completed at `end`: completion minus intended start.
    #[must_use]
    #[inline]
    pub fn response_time(self, end: Nanos) -> Duration {
        end - self.intended_start()
    }
}

impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grant")
            .field("wait_time", &self.wait_time())
            .field("intended_start", &self.intended_start())
            .finish()
    }
}
