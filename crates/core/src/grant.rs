//! What `acquire` returns.

use crate::Nanos;
use crate::timeline::Timeline;
use std::fmt;
use std::num::NonZeroU64;
use std::time::Duration;

/// A slot that may start now: how late it is, and when it was meant to start.
///
/// A `Copy` value of two words. The *response time* of the operation, which includes its wait time and so hides no stall,
/// is `end - grant.intended_start()`; see [`response_time`](Grant::response_time).
///
/// ```
/// use nanopace::{ManualClock, Pacer, Rate};
/// use std::time::Duration;
///
/// let clock = ManualClock::new();
/// let pacer = Pacer::builder(Rate::per_second(10)?).clock(clock.clone()).build();
/// let mut lane = pacer.lane();
/// clock.advance(Duration::from_millis(30)); // the caller comes 30 ms late,
/// let grant = lane.acquire()?;
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

/// A moment, doubled and made odd: so a `Result` of a grant is no larger than a grant, and comes back in two registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp(NonZeroU64);

impl Stamp {
    #[inline]
    pub(crate) fn new(nanos: u64) -> Stamp {
        Stamp(NonZeroU64::MIN | nanos << 1)
    }

    #[inline]
    pub(crate) fn nanos(self) -> u64 {
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

    /// Takes nothing: intended and allowed to start at `now`.
    pub(crate) fn at(now: Nanos) -> Grant {
        Grant::new(now.as_nanos(), Stamp::new(now.as_nanos()))
    }

    /// How late the operation starts: actual start minus intended start, never negative.
    ///
    /// Exact to the clock whenever this call read it. A slot that was due already when somebody last read it is granted on that
    /// reading, and then this is a lower bound. How many slots go by on one reading is bounded: by 10 us of schedule, or a
    /// 64th of the lateness, and by 2048; how old it gets is up to how fast the callers come. Below 100 k/s and less than 64
    /// slots late, every call reads the clock.
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
    #[must_use]
    #[inline]
    pub fn intended_start(self) -> Nanos {
        Nanos::from_nanos(self.intended_ns)
    }

    /// When it was allowed to start: intended start plus wait time.
    #[must_use]
    #[inline]
    pub fn actual_start(self) -> Nanos {
        Nanos::from_nanos(self.start.nanos()).max(self.intended_start())
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

/// A [`Grant`] whose nanoseconds are worked out when they are asked for.
///
/// [`Pacer::acquire`](crate::Pacer::acquire) leaves that to whoever asks, because on its hot path a multiplication costs more
/// than the rest. So it borrows the pacer; [`settled`](LazyGrant::settled) makes the plain grant of it. Ask within some dozens of
/// rate changes: the pacer remembers exact intended starts across that many.
///
/// ```
/// use nanopace::{ManualClock, Pacer, Rate};
/// use std::time::Duration;
///
/// let clock = ManualClock::new();
/// let pacer = Pacer::builder(Rate::per_second(10)?).clock(clock.clone()).build();
/// clock.advance(Duration::from_millis(30));
/// let grant = pacer.acquire()?;
/// assert_eq!(grant.wait_time(), Duration::from_millis(30));
/// assert_eq!(grant.settled().intended_start(), grant.intended_start());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct LazyGrant<'p>(Lazy<'p>);

#[derive(Clone, Copy)]
enum Lazy<'p> {
    /// A slot that was seen to be due at `seen`.
    Due {
        timeline: &'p Timeline,
        position: u64,
        seen: u64,
    },
    Settled(Grant),
}

impl<'p> LazyGrant<'p> {
    #[inline]
    pub(crate) fn due(timeline: &'p Timeline, position: u64, seen: u64) -> LazyGrant<'p> {
        LazyGrant(Lazy::Due { timeline, position, seen })
    }

    /// The grant itself, borrowing nothing.
    #[must_use]
    #[inline]
    pub fn settled(self) -> Grant {
        match self.0 {
            Lazy::Due { timeline, position, seen } => {
                let intended = Nanos::from_signed(timeline.intended(position, seen));
                Grant::new(intended.as_nanos(), Stamp::new(seen))
            }
            Lazy::Settled(grant) => grant,
        }
    }

    /// How late the operation starts; see [`Grant::wait_time`].
    #[must_use]
    #[inline]
    pub fn wait_time(self) -> Duration {
        self.settled().wait_time()
    }

    /// [`wait_time`](LazyGrant::wait_time) in nanoseconds.
    #[must_use]
    #[inline]
    pub fn wait_nanos(self) -> u64 {
        self.settled().wait_nanos()
    }

    /// When the schedule says that the operation starts.
    #[must_use]
    #[inline]
    pub fn intended_start(self) -> Nanos {
        self.settled().intended_start()
    }

    /// When it was allowed to start: intended start plus wait time.
    #[must_use]
    #[inline]
    pub fn actual_start(self) -> Nanos {
        self.settled().actual_start()
    }

    /// The response time of an operation that completed at `end`: completion minus intended start.
    #[must_use]
    #[inline]
    pub fn response_time(self, end: Nanos) -> Duration {
        self.settled().response_time(end)
    }
}

impl PartialEq for LazyGrant<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.settled() == other.settled()
    }
}

impl Eq for LazyGrant<'_> {}

impl From<Grant> for LazyGrant<'_> {
    #[inline]
    fn from(grant: Grant) -> Self {
        LazyGrant(Lazy::Settled(grant))
    }
}

impl From<LazyGrant<'_>> for Grant {
    #[inline]
    fn from(grant: LazyGrant<'_>) -> Grant {
        grant.settled()
    }
}

impl fmt::Debug for LazyGrant<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.settled().fmt(f)
    }
}
