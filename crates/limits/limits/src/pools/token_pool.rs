//! The arithmetic of the token pool with backfill.

use crate::QuotaError;

/// An active pool that requests take from, and a waiting pool for tokens that do not fit into the active pool. The
/// waiting tokens flow back at a bounded pace. No token is created, destroyed or scaled.
///
/// # Law
///
/// The pool has a `size` and a backfill `ratio` of 1 or more. The backfill share is `size` x (`ratio` - 1), rounded to
/// a whole token. The rounding changes the ratio, to 2 for a size of 1 and a ratio of 1.5, for example; all of the
/// following holds for the changed ratio, 1 + share / `size`. A refill with r tokens
///
/// 1. fills the active pool up to `size`, and puts the remaining tokens into the waiting pool;
/// 2. moves waiting tokens back into the active pool: as many as fit into `size` x `ratio`, but at most r / `size` x
///    the share.
///
/// Fractions of a token in r / `size` x the share are carried over to the next refill. Many small refills thus move as
/// much as a few large ones. While tokens wait, requests are served at up to `ratio` times the rate of the refills, and
/// at most `size` x `ratio` at once. If the share is 1 or more, each refilled token can eventually be taken. While r
/// tokens are refilled, at most `ratio` x (r + `size`) are taken, and one more for a carried fraction. If `size` or
/// `ratio` is [changed](TokenPool::set_size) while the r tokens are refilled, the bound uses the largest value of each.
///
/// # Cost
///
/// 48 bytes. A refill divides once.
///
/// # Source
///
/// The token pool of the rate limiters of nosqlbench, and of its predecessor `EngineBlock`.
///
/// ```
/// use nanopace_limits::pools::TokenPool;
///
/// let mut pool = TokenPool::new(1_000, 1.25)?;
/// pool.refill(1_000);
/// pool.refill(500); // moves 0.5 x 250 of the 500 that are waiting
/// assert_eq!((pool.active(), pool.waiting()), (1_125, 375));
/// pool.refill(500);
/// assert_eq!((pool.active(), pool.waiting()), (1_250, 750));
/// pool.refill(500); // never above 1250
/// assert_eq!((pool.active(), pool.waiting()), (1_250, 1_250));
/// # Ok::<(), nanopace_limits::QuotaError>(())
/// ```
#[derive(Clone, Debug)]
pub struct TokenPool {
    size: u64,
    share: u64,
    /// The number of tokens that can be taken, at most `size + share`.
    active: u64,
    /// The number of tokens that wait for room. The type is wide enough for 2^64 refills of any size.
    waiting: u128,
    /// The fraction of a token that the next refill may move in addition, in units of 1 / `size`; below 1.
    carry: u64,
}

impl TokenPool {
    /// Creates an empty pool of `size` tokens, 1 or more, with a backfill `ratio` of 1 or more, such as 1.25.
    ///
    /// # Errors
    /// Returns [`QuotaError::CapacityTooSmall`] for a size of zero, [`QuotaError::Ratio`] for a ratio that is below 1
    /// or not finite, and [`QuotaError::CapacityTooLarge`] if their product is above 2^63.
    pub fn new(size: u64, ratio: f64) -> Result<TokenPool, QuotaError> {
        let share = valid_share(size, ratio)?;
        Ok(TokenPool { size, share, active: 0, waiting: 0, carry: 0 })
    }

    /// Changes the size and the ratio, each 1 or more. Active tokens that no longer fit are moved to the waiting pool.
    /// Waiting tokens flow back at the new pace, even if there is room for all of them.
    ///
    /// # Errors
    /// Returns the same errors as [`new`](TokenPool::new). After an error, nothing has changed.
    pub fn set_size(&mut self, size: u64, ratio: f64) -> Result<(), QuotaError> {
        let share = valid_share(size, ratio)?;
        self.carry = self.carry_in(size);
        (self.size, self.share) = (size, share);
        let too_many = self.active.saturating_sub(self.capacity());
        self.active -= too_many;
        self.waiting += u128::from(too_many);
        Ok(())
    }

    fn carry_in(&self, size: u64) -> u64 {
        let carry = u128::from(self.carry) * u128::from(size) / u128::from(self.size);
        u64::try_from(carry).expect("less than the size")
    }

    /// Adds `tokens`, and moves waiting tokens back into the active pool.
    pub fn refill(&mut self, tokens: u64) {
        let filled = tokens.min(self.size.saturating_sub(self.active));
        self.active += filled;
        self.waiting += u128::from(tokens - filled);
        self.backfill(tokens);
    }

    fn backfill(&mut self, refilled: u64) {
        let size = u128::from(self.size);
        let allowed = u128::from(refilled) * u128::from(self.share) + u128::from(self.carry);
        self.carry = u64::try_from(allowed % size).expect("less than the size");
        let room = self.capacity() - self.active;
        let moved =
            u64::try_from(self.waiting.min(allowed / size)).map_or(room, |moved| moved.min(room));
        self.waiting -= u128::from(moved);
        self.active += moved;
    }

    /// Takes all of these `tokens` from the active pool, or none. Returns whether the tokens were taken.
    #[must_use]
    pub fn take(&mut self, tokens: u64) -> bool {
        let left = self.active.checked_sub(tokens);
        self.active = left.unwrap_or(self.active);
        left.is_some()
    }

    /// Returns the number of tokens that can be taken at once.
    #[must_use]
    pub fn active(&self) -> u64 {
        self.active
    }

    /// Returns the number of tokens that wait for room.
    #[must_use]
    pub fn waiting(&self) -> u128 {
        self.waiting
    }

    /// Returns the maximum number of tokens that the active pool can hold: `size` x `ratio`, rounded.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.size + self.share
    }

    /// Returns a number of tokens whose refill, in any portions, makes `wanted` tokens (at most the capacity) active,
    /// even if no token waits yet.
    pub(crate) fn enough_for(&self, wanted: u64) -> u128 {
        let to_fill = u128::from(wanted.min(self.size).saturating_sub(self.active));
        let to_move = u128::from(wanted.saturating_sub(self.size.max(self.active)));
        if to_move == 0 {
            return to_fill;
        }
        // Once the active pool holds `size` tokens, each refilled token waits, and allows share / size of a token to be
        // moved.
        let refilled = (to_move * u128::from(self.size)).div_ceil(u128::from(self.share));
        to_fill + refilled.max(to_move)
    }
}

fn valid_share(size: u64, ratio: f64) -> Result<u64, QuotaError> {
    let most = 1 << 63;
    if size == 0 {
        return Err(QuotaError::CapacityTooSmall { least: 1 });
    }
    if !ratio.is_finite() || ratio < 1.0 {
        return Err(QuotaError::Ratio);
    }
    let share = share(size, ratio);
    let capacity = size.checked_add(share).filter(|&capacity| capacity <= most);
    capacity.map(|_| share).ok_or(QuotaError::CapacityTooLarge { most })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "the result is not negative, saturates, and need not be exact"
)]
fn share(size: u64, ratio: f64) -> u64 {
    ((ratio - 1.0) * size as f64).round() as u64
}
