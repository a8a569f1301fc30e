//! Defines the trait of clocks, and exports the clocks of this crate.

mod manual;
#[cfg(unix)]
mod monotonic;
mod std;
mod tsc;

#[cfg(unix)]
pub use self::monotonic::MonotonicClock;
pub use self::{manual::ManualClock, std::StdClock, tsc::TscClock};

use crate::{Nanos, Parker};
use ::std::fmt::Debug;
use ::std::hint;
use ::std::time::Duration;

/// Several times the duration of a spin-loop hint.
const CLOSE: Duration = Duration::from_nanos(500);

/// A monotonic clock, and how threads wait on it.
///
/// Pacers and limiters read their clock whenever an earlier reading does not settle a decision. A reading earlier than
/// the previous one can delay a start or cause a rejection, but never makes a start early. An implementation must not
/// call the pacer or the limiter that uses the clock.
///
/// [`TscClock`] is the default clock of pacers and limiters. [`StdClock`] reads the operating system's clock.
/// `MonotonicClock` returns the values of `CLOCK_MONOTONIC`, which other programs can read, too. [`ManualClock`] is for
/// tests, and does not follow real time.
///
/// ```
/// use nanopace_nanos::{Clock, Nanos, Parker, StdClock};
/// use std::time::{Duration, Instant};
///
/// /// The operating system's clock at ten times its speed, for a rehearsal.
/// #[derive(Debug)]
/// struct Faster(StdClock);
///
/// impl Clock for Faster {
///     fn now(&self) -> Nanos {
///         Nanos::from_nanos(self.0.now().as_nanos() * 10)
///     }
///
///     fn park(&self, parker: &Parker, until: Nanos) {
///         if until == Nanos::MAX {
///             parker.park();
///         } else {
///             parker.park_timeout((until - self.now()) / 10);
///         }
///     }
/// }
///
/// let (clock, parker) = (Faster(StdClock::new()), Parker::new());
/// let real = Instant::now();
/// let start = clock.now();
/// while clock.now() - start < Duration::from_millis(100) {
///     clock.park(&parker, start + Duration::from_millis(100));
/// }
/// assert!(real.elapsed() >= Duration::from_millis(10));
/// ```
pub trait Clock: Debug + Send + Sync {
    /// Returns the current time, in nanoseconds since the clock's origin.
    fn now(&self) -> Nanos;

    /// Sleeps until about `until`, or until `parker` is unparked, whichever comes first. May return early.
    /// [`Nanos::MAX`] means to sleep until unparked.
    ///
    /// By default the thread sleeps for `until - now` in real time. Override this method for a clock that runs at a
    /// different speed.
    fn park(&self, parker: &Parker, until: Nanos) {
        if until == Nanos::MAX {
            parker.park();
        } else {
            parker.park_timeout(until - self.now());
        }
    }

    /// Returns whether the clock advances by itself, so that a thread can measure how long its sleeps take. True by
    /// default.
    fn is_real(&self) -> bool {
        true
    }

    /// Relaxes the processor while a thread spins until `until`. The thread calls this method repeatedly, each time
    /// after it has read `now`, which is before `until`.
    ///
    /// By default, this method executes a spin-loop hint, which favors the core's other hardware thread, if there is
    /// one. Within 0.5 us of `until`, the method does nothing, because a hint could delay the start.
    fn relax(&self, now: Nanos, until: Nanos) {
        if until - now > CLOSE {
            hint::spin_loop();
        }
    }
}

impl<C: Clock + ?Sized> Clock for ::std::sync::Arc<C> {
    fn now(&self) -> Nanos {
        (**self).now()
    }

    fn park(&self, parker: &Parker, until: Nanos) {
        (**self).park(parker, until);
    }

    fn is_real(&self) -> bool {
        (**self).is_real()
    }

    fn relax(&self, now: Nanos, until: Nanos) {
        (**self).relax(now, until);
    }
}
