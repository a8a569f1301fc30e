//! Implements a clock that tests move.

use crate::sync::{Acquire, AtomicU64, Mutex, Release, lock, yield_now};
use crate::{Clock, Nanos, Parker, Unparker};
use std::sync::Arc;
use std::time::Duration;

/// A clock for tests and simulations, which does not follow real time. Clones share the same time.
///
/// A thread that parks on this clock sleeps until another thread has moved the clock far enough, or has unparked it. A
/// pause on a clock from [`jumping`](ManualClock::jumping) does not sleep: it moves the clock to the end of the pause
/// and returns at once. One thread can therefore run through a year of schedule without sleeping. On a jumping clock,
/// only a pause until [`Nanos::MAX`] sleeps.
///
/// ```
/// use nanopace_nanos::{Clock, ManualClock, Nanos, Parker};
/// use std::time::Duration;
///
/// let (clock, parker) = (ManualClock::jumping(), Parker::new());
/// for _ in 0..365 {
///     clock.park(&parker, clock.now() + Duration::from_secs(60 * 60 * 24));
/// }
/// assert_eq!(clock.now(), Nanos::ZERO + Duration::from_secs(60 * 60 * 24 * 365));
/// ```
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// The current time. It changes only under the lock; `now` reads it without the lock.
    now: AtomicU64,
    jumping: bool,
    /// The number of the last registered sleeper, and the sleeping threads.
    sleepers: Mutex<(u64, Vec<Parked>)>,
}

#[derive(Debug)]
struct Parked {
    number: u64,
    until: Nanos,
    unparker: Unparker,
}

impl Default for ManualClock {
    fn default() -> ManualClock {
        ManualClock::new()
    }
}

impl ManualClock {
    /// Creates a clock at [`Nanos::ZERO`] that moves only by [`advance`](ManualClock::advance) and
    /// [`set`](ManualClock::set).
    ///
    /// ```
    /// use nanopace_nanos::{Clock, ManualClock, Nanos, Parker};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// assert_eq!(clock.now(), Nanos::ZERO);
    /// let end = Nanos::ZERO + Duration::from_millis(100);
    /// std::thread::scope(|scope| {
    ///     let sleeper = scope.spawn(|| clock.park(&Parker::new(), end));
    ///     clock.advance(Duration::from_millis(100));
    ///     sleeper.join().unwrap();
    /// });
    /// assert_eq!(clock.now(), end);
    /// ```
    #[must_use]
    pub fn new() -> ManualClock {
        ManualClock::with(false)
    }

    /// Creates a clock at [`Nanos::ZERO`]. Each pause that ends before [`Nanos::MAX`] moves the clock to its end and
    /// returns at once.
    #[must_use]
    pub fn jumping() -> ManualClock {
        ManualClock::with(true)
    }

    fn with(jumping: bool) -> ManualClock {
        ManualClock(Arc::new(Inner {
            now: AtomicU64::new(0),
            jumping,
            sleepers: Mutex::new((0, Vec::new())),
        }))
    }

    /// Moves the clock forward by `span`, at most to [`Nanos::MAX`], and wakes the threads whose pauses end by then.
    pub fn advance(&self, span: Duration) {
        self.move_to(|now| now + span);
    }

    /// Moves the clock to `moment`, unless the clock has passed that time already, and wakes the threads whose pauses
    /// end by then.
    pub fn set(&self, moment: Nanos) {
        self.move_to(|now| now.max(moment));
    }

    fn move_to(&self, target: impl FnOnce(Nanos) -> Nanos) {
        let mut sleepers = lock(&self.0.sleepers);
        let now = target(self.now());
        // Release: pairs with `now`'s Acquire, so that a thread which sees the clock moved also sees everything that
        // was done before that. Model: `nothing_bursts_at_the_old_speed`.
        self.0.now.store(now.as_nanos(), Release);
        sleepers.1.retain(|sleeper| {
            let sleeps_on = sleeper.until > now;
            if !sleeps_on {
                sleeper.unparker.unpark();
            }
            sleeps_on
        });
    }

    fn enter(&self, parker: &Parker, until: Nanos) -> Option<u64> {
        let mut guard = lock(&self.0.sleepers);
        let (arrivals, sleepers) = &mut *guard;
        if self.now() >= until {
            return None;
        }
        *arrivals += 1;
        sleepers.push(Parked { number: *arrivals, until, unparker: parker.unparker() });
        Some(*arrivals)
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Nanos {
        // Acquire: pairs with the Release in `move_to`. Model: `nothing_bursts_at_the_old_speed`.
        Nanos::from_nanos(self.0.now.load(Acquire))
    }

    fn park(&self, parker: &Parker, until: Nanos) {
        if self.0.jumping && until != Nanos::MAX {
            self.set(until);
        } else if let Some(number) = self.enter(parker, until) {
            parker.park();
            lock(&self.0.sleepers).1.retain(|sleeper| sleeper.number != number);
        }
    }

    fn is_real(&self) -> bool {
        false
    }

    fn relax(&self, _now: Nanos, until: Nanos) {
        if self.0.jumping {
            self.set(until);
        } else {
            yield_now();
        }
    }
}
