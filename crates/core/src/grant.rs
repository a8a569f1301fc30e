//! What `acquire` returns.

use crate::Nanos;
use crate::timeline::Timeline;
use std::fmt;
use std::time::Duration;

/// A slot that may start now: how late it is, and when it was meant to start.
///
/// A small `Copy` value. The *response time* of the operation, which includes its wait time and so hides no stall,
/// is `end - grant.intended_start()`; see [`response_time`](Grant::response_time).
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
///
/// [`Pacer::acquire`](crate::Pacer::acquire) leaves the conversion of a slot into nanoseconds to whoever asks, because on its
/// hot path a multiplication costs more than the rest; so a grant borrows the pacer. [`settled`](Grant::settled) makes
/// one that borrows nothing, and all other ways to a grant return such ones. Ask within some dozens of rate changes: the
/// pacer remembers exact intended starts across that many.
#[derive(Clone, Copy)]
pub struct Grant<'p> {
    /// The slot's position, or its intended start once that is settled.
    slot: u64,
    /// When it was allowed to start.
    start: u64,
    state: State<'p>,
}

/// Who knows the intended start.
#[derive(Clone, Copy)]
enum State<'p> {
    /// The timeline that the slot is of; a due slot is not held back.
    Due(&'p Timeline),
    Settled {
        paused_ns: u64,
    },
}

impl<'p> Grant<'p> {
    /// A slot that was seen to be due at `seen`.
    #[inline]
    pub(crate) fn due(timeline: &'p Timeline, position: u64, seen: u64) -> Grant<'p> {
        Grant { slot: position, start: seen, state: State::Due(timeline) }
    }
}

impl Grant<'static> {
    #[inline]
    pub(crate) fn new(intended_start: u64, start: u64, paused_ns: u64) -> Grant<'static> {
        Grant { slot: intended_start, start, state: State::Settled { paused_ns } }
    }
}

impl Grant<'_> {
    /// How late the operation starts: actual start minus intended start, never negative.
    ///
    /// Exact to the clock whenever this call read it. A slot that was due already when somebody last read it is granted on that
    /// reading, and then this is a lower bound. How many slots go by on one reading is bounded: by 10 us of schedule, or a
    /// 64th of the lateness, and by 1024; how old it gets is up to how fast the callers come. Below 100 k/s and less than 64
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
        self.start.saturating_sub(self.intended_start().as_nanos())
    }

    /// When the schedule says that the operation starts.
    #[must_use]
    #[inline]
    pub fn intended_start(self) -> Nanos {
        match self.state {
            State::Due(timeline) => Nanos::from_signed(timeline.intended(self.slot, self.start)),
            State::Settled { .. } => Nanos::from_nanos(self.slot),
        }
    }

    /// When it was allowed to start: intended start plus wait time.
    #[must_use]
    #[inline]
    pub fn actual_start(self) -> Nanos {
        Nanos::from_nanos(self.start).max(self.intended_start())
    }

    /// How long the caller, being early, was held back.
    #[must_use]
    #[inline]
    pub fn paused(self) -> Duration {
        Duration::from_nanos(match self.state {
            State::Due(_) => 0,
            State::Settled { paused_ns } => paused_ns,
        })
    }

    /// The response time of an operation that completed at `end`: completion minus intended start.
    #[must_use]
    #[inline]
    pub fn response_time(self, end: Nanos) -> Duration {
        end - self.intended_start()
    }

    /// The same grant, borrowing nothing.
    #[must_use]
    #[inline]
    pub fn settled(self) -> Grant<'static> {
        match self.state {
            State::Due(_) => Grant::new(self.intended_start().as_nanos(), self.start, 0),
            State::Settled { paused_ns } => Grant::new(self.slot, self.start, paused_ns),
        }
    }
}

impl fmt::Debug for Grant<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grant")
            .field("wait_time", &self.wait_time())
            .field("intended_start", &self.intended_start())
            .field("paused", &self.paused())
            .finish()
    }
}

impl PartialEq for Grant<'_> {
    fn eq(&self, other: &Self) -> bool {
        let key = |grant: &Self| (grant.wait_nanos(), grant.intended_start(), grant.paused());
        key(self) == key(other)
    }
}

impl Eq for Grant<'_> {}
