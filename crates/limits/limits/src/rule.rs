//! Defines the trait of limiter algorithms: a pure step from a state and a moment to a decision.

use crate::{Decision, Rejected, Standing};
use core::fmt::Debug;
use core::time::Duration;
use nanopace_nanos::Nanos;

/// The algorithm of a limiter: it decides which requests are admitted, given the earlier requests. It uses no clock, no
/// lock and no atomics.
///
/// A decision has three steps, in this order: [`advance`](Rule::advance) the state to the moment, [`peek`](Rule::peek)
/// at the request, and [`debit`](Rule::debit) it if it is admitted. A rejected request does not count, unless
/// [`refuse`](Rule::refuse) is implemented.
///
/// Moments may go backwards. A rule that depends on their order counts a request from an earlier moment in the latest
/// moment, slot or window.
///
/// ```
/// use nanopace_nanos::Nanos;
/// use nanopace_limits::{Rejected, Rule};
///
/// /// Admits a fixed number of requests in total.
/// #[derive(Debug)]
/// struct InAll(u64);
///
/// impl Rule for InAll {
///     type State = u64;
///
///     fn fresh(&self) -> u64 {
///         0
///     }
///     fn most(&self) -> u64 {
///         self.0
///     }
///     fn advance(&self, _: &mut u64, _: Nanos) {}
///     fn peek(&self, admitted: &u64, _: Nanos, n: u64) -> Result<(), Rejected> {
///         match self.0 - admitted {
///             left if n <= left => Ok(()),
///             capacity => Err(Rejected::ExceedsCapacity { capacity }),
///         }
///     }
///     fn debit(&self, admitted: &mut u64, _: Nanos, n: u64) {
///         *admitted += n;
///     }
///     fn idle_from(&self, admitted: &u64) -> Nanos {
///         if *admitted == 0 { Nanos::ZERO } else { Nanos::MAX }
///     }
/// }
///
/// let rule = InAll(3);
/// let mut state = rule.fresh();
/// assert!(rule.try_acquire(&mut state, Nanos::ZERO, 2).is_ok());
/// assert!(rule.try_acquire(&mut state, Nanos::ZERO, 2).is_err());
/// ```
pub trait Rule: Debug + Send + Sync {
    /// The state of a limiter that follows the rule.
    type State: Clone + Debug + Send;

    /// Returns the state of a limiter that has admitted nothing yet.
    fn fresh(&self) -> Self::State;

    /// Returns the maximum number of requests that is ever admitted at once.
    fn most(&self) -> u64;

    /// Removes counts that no longer matter from the state. This never changes a decision at `now` or later, but may
    /// change a decision at an earlier moment.
    fn advance(&self, state: &mut Self::State, now: Nanos);

    /// Checks whether `n` requests may be admitted at `now`. The state need not be advanced. Zero is always admitted.
    ///
    /// # Errors
    /// Returns [`Rejected`] if the request may not be admitted.
    fn peek(&self, state: &Self::State, now: Nanos, n: u64) -> Result<(), Rejected>;

    /// Counts `n` requests as admitted at `now`. Call this only after [`peek`](Rule::peek) has admitted them in this
    /// state.
    fn debit(&self, state: &mut Self::State, now: Nanos, n: u64);

    /// Records a rejected request of `n`, from 1 to [`most`](Rule::most), at `now`. By default, nothing is recorded.
    fn refuse(&self, _state: &mut Self::State, _now: Nanos, _n: u64) {}

    /// Returns the moment from which the state decides like a fresh one and can be dropped; [`Nanos::MAX`] if never.
    fn idle_from(&self, state: &Self::State) -> Nanos;

    /// Returns whether every decision at `now` or later is the same as with a fresh state.
    fn is_idle(&self, state: &Self::State, now: Nanos) -> bool {
        let from = self.idle_from(state);
        from <= now && from < Nanos::MAX
    }

    /// Returns the largest request that is admitted at `now`.
    fn remaining(&self, state: &Self::State, now: Nanos) -> u64 {
        let (mut fits, mut above) = (0, self.most());
        if self.peek(state, now, above).is_ok() {
            return above;
        }
        while above - fits > 1 {
            let middle = fits + (above - fits) / 2;
            match self.peek(state, now, middle) {
                Ok(()) => fits = middle,
                Err(_) => above = middle,
            }
        }
        fits
    }

    /// Returns the [`Standing`] at `now`.
    fn standing(&self, state: &Self::State, now: Nanos) -> Standing {
        let limit = self.most();
        let reset = match self.peek(state, now, limit) {
            Err(Rejected::NotUntil(moment)) => moment - now,
            _ => Duration::ZERO,
        };
        Standing { limit, remaining: self.remaining(state, now), reset }
    }

    /// Admits or rejects a request. A request of zero, or of more than [`most`](Rule::most), does not count as an
    /// arrival: the state does not record its moment.
    ///
    /// # Errors
    /// Returns [`Rejected`] if the request is rejected. Nothing is counted then, except by [`refuse`](Rule::refuse).
    fn try_acquire(&self, state: &mut Self::State, now: Nanos, n: u64) -> Result<(), Rejected> {
        if n == 0 || n > self.most() {
            return self.peek(state, now, n);
        }
        self.advance(state, now);
        let answer = self.peek(state, now, n);
        match answer {
            Ok(()) => self.debit(state, now, n),
            Err(_) => self.refuse(state, now, n),
        }
        answer
    }

    /// Admits or rejects a request as [`try_acquire`](Rule::try_acquire) does, and returns a complete [`Decision`].
    fn decide(&self, state: &mut Self::State, now: Nanos, n: u64) -> Decision {
        let answer = self.try_acquire(state, now, n);
        Decision::new(answer, now, self.standing(state, now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct All;

    impl Rule for All {
        type State = ();

        fn fresh(&self) {}

        fn most(&self) -> u64 {
            u64::MAX
        }

        fn advance(&self, (): &mut (), _: Nanos) {}

        fn peek(&self, (): &(), _: Nanos, _: u64) -> Result<(), Rejected> {
            Ok(())
        }

        fn debit(&self, (): &mut (), _: Nanos, _: u64) {}

        fn idle_from(&self, (): &()) -> Nanos {
            Nanos::ZERO
        }
    }

    #[test]
    fn the_largest_request_of_all_remains() {
        assert_eq!(All.remaining(&(), Nanos::ZERO), u64::MAX);
    }
}
