//! The token bucket with lazy refill, in one integer.

use crate::virtual_schedule::{VirtualSchedule, one_word_rule};
use crate::{Quota, QuotaError};
use nanopace::Nanos;

/// A token bucket that is refilled by arithmetic when somebody asks: `capacity` tokens at most,
/// coming back continuously at the quota's rate. The integer is the moment when it will be full.
///
/// # Law
///
/// Tokens flow in at `count` per `period`, up to `capacity`. A request for n takes n x `cost`
/// tokens, all or none.
///
/// So up to `capacity` / `cost` get in at once after any idle time, and in any span of length L no
/// more than (`capacity` + L x rate) / `cost`. The bucket is full at first, unless
/// [`initially`](TokenBucket::initially) says otherwise.
///
/// The interval between two tokens is exact where it is a whole number of nanoseconds. Otherwise
/// decisions are early or late by less than 2 ns, L is that much longer, and nothing drifts.
///
/// # Cost
///
/// One word ([`Atomic`](crate::Atomic)); per decision one or two multiplications and one
/// compare-and-swap; a division when rejected.
///
/// # Source
///
/// RFC 2697 (committed burst); the form with one moment as in folly's `TokenBucket`.
///
/// ```
/// use nanopace::Nanos;
/// use nanopace_limits::{Atomic, Limiter, Rejected, TokenBucket};
/// use std::time::Duration;
///
/// // 100 tokens/s, 20 of them at once, 5 for each request: four at once, then one every 50 ms.
/// let bucket = Atomic::new(TokenBucket::new("100/s".parse()?, 20)?.with_cost(5)?);
/// assert_eq!(bucket.try_acquire_n_at(4, Nanos::ZERO), Ok(()));
/// let soon = Nanos::ZERO + Duration::from_millis(50);
/// assert_eq!(bucket.try_acquire_at(Nanos::ZERO), Err(Rejected::NotUntil(soon)));
/// assert_eq!(bucket.rule().tokens(bucket.state(), soon), 5);
/// assert_eq!(bucket.try_acquire_at(soon), Ok(()));
/// # Ok::<(), nanopace_limits::QuotaError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TokenBucket {
    schedule: VirtualSchedule,
    initial_word: u64,
}

impl TokenBucket {
    /// Tokens come back at `quota`, up to `capacity` of them; the bucket is full at first and a
    /// request takes one.
    ///
    /// # Errors
    /// [`QuotaError`] for a capacity of zero, or of more than 292 years' worth.
    pub fn new(quota: Quota, capacity: u64) -> Result<TokenBucket, QuotaError> {
        Ok(TokenBucket { schedule: VirtualSchedule::new(quota, capacity)?, initial_word: 0 })
    }

    /// The same, with `cost` tokens for a request, 1 to the capacity.
    ///
    /// # Errors
    /// [`QuotaError`] for other costs.
    pub fn with_cost(self, cost: u64) -> Result<TokenBucket, QuotaError> {
        Ok(TokenBucket { schedule: self.schedule.costing(cost)?, ..self })
    }

    /// The same, holding `tokens` at `start`, 0 to the capacity.
    ///
    /// # Errors
    /// [`QuotaError`] for more than fit.
    pub fn initially(self, tokens: u64, start: Nanos) -> Result<TokenBucket, QuotaError> {
        Ok(TokenBucket { initial_word: self.schedule.owing_all_but(tokens, start)?, ..self })
    }

    /// The whole tokens that a bucket in `state` holds at `now`.
    #[must_use]
    pub fn tokens(&self, state: u64, now: Nanos) -> u64 {
        self.schedule.capacity().saturating_sub(self.schedule.gone(state, now))
    }
}

one_word_rule!(TokenBucket, |bucket| bucket.initial_word);
