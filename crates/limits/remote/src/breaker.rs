//! The circuit breaker, which stops calls to a store that has failed.

use std::sync::atomic::{AtomicU32, Ordering};

const OPENS_AT: u32 = 2;

/// Opens after two failures in a row. All orderings are relaxed, because the count publishes nothing: a decision that
/// reads an old count calls the store once more, or once less.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    failures: AtomicU32,
}

impl Breaker {
    pub(crate) fn is_open(&self) -> bool {
        self.failures.load(Ordering::Relaxed) >= OPENS_AT
    }

    /// Returns whether the breaker is open now.
    pub(crate) fn fails(&self) -> bool {
        let before = self.failures.fetch_add(1, Ordering::Relaxed);
        if before > OPENS_AT {
            // This keeps the count from wrapping around.
            self.failures.store(OPENS_AT, Ordering::Relaxed);
        }
        before + 1 >= OPENS_AT
    }

    pub(crate) fn succeeds(&self) {
        // Most decisions find a count of zero, and do not write.
        if self.failures.load(Ordering::Relaxed) > 0 {
            self.failures.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_failures_in_a_row_open_it_and_a_success_closes_it() {
        let breaker = Breaker::default();
        assert!(!breaker.fails());
        breaker.succeeds();
        assert!(!breaker.fails() && !breaker.is_open());
        assert!(breaker.fails() && breaker.is_open());
        breaker.fails();
        assert!(breaker.fails());
        breaker.succeeds();
        assert!(!breaker.is_open());
    }
}
