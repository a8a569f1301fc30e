//! Where time comes from.

mod manual;
mod std;
mod tsc;

pub use self::{manual::ManualClock, std::StdClock, tsc::TscClock};
pub use crate::sync::{Parker, Unparker};

use crate::Nanos;
use ::std::fmt::Debug;
use ::std::hint;
use ::std::time::Duration;

/// Some times as long as a processor takes over a spin-loop hint.
const CLOSE: Duration = Duration::from_nanos(500);

/// A monotonic clock, and how to wait on it.
///
/// A pacer reads it whenever it can't make progress on what it has seen of it. A reading that is
/// earlier than one before does no harm beyond a late start. The implementation must not call the
/// pacer.
///
/// [`TscClock`] is the default, [`StdClock`] asks the operating system, [`ManualClock`] is moved by
/// hand.
pub trait Clock: Debug + Send + Sync {
    /// Now.
    fn now(&self) -> Nanos;

    /// Sleeps until about `until`, or until `parker` is unparked, whichever comes first; may return
    /// early.
    fn park(&self, parker: &Parker, until: Nanos) {
        if until == Nanos::MAX {
            parker.park();
        } else {
            parker.park_timeout(until - self.now());
        }
    }

    /// Whether it runs by itself, so that there is something to learn from how long a sleep takes.
    fn is_real(&self) -> bool {
        true
    }

    /// Called again and again by a thread that spins until `until` and has just read `now`, which
    /// is earlier.
    ///
    /// By default it leaves the core to its other hardware thread, if it has one, but for the last
    /// half microsecond: there each such hint would make the start later.
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
