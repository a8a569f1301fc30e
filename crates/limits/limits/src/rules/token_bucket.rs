//! The token bucket that is refilled by arithmetic, in one integer.

use super::virtual_schedule::{VirtualSchedule, one_word_rule};
use crate::{Quota, QuotaError};
use nanopace_nanos::Nanos;

/// A token bucket that is refilled by arithmetic at each request. It holds at most `capacity` tokens, which come back
/// continuously at the quota's rate. The state is the moment at which the bucket will be full.
///
/// # Law
///
/// Tokens are added continuously, `count` per `period`, up to `capacity`. A request for n takes n x `cost` tokens, or
/// none if there are too few.
///
/// So up to `capacity` / `cost` requests are admitted at once after a long enough idle time. In any span of length L,
/// at most (`capacity` + L x rate) / `cost` are admitted. The bucket is full at first, unless
/// [`initially`](TokenBucket::initially) sets a different fill.
///
/// If the time in which one token comes back is not a whole number of nanoseconds, a decision is early or late by less
/// than 2 ns, as with [`Gcra`](crate::Gcra).
///
/// # Cost
///
/// One word ([`Atomic`](crate::Atomic)): up to two multiplications and a compare-and-swap. As with
/// [`Gcra`](crate::Gcra), a rejection may also divide.
///
/// # Source
///
/// J. S. Turner, "New directions in communications (or which way to the information age?)", IEEE Communications
/// Magazine, 1986; ITU-T Recommendation I.371 (continuous-state leaky bucket); RFC 2697 (the committed burst). The
/// `TokenBucket` of the library folly also keeps one moment as its state.
///
/// ```
/// use nanopace_nanos::Nanos;
/// use nanopace_limits::{Atomic, TryAcquire, Rejected, TokenBucket};
/// use std::time::Duration;
///
/// // 100 tokens/s, at most 20 of them, 5 for each request: four at once, then one every 50 ms.
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
    /// Creates a full bucket of `capacity` tokens, refilled at the rate of `quota`. A request takes one token.
    ///
    /// # Errors
    /// Returns [`QuotaError::CapacityTooSmall`] for a capacity of zero, and [`QuotaError::CapacityTooLarge`] if filling
    /// the bucket takes more than 292 years.
    pub fn new(quota: Quota, capacity: u64) -> Result<TokenBucket, QuotaError> {
        Ok(TokenBucket { schedule: VirtualSchedule::new(quota, capacity)?, initial_word: 0 })
    }

    /// Creates a token bucket as a leaky meter, which is the same algorithm: each request pours a drop into a bucket
    /// that holds `capacity` drops and leaks at `quota`. A request that would make the bucket overflow is rejected. The
    /// level is the capacity minus the [`tokens`](TokenBucket::tokens): 0 at first.
    ///
    /// # Errors
    /// Returns the same errors as [`new`](TokenBucket::new).
    pub fn leaky_meter(quota: Quota, capacity: u64) -> Result<TokenBucket, QuotaError> {
        TokenBucket::new(quota, capacity)
    }

    /// Returns this bucket with a cost of `cost` tokens per request, from 1 to the capacity.
    ///
    /// # Errors
    /// Returns [`QuotaError::ZeroCost`] for a cost of zero, and [`QuotaError::CapacityTooSmall`] for a cost above the
    /// capacity.
    pub fn with_cost(self, cost: u64) -> Result<TokenBucket, QuotaError> {
        Ok(TokenBucket { schedule: self.schedule.costing(cost)?, ..self })
    }

    /// Returns this bucket with `tokens` tokens, from 0 to the capacity, at the moment `start`.
    ///
    /// If each key has its own bucket, all buckets are refilled from `start` on, not from the key's first request. The
    /// bucket of a new key is therefore as full as if the bucket had existed since `start`. The reason is that a
    /// rejected request leaves no state: a bucket that began empty at the first request would be empty at every
    /// request.
    ///
    /// # Errors
    /// Returns [`QuotaError::InitialTooLarge`] if `tokens` exceeds the capacity.
    pub fn initially(self, tokens: u64, start: Nanos) -> Result<TokenBucket, QuotaError> {
        Ok(TokenBucket { initial_word: self.schedule.owing_all_but(tokens, start)?, ..self })
    }

    /// Returns the number of whole tokens at `now` in this state.
    #[must_use]
    pub fn tokens(&self, state: u64, now: Nanos) -> u64 {
        self.schedule.capacity().saturating_sub(self.schedule.gone(state, now))
    }
}

one_word_rule!(TokenBucket, |bucket| bucket.initial_word);
