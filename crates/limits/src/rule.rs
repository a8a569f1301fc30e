//! What a limiter is: a pure step from a state and a moment to an answer.

use crate::Rejected;
use nanopace::Nanos;
use std::fmt::Debug;

/// A limiter's law: who gets in, given what was let in before. No clock, no lock, no atomics.
///
/// A decision is three steps in this order: [`advance`](Rule::advance) the state to the moment,
/// [`check`](Rule::check) the request, and, only if it may go, [`debit`](Rule::debit) it. So
/// several limits on one request are all checked before any is debited (a tuple of rules is a
/// rule), and a request that is rejected changes nothing.
///
/// Moments that go backwards count as the latest one that the state has seen, where that matters to
/// the rule.
pub trait Rule: Debug + Send + Sync {
    /// What the rule remembers.
    type State: Clone + Debug + Send;

    /// The state of a limiter that has let nothing in yet.
    fn fresh(&self) -> Self::State;

    /// The most that ever gets in at once.
    fn most(&self) -> u64;

    /// Forgets what no longer counts at `now`. Never changes a decision at `now` or later.
    fn advance(&self, state: &mut Self::State, now: Nanos);

    /// Whether `n` may be let in at `now`, the state having been advanced to it. Zero always may.
    ///
    /// # Errors
    /// [`Rejected`]: from when on, or never at this size.
    fn check(&self, state: &Self::State, now: Nanos, n: u64) -> Result<(), Rejected>;

    /// Counts `n` as let in at `now`, which `check` has allowed for this state.
    fn debit(&self, state: &mut Self::State, now: Nanos, n: u64);

    /// Whether every decision at `now` or later is what it would be on a fresh state, so that the
    /// state can be dropped.
    fn is_idle(&self, state: &Self::State, now: Nanos) -> bool;

    /// The whole decision. Nothing, and more than ever gets in, is no arrival: the state does not
    /// even learn the moment.
    ///
    /// # Errors
    /// Those of [`check`](Rule::check); nothing was counted then.
    fn decide(&self, state: &mut Self::State, now: Nanos, n: u64) -> Result<(), Rejected> {
        if n == 0 || n > self.most() {
            return self.check(state, now, n);
        }
        self.advance(state, now);
        self.check(state, now, n)?;
        self.debit(state, now, n);
        Ok(())
    }
}

macro_rules! all_of {
    ($($rule:ident $index:tt),+) => {
        /// All of them: each is checked before any is debited. When several reject, the one that
        /// takes longest answers.
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

            fn check(&self, state: &Self::State, now: Nanos, n: u64) -> Result<(), Rejected> {
                let answers = [$(self.$index.check(&state.$index, now, n)),+];
                answers.into_iter().filter_map(Result::err).max().map_or(Ok(()), Err)
            }

            fn debit(&self, state: &mut Self::State, now: Nanos, n: u64) {
                $(self.$index.debit(&mut state.$index, now, n);)+
            }

            fn is_idle(&self, state: &Self::State, now: Nanos) -> bool {
                $(self.$index.is_idle(&state.$index, now))&&+
            }
        }
    };
}

all_of!(A 0, B 1);
all_of!(A 0, B 1, C 2);
