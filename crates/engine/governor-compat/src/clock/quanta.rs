//! Implements a clock that reads the processor's counter.

use super::{Clock, ReasonablyRealtime, Reference};
use crate::nanos::Nanos;
use nanopace::TscClock;
use std::ops::Add;
use std::sync::LazyLock;

/// The only clock of the process, so that times of different `QuantaClock`s can be compared.
static PROCESS: LazyLock<TscClock> = LazyLock::new(TscClock::new);

/// A clock that reads the processor's time-stamp counter. All values of this type are the same clock.
#[derive(Clone, Debug)]
pub struct QuantaClock(TscClock);

impl Default for QuantaClock {
    fn default() -> QuantaClock {
        QuantaClock(PROCESS.clone())
    }
}

impl Clock for QuantaClock {
    type Instant = QuantaInstant;

    fn now(&self) -> QuantaInstant {
        QuantaInstant(Nanos::new(nanopace::Clock::now(&self.0).as_nanos()))
    }
}

impl ReasonablyRealtime for QuantaClock {}

/// A point in time on a [`QuantaClock`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QuantaInstant(Nanos);

impl Add<Nanos> for QuantaInstant {
    type Output = QuantaInstant;

    fn add(self, span: Nanos) -> QuantaInstant {
        QuantaInstant(self.0 + span)
    }
}

impl Reference for QuantaInstant {
    fn duration_since(&self, earlier: QuantaInstant) -> Nanos {
        self.0.saturating_sub(earlier.0)
    }

    fn saturating_sub(&self, span: Nanos) -> QuantaInstant {
        QuantaInstant(self.0.saturating_sub(span))
    }
}
