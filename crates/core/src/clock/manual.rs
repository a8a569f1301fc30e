//! A clock that is moved by hand.

use super::{Clock, Parker, Unparker};
use crate::Nanos;
use crate::sync::{Acquire, AtomicU64, Mutex, Release};
use std::sync::Arc;
use std::time::Duration;

/// A clock that stands still until it is moved; clones are the same clock. For tests and
/// simulations.
///
/// A thread that pauses on it sleeps until another thread has moved it far enough. A clock made by
/// [`jumping`](ManualClock::jumping) moves itself instead: whoever pauses, takes it to where the
/// pause ends, so a year of schedule runs in one thread in no time.
///
/// ```
/// use nanopace::{Clock, ManualClock, Nanos, Pacer, Rate};
/// use std::time::Duration;
///
/// let clock = ManualClock::jumping();
/// let pacer = Pacer::builder("3/min".parse::<Rate>()?).clock(clock.clone()).build();
/// for _ in 0..=3 * 60 * 24 * 365 {
///     pacer.acquire()?;
/// }
/// assert_eq!(clock.now(), Nanos::ZERO + Duration::from_secs(60 * 60 * 24 * 365));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Moved forwards by `set` and `advance`, under the lock; read by anyone.
    now: AtomicU64,
    jumping: bool,
    /// Who sleeps until when, and the number of the last one who came.
    sleepers: Mutex<(u64, Vec<Sleeper>)>,
}

#[derive(Debug)]
struct Sleeper {
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
    /// A clock at [`Nanos::ZERO`] that moves only by hand.
    #[must_use]
    pub fn new() -> ManualClock {
        ManualClock::with(false)
    }

    /// A clock at [`Nanos::ZERO`] that whoever pauses takes to the end of the pause.
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

    /// Moves the clock on by `span` and wakes everyone whose time has come.
    pub fn advance(&self, span: Duration) {
        self.move_to(|now| now + span);
    }

    /// Moves the clock to `moment`, unless it is past that already, and wakes everyone whose time
    /// has come.
    pub fn set(&self, moment: Nanos) {
        self.move_to(|now| now.max(moment));
    }

    fn move_to(&self, target: impl FnOnce(Nanos) -> Nanos) {
        let mut sleepers = self.0.sleepers.lock();
        let now = target(self.now());
        // Release: pairs with `now`'s Acquire, so that what was done before the clock moved is seen
        // by who sees it moved. Model: `nothing_bursts_at_the_old_speed`.
        self.0.now.store(now.as_nanos(), Release);
        sleepers.1.retain(|sleeper| {
            let sleeps_on = sleeper.until > now;
            if !sleeps_on {
                sleeper.unparker.unpark();
            }
            sleeps_on
        });
    }

    /// Enters a sleeper, unless its time has come.
    fn enter(&self, parker: &Parker, until: Nanos) -> Option<u64> {
        let mut guard = self.0.sleepers.lock();
        let (arrivals, sleepers) = &mut *guard;
        if self.now() >= until {
            return None;
        }
        *arrivals += 1;
        sleepers.push(Sleeper { number: *arrivals, until, unparker: parker.unparker() });
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
            self.0.sleepers.lock().1.retain(|sleeper| sleeper.number != number);
        }
    }

    fn is_real(&self) -> bool {
        false
    }

    fn relax(&self, _now: Nanos, until: Nanos) {
        if self.0.jumping {
            self.set(until);
        } else {
            crate::sync::yield_now();
        }
    }
}
