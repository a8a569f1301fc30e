//! Spans as moments: on a clock that counts from zero.

use super::Reference;
use crate::nanos::Nanos;
use std::ops::Add;
use std::time::Duration;

impl Reference for Nanos {
    fn duration_since(&self, earlier: Nanos) -> Nanos {
        Nanos::saturating_sub(*self, earlier)
    }

    fn saturating_sub(&self, span: Nanos) -> Nanos {
        Nanos::saturating_sub(*self, span)
    }
}

impl Reference for Duration {
    fn duration_since(&self, earlier: Duration) -> Nanos {
        Duration::saturating_sub(*self, earlier).into()
    }

    fn saturating_sub(&self, span: Nanos) -> Duration {
        self.checked_sub(span.into()).unwrap_or(*self)
    }
}

impl Add<Nanos> for Duration {
    type Output = Duration;

    fn add(self, span: Nanos) -> Duration {
        self.saturating_add(span.into())
    }
}
