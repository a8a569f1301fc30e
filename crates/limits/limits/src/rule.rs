//! What a limiter is: a pure step from a state and a moment to an answer.

use crate::{Decision, Rejected, Standing};
use core::fmt::Debug;
use core::time::Duration;
use nanopace_nanos::Nanos;

/// A limiter's law: which requests get in, given what was let in before. It uses no clock, no lock
/// and no atomics.
///
/// A decision has three steps, in this order: [`advance`](Rule::advance) the state to the moment,
/// [`peek`](Rule::peek) at the request, and [`debit`](Rule::debit) it if it may go. So several
/// limits on one request are all checked before any of them is debited (a tuple of rules is a
/// rule), and a rejected request counts for nothing, unless [`refuse`](Rule::refuse) says otherwise.
///
/// If moments that go backwards matter to a rule, they count as the latest moment that the state
/// has seen.
///
/// ```
/// use nanopace_nanos::Nanos;
/// use nanopace_limits::{Rejected, Rule};
///
/// /// Lets in a fixed number of requests, and no more ever.
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
///     fn peek(&self, let_in: &u64, _: Nanos, n: u64) -> Result<(), Rejected> {
///         match self.0 - let_in {
///             left if n <= left => Ok(()),
///             capacity => Err(Rejected::ExceedsCapacity { capacity }),
///         }
///     }
///     fn debit(&self, let_in: &mut u64, _: Nanos, n: u64) {
///         *let_in += n;
///     }
///     fn idle_from(&self, let_in: &u64) -> Nanos {
///         if *let_in == 0 { Nanos::ZERO } else { Nanos::MAX }
///     }
/// }
///
/// let rule = InAll(3);
/// let mut state = rule.fresh();
/// assert!(rule.try_acquire(&mut state, Nanos::ZERO, 2).is_ok());
/// assert!(rule.try_acquire(&mut state, Nanos::ZERO, 2).is_err());
/// ```
pub trait Rule: Debug + Send + Sync {
    /// What the rule remembers.
    type State: Clone + Debug + Send;

    /// The state of a limiter that has let nothing in yet.
    fn fresh(&self) -> Self::State;

    /// The most that ever gets in at once.
    fn most(&self) -> u64;

    /// Forgets what no longer counts at `now`. This never changes a decision at `now` or later.
    fn advance(&self, state: &mut Self::State, now: Nanos);

    /// Whether `n` may be let in at `now`, whether the state has been advanced to `now` or not.
    /// Zero is always let in.
    ///
    /// # Errors
    /// [`Rejected`]: from when on the request gets in, or that it never does at this size.
    fn peek(&self, state: &Self::State, now: Nanos, n: u64) -> Result<(), Rejected>;

    /// Counts `n` as let in at `now`, after [`peek`](Rule::peek) has allowed it for this state.
    fn debit(&self, state: &mut Self::State, now: Nanos, n: u64);

    /// A request for `n` at `now` was not let in. Most rules forget it. It would have fitted at
    /// another time: a request for nothing, or for more than ever gets in, does not come here.
    fn refuse(&self, _state: &mut Self::State, _now: Nanos, _n: u64) {}

    /// From when on every decision is the same as on a fresh state. Then the state can be dropped.
    /// [`Nanos::MAX`] means never.
    fn idle_from(&self, state: &Self::State) -> Nanos;

    /// Whether every decision at `now` or later is the same as on a fresh state.
    fn is_idle(&self, state: &Self::State, now: Nanos) -> bool {
        let from = self.idle_from(state);
        from <= now && from < Nanos::MAX
    }

    /// The largest request that gets in at `now`.
    fn remaining(&self, state: &Self::State, now: Nanos) -> u64 {
        let (mut fits, mut above) = (0, self.most().saturating_add(1));
        while above - fits > 1 {
            let middle = fits + (above - fits) / 2;
            match self.peek(state, now, middle) {
                Ok(()) => fits = middle,
                Err(_) => above = middle,
            }
        }
        fits
    }

