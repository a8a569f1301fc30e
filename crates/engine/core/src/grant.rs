//! Defines the grant: a slot that was handed out, with its intended start and its actual start.

use crate::Nanos;
use std::fmt;
use std::num::NonZeroU64;
use std::time::Duration;

/// A slot that may start now. A grant contains the number of the slot, its intended start and its actual start.
///
/// A grant is a `Copy` value of three words. Times are [`Nanos`] on the pacer's clock.
///
/// The *response time* of an operation is its end minus its intended start. It includes the wait time, and therefore
/// the stalls of the target that delayed the start. The *service time* of an operation is its end minus its actual
/// start. The service time leaves those stalls out. Reporting the service time as the response time is called
/// *coordinated omission* (Gil Tene). See [`response_time`](Grant::response_time).
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
    slot: u64,
}

/// A time in nanoseconds, stored as 2t + 1: never zero, so that a `Result` of a grant is no larger than a grant.
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
    pub(crate) const NONE: Grant =
        Grant { intended_ns: 0, start: Stamp(NonZeroU64::MIN), slot: u64::MAX };

    /// Both times must be within the range of [`Nanos`].
    #[inline]
    pub(crate) fn new(intended_ns: u64, start: Stamp, slot: u64) -> Grant {
        Grant { intended_ns, start, slot }
    }

    pub(crate) fn at(intended: i64, start: i64, slot: u64) -> Grant {
        let nanos = |moment| Nanos::from_signed(moment).as_nanos();
        Grant::new(nanos(intended), Stamp::new(nanos(start)), slot)
    }

    /// Returns the slot's number in the whole load, counted from 0. You can choose the operation by this number: its
    /// request, its row of data or its random numbers. If several slots were claimed at once, this is the number of
    /// the first one. A grant of no slots ([`acquire_many`](crate::Pacer::acquire_many) with zero) has the number
    /// `u64::MAX`.
    ///
    /// No two other grants of a pacer have the same number, whichever call, lane or claim they come from. If several
    /// processes share a load, each number belongs to exactly one of the load's [shards](crate::Shard). Slots are
    /// numbered in the order of their intended starts. The exception is two slots on a curve whose exact starts are
    /// less than a nanosecond apart: their intended starts may be in the opposite order, a nanosecond apart.
    ///
    /// The number counts slots and does not depend on time: after [`set_rate`](crate::Pacer::set_rate),
    /// [`set_shape`](crate::Pacer::set_shape) or a pause, the next slot has the next number, whenever it starts. A slot
    /// that was [skipped](crate::PacerBuilder::skip_later_than) also has a number, which no grant has. The numbers of
    /// grants therefore have gaps where slots were skipped, were claimed together, or belong to another process.
    ///
    /// ```
    /// use nanopace::{ManualClock, Pacer, Shard};
    /// use std::time::Duration;
    ///
    /// let requests = ["/a", "/b", "/c"];
    /// let clock = ManualClock::jumping();
    /// let second_of_two = Pacer::builder("1k/s".parse()?).shard(Shard::new(1, 2)?);
    /// let pacer = second_of_two.clock(clock.clone()).build();
    /// let mut slots = Vec::new();
    /// for _ in 0..3 {
    ///     let slot = pacer.acquire()?.slot();
    ///     let _request = requests[slot as usize % requests.len()];
    ///     slots.push(slot);
    /// }
    /// pacer.set_rate("2k/s".parse()?);
    /// slots.push(pacer.acquire()?.slot());
    /// assert_eq!(slots, [1, 3, 5, 7]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn slot(self) -> u64 {
        self.slot
    }

    /// Returns how late the operation starts: actual start minus intended start. The result is never negative.
    ///
    /// The result is never more than the true wait time. It is exact if a late policy is set: a strictness other than
    /// 0, a maximum backlog, or a limit beyond which slots are skipped.
    /// [Limitations](crate::_documentation::limitations) lists rare exceptions.
    ///
    /// Without a late policy, slots that are due may be granted with a reading of the clock that was taken for an
    /// earlier slot. One reading serves at most 2048 slots, and no more than callers claim within 10 us at their
    /// measured pace. While callers keep their pace, a wait time is therefore too short by at most about 10 us. If
    /// callers stop or become slower right after a grant, the wait times of the remaining slots with that reading do
    /// not include the time that has passed since the reading, however long it is. After these slots, slots that are
    /// claimed 10 us or more apart have a clock reading each.
    /// [`Pacer::acquire`](crate::Pacer::acquire) uses the pace of all its callers together, and a [`Lane`](crate::Lane)
    /// uses its own pace.
    ///
    /// ```
    /// use nanopace::{ManualClock, Pacer};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let pacer = Pacer::builder("10/s".parse()?).clock(clock.clone()).build();
    /// clock.advance(Duration::from_millis(250));
    /// assert_eq!(pacer.acquire()?.wait_time(), Duration::from_millis(250)); // slot 0
    /// assert_eq!(pacer.acquire()?.wait_time(), Duration::from_millis(150)); // slot 1
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn wait_time(self) -> Duration {
        Duration::from_nanos(self.wait_nanos())
    }

    /// Returns [`wait_time`](Grant::wait_time) in nanoseconds, for histograms.
    #[must_use]
    #[inline]
    pub fn wait_nanos(self) -> u64 {
        self.start.nanos().saturating_sub(self.intended_ns)
    }

    /// Returns the time at which the operation should start according to the schedule.
    ///
    /// This time is final: later changes of the rate, pauses and policies do not move it.
    ///
    /// ```
    /// use nanopace::{ManualClock, Pacer};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let pacer = Pacer::builder("10/s".parse()?).clock(clock.clone()).build();
    /// clock.advance(Duration::from_millis(150));
    /// pacer.acquire()?; // slot 0
    /// let grant = pacer.acquire()?; // slot 1
    /// pacer.set_rate("1/s".parse()?);
    /// assert_eq!(grant.intended_start().as_nanos(), 100_000_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn intended_start(self) -> Nanos {
        Nanos::from_nanos(self.intended_ns)
    }

    /// Returns the time at which the operation was allowed to start: intended start plus wait time. With a [sleep
    /// threshold](crate::PacerBuilder::sleep_threshold), an operation can start early: its actual start is then before
    /// its intended start, by less than the threshold.
    #[must_use]
    #[inline]
    pub fn actual_start(self) -> Nanos {
        Nanos::from_nanos(self.start.nanos())
    }

    /// Returns the response time of an operation that completed at `end`: `end` minus intended start. Returns zero if
    /// `end` is earlier than the intended start.
    ///
    /// Read `end` from [`Pacer::now`](crate::Pacer::now).
    ///
    /// ```
    /// use nanopace::{ManualClock, Pacer};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let pacer = Pacer::builder("10/s".parse()?).clock(clock.clone()).build();
    /// pacer.acquire()?; // slot 0, at 0 s
    /// clock.advance(Duration::from_secs(1)); // its operation stalls for 1 s
    ///
    /// let grant = pacer.acquire()?; // slot 1, intended at 0.1 s
    /// clock.advance(Duration::from_millis(5)); // its operation takes 5 ms,
    /// // but the user had to wait for the stall to end.
    /// assert_eq!(grant.response_time(pacer.now()), Duration::from_millis(905));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn response_time(self, end: Nanos) -> Duration {
        end - self.intended_start()
    }

    /// Returns the service time of an operation that completed at `end`: `end` minus actual start. Returns zero if
    /// `end` is earlier than the actual start. A service time hides the stalls that delayed the start. Report the
    /// [`response_time`](Grant::response_time) instead, which includes the wait time.
    ///
    /// ```
    /// use nanopace::{ManualClock, Pacer};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let pacer = Pacer::builder("10/s".parse()?).clock(clock.clone()).build();
    /// clock.advance(Duration::from_millis(30)); // the caller comes 30 ms late,
    /// let grant = pacer.acquire()?;
    /// clock.advance(Duration::from_millis(5)); // and its operation takes 5 ms
    /// let end = pacer.now();
    /// assert_eq!(grant.service_time(end), Duration::from_millis(5));
    /// assert_eq!(grant.wait_time() + grant.service_time(end), grant.response_time(end));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn service_time(self, end: Nanos) -> Duration {
        end - self.actual_start()
    }
}

impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grant")
            .field("slot", &self.slot())
            .field("wait_time", &self.wait_time())
            .field("intended_start", &self.intended_start())
            .finish()
    }
}