    /// How much is left at `now`, and how long it takes until all of it is.
    ///
    /// ```
    /// use nanopace_nanos::Nanos;
    /// use nanopace_limits::{FixedWindow, Rule};
    /// use std::time::Duration;
    ///
    /// let rule = FixedWindow::new("5/s".parse()?);
    /// let mut state = rule.fresh();
    /// rule.debit(&mut state, Nanos::ZERO, 2);
    /// let standing = rule.standing(&state, Nanos::from_nanos(400_000_000));
    /// assert_eq!((standing.limit, standing.remaining), (5, 3));
    /// assert_eq!(standing.reset, Duration::from_millis(600));
    /// # Ok::<(), nanopace_limits::QuotaError>(())
    /// ```
    fn standing(&self, state: &Self::State, now: Nanos) -> Standing {
        let limit = self.most();
        let reset = match self.peek(state, now, limit) {
            Err(Rejected::NotUntil(moment)) => moment - now,
            _ => Duration::ZERO,
        };
        Standing { limit, remaining: self.remaining(state, now), reset }
    }

    /// The whole decision. A request for nothing, and one for more than ever gets in, does not
    /// count as an arrival: the state does not even learn its moment.
    ///
    /// # Errors
    /// As for [`peek`](Rule::peek). Nothing is counted then, unless [`refuse`](Rule::refuse) counts.
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

    /// The whole decision, and how the limit stands after it.
    ///
    /// ```
    /// use nanopace_nanos::Nanos;
    /// use nanopace_limits::{FixedWindow, Rule};
    /// use std::time::Duration;
    ///
    /// let rule = FixedWindow::new("2/s".parse()?);
    /// let mut state = rule.fresh();
    /// let decision = rule.decide(&mut state, Nanos::ZERO, 2);
    /// assert!(decision.is_allowed());
    /// assert_eq!((decision.limit(), decision.remaining()), (2, 0));
    ///
    /// let decision = rule.decide(&mut state, Nanos::ZERO, 1);
    /// assert_eq!(decision.retry(), Some(Duration::from_secs(1)));
    /// # Ok::<(), nanopace_limits::QuotaError>(())
    /// ```
    fn decide(&self, state: &mut Self::State, now: Nanos, n: u64) -> Decision {
        let answer = self.try_acquire(state, now, n);
        Decision::new(answer, now, self.standing(state, now))
    }
}

macro_rules! all_of {
    ($($rule:ident $index:tt),+) => {
        /// All of them. Each is checked before any is debited. If several of them reject the
        /// request, the answer is the one with the longest wait.
        impl<$($rule: Rule),+> Rule for ($($rule,)+) {
            type State = ($($rule::State,)+);

            fn fresh(&self) -> Self::State {
                ($(self.$index.fresh(),)+)
            }

            fn most(&self) -> u64 {
                u64::MAX$(.min(self.$index.most()))+
            }

            fn advance(&self, state: &mut Self::State, now: Nanos) {
                $(self.$index.advance(&mut state.$index, now);)+
            }

            fn peek(&self, state: &Self::State, now: Nanos, n: u64) -> Result<(), Rejected> {
                let answers = [$(self.$index.peek(&state.$index, now, n)),+];
                answers.into_iter().filter_map(Result::err).max().map_or(Ok(()), Err)
            }

            fn debit(&self, state: &mut Self::State, now: Nanos, n: u64) {
                $(self.$index.debit(&mut state.$index, now, n);)+
            }

            fn refuse(&self, state: &mut Self::State, now: Nanos, n: u64) {
                $(self.$index.refuse(&mut state.$index, now, n);)+
            }

            fn idle_from(&self, state: &Self::State) -> Nanos {
                Nanos::ZERO$(.max(self.$index.idle_from(&state.$index)))+
            }

            fn remaining(&self, state: &Self::State, now: Nanos) -> u64 {
                u64::MAX$(.min(self.$index.remaining(&state.$index, now)))+
            }
        }
    };
}

all_of!(A 0, B 1);
all_of!(A 0, B 1, C 2);
