//! One limit of any kind, its state, and the errors of invalid limits.

use crate::rules::{
    AggregatedState, AggregatedWindow, Counts, FixedWindow, Gcra, RollingCount, SlidingCounter,
    SlidingLog,
};
use crate::{Quota, QuotaError, Rejected, Rule, Standing};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::num::NonZeroU16;
use nanopace_nanos::Nanos;
use thiserror::Error;

/// One limit of any kind. As a string, a limit is a [`Quota`] followed by its kind:
///
/// | string | limit | rule |
/// |---|---|---|
/// | `10/s` | a rate, with a burst of 10 | [`Gcra`] |
/// | `10/s burst 20` | a rate, with a burst of 20 | [`Gcra`] |
/// | `1000/h in 60` | at most 1000 in any hour, counted in 60 slots | [`AggregatedWindow`] |
/// | `10/s sliding-log` | at most 10 in any second, each request stored | [`SlidingLog`] |
/// | `10/s sliding-log-all` | the same, and rejected requests count too | [`SlidingLog`] |
/// | `10/s fixed-window` | at most 10 in each second of the clock | [`FixedWindow`] |
/// | `10/s sliding-counter` | about 10 in any second | [`SlidingCounter`] |
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    quota: Quota,
    pub(crate) law: Law,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Law {
    Gcra { rule: Gcra, burst: u64 },
    Window { rule: AggregatedWindow },
    Log { rule: SlidingLog },
    Fixed { rule: FixedWindow },
    Counter { rule: SlidingCounter },
}

#[derive(Clone, Debug)]
pub(crate) enum LimitState {
    Word {
        word: u64,
        /// The number of requests by which refunds, or the cap at the burst, have lowered the debt of a rate since all
        /// debt was last paid off (see `VirtualSchedule::without`). The number skips 0 when it wraps around.
        refunded: u32,
    },
    /// This state and the following ones are boxed, so that a `LimitState` stays small.
    Counts(Box<Counts>),
    Window(Box<AggregatedState>),
    Log(Box<RollingCount>),
}

impl LimitState {
    pub(crate) fn word(word: u64) -> LimitState {
        LimitState::Word { word, refunded: 0 }
    }
}

/// The maximum number of limits in a string. Every decision checks each of them.
pub(crate) const MOST_AT_ONCE: usize = 64;

/// The error for an invalid [`Limit`] or invalid [`Limits`](crate::Limits).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LimitsError {
    /// An invalid quota, or a burst that is not valid for the quota.
    #[error(transparent)]
    Quota(#[from] QuotaError),
    /// A string that is not a number of slots.
    #[error("`{0}` is not a number of slots: write 1 to 65535, as in `1000/h in 60`")]
    Slots(String),
    /// A string that is not a burst.
    #[error(
        "`{0}` is not a burst: write how many requests may be admitted at once, as in `10/s burst 20`"
    )]
    Burst(String),
    /// A string that is not a kind of limit.
    #[error(
        "`{0}` is not a kind of limit: write `burst 20`, `in 60`, `sliding-log`, `sliding-log-all`, `fixed-window` or `sliding-counter` after the quota, or nothing"
    )]
    Kind(String),
    /// An empty string, or an empty part before, between or after commas.
    #[error("a limit is missing: write one, such as `10/s`, or `unlimited` alone for no limit")]
    Empty,
    /// `unlimited` as one of several limits, or as a single [`Limit`].
    #[error("`unlimited` means no limit: write it alone, or write limits without it")]
    Unlimited,
    /// More than 64 limits in a string. Contains the number of limits in the string.
    #[error("{0} limits are too many: write at most {most}", most = MOST_AT_ONCE)]
    TooMany(usize),
    /// A burst for a kind of limit that has no burst.
    #[error(
        "only a rate has a burst: write the burst after a rate, as in `10/s burst 20`, or omit the burst"
    )]
    NoBurst,
}

/// Evaluates an expression with the rule and the state of a limit. The variant of a state always matches its limit's
/// law.
macro_rules! with_law {
    ($limit:expr, $state:expr, |$rule:ident, $own:ident| $answer:expr) => {
        match (&$limit.law, $state) {
            (Law::Gcra { rule: $rule, .. }, LimitState::Word { word: $own, .. }) => $answer,
            (Law::Window { rule: $rule }, LimitState::Window($own)) => $answer,
            (Law::Log { rule: $rule }, LimitState::Log($own)) => $answer,
            (Law::Fixed { rule: $rule }, LimitState::Word { word: $own, .. }) => $answer,
            (Law::Counter { rule: $rule }, LimitState::Counts($own)) => $answer,
            _ => unreachable!("a state of another law"),
        }
    };
}

impl Limit {
    /// Creates a rate limit of `quota` ([`Gcra`]) whose burst is `quota.count()`.
    #[must_use]
    pub fn gcra(quota: Quota) -> Limit {
        Limit { quota, law: Law::Gcra { rule: Gcra::new(quota), burst: quota.count() } }
    }

    /// Creates a rate limit of `quota` ([`Gcra`]) with this burst.
    ///
    /// # Errors
    /// Returns [`QuotaError::CapacityTooSmall`] for a burst of zero, and [`QuotaError::CapacityTooLarge`] if it takes
    /// more than 292 years until the whole burst is available again.
    pub fn gcra_with_burst(quota: Quota, burst: u64) -> Result<Limit, QuotaError> {
        let rule = Gcra::with_burst(quota, burst)?;
        Ok(Limit { quota, law: Law::Gcra { rule, burst } })
    }

    /// Creates a limit of `quota` that counts in an [`AggregatedWindow`] of `slots` slots.
    #[must_use]
    pub fn window(quota: Quota, slots: NonZeroU16) -> Limit {
        Limit { quota, law: Law::Window { rule: AggregatedWindow::new(quota, slots) } }
    }

    /// Creates a limit of `quota` that counts in a [`SlidingLog`].
    #[must_use]
    pub fn sliding_log(quota: Quota) -> Limit {
        Limit { quota, law: Law::Log { rule: SlidingLog::new(quota) } }
    }

    /// Creates a limit of `quota` that counts in a [`SlidingLog`], including rejected requests.
    #[must_use]
    pub fn sliding_log_counting_rejected(quota: Quota) -> Limit {
        Limit { quota, law: Law::Log { rule: SlidingLog::counting_rejected(quota) } }
    }

    /// Creates a limit of `quota` that counts in a [`FixedWindow`].
    #[must_use]
    pub fn fixed_window(quota: Quota) -> Limit {
        Limit { quota, law: Law::Fixed { rule: FixedWindow::new(quota) } }
    }

    /// Creates a limit of `quota` that counts in a [`SlidingCounter`].
    #[must_use]
    pub fn sliding_counter(quota: Quota) -> Limit {
        Limit { quota, law: Law::Counter { rule: SlidingCounter::new(quota) } }
    }

    /// Returns this rate with the given burst.
    ///
    /// # Errors
    /// Returns [`LimitsError::NoBurst`] unless this is a rate, and otherwise the errors of
    /// [`gcra_with_burst`](Limit::gcra_with_burst).
    pub fn with_burst(&self, burst: u64) -> Result<Limit, LimitsError> {
        match self.law {
            Law::Gcra { .. } => Ok(Limit::gcra_with_burst(self.quota, burst)?),
            _ => Err(LimitsError::NoBurst),
        }
    }

    /// Returns the quota of this limit.
    #[must_use]
    pub fn quota(&self) -> Quota {
        self.quota
    }

    pub(crate) fn fresh(&self) -> LimitState {
        match &self.law {
            Law::Gcra { rule, .. } => LimitState::word(rule.fresh()),
            Law::Window { rule } => LimitState::Window(Box::new(rule.fresh())),
            Law::Log { rule } => LimitState::Log(Box::new(rule.fresh())),
            Law::Fixed { rule } => LimitState::word(rule.fresh()),
            Law::Counter { rule } => LimitState::Counts(Box::new(rule.fresh())),
        }
    }

    /// Returns the largest request that is ever admitted: the burst of a rate, the count of a window.
    #[must_use]
    pub fn most(&self) -> u64 {
        match &self.law {
            Law::Gcra { burst, .. } => *burst,
            _ => self.quota.count(),
        }
    }

    #[inline]
    pub(crate) fn try_acquire(
        &self,
        state: &mut LimitState,
        now: Nanos,
        n: u64,
    ) -> Result<(), Rejected> {
        match (&self.law, &mut *state) {
            (Law::Gcra { rule, .. }, LimitState::Word { word, refunded: 0 }) => {
                rule.try_acquire(word, now, n)
            }
            _ => self.try_acquire_any(state, now, n),
        }
    }

    /// Decides for a limit of any kind. This function is separate from `try_acquire`, so that the code for rates
    /// without refunds is small enough to be inlined.
    fn try_acquire_any(&self, state: &mut LimitState, now: Nanos, n: u64) -> Result<(), Rejected> {
        self.forget_refunds(state, now);
        with_law!(self, state, |rule, own| rule.try_acquire(own, now, n))
    }

    /// Sets the number of refunded requests to 0 once all debt is paid off, so that the word is the whole state again.
    #[inline]
    fn forget_refunds(&self, state: &mut LimitState, now: Nanos) {
        if let (Law::Gcra { rule, .. }, LimitState::Word { word, refunded: refunded @ 1.. }) =
            (&self.law, state)
            && rule.schedule().all_paid_from(*word) <= now
        {
            *refunded = 0;
        }
    }

    pub(crate) fn advance(&self, state: &mut LimitState, now: Nanos) {
        self.forget_refunds(state, now);
        with_law!(self, state, |rule, own| rule.advance(own, now));
    }

    pub(crate) fn peek(&self, state: &LimitState, now: Nanos, n: u64) -> Result<(), Rejected> {
        with_law!(self, state, |rule, own| rule.peek(own, now, n))
    }

    #[cfg(feature = "std")]
    pub(crate) fn check_uncounted(
        &self,
        state: &LimitState,
        now: Nanos,
        n: u64,
    ) -> Result<(), Rejected> {
        match (&self.law, state) {
            (Law::Log { rule }, LimitState::Log(log)) => rule.check_uncounted(log, now, n),
            _ => self.peek(state, now, n),
        }
    }

    pub(crate) fn debit(&self, state: &mut LimitState, now: Nanos, n: u64) {
        with_law!(self, state, |rule, own| rule.debit(own, now, n));
    }

    pub(crate) fn debit_beyond(&self, state: &mut LimitState, now: Nanos, n: u64) {
        match (&self.law, state) {
            (Law::Gcra { rule, .. }, LimitState::Word { word, .. }) => {
                *word = rule.schedule().owing_beyond(*word, now, n);
            }
            (_, state) => self.debit(state, now, n),
        }
    }

    /// Raises the debt of a rate to its burst at most, so that requests under other limits delay the rate's recovery by
    /// one burst at most.
    pub(crate) fn debit_for_others(&self, state: &mut LimitState, now: Nanos, n: u64) {
        match (&self.law, state) {
            (Law::Gcra { rule, .. }, LimitState::Word { word, refunded }) => {
                let (owing, less) = rule.schedule().exhausted(*word, now, n);
                *word = owing;
                count_refund(refunded, less);
            }
            (_, state) => self.debit(state, now, n),
        }
    }

    pub(crate) fn retry_elsewhere(&self, state: &LimitState, now: Nanos, n: u64) -> Option<Nanos> {
        match (&self.law, state) {
            (Law::Log { rule }, LimitState::Log(log)) => rule.retry_elsewhere(log, now, n),
            _ => None,
        }
    }

    pub(crate) fn refuse(&self, state: &mut LimitState, now: Nanos, n: u64) {
        with_law!(self, state, |rule, own| rule.refuse(own, now, n));
    }

    pub(crate) fn idle_from(&self, state: &LimitState) -> Nanos {
        if let (Law::Gcra { rule, .. }, LimitState::Word { word, refunded: 1.. }) =
            (&self.law, state)
        {
            return rule.schedule().all_paid_from(*word);
        }
        with_law!(self, state, |rule, own| rule.idle_from(own))
    }

    pub(crate) fn standing(&self, state: &LimitState, now: Nanos) -> Standing {
        with_law!(self, state, |rule, own| rule.standing(own, now))
    }

    pub(crate) fn remaining(&self, state: &LimitState, now: Nanos) -> u64 {
        with_law!(self, state, |rule, own| rule.remaining(own, now))
    }

    /// Returns the counted requests, the oldest first, each with the latest moment at which it may have been admitted.
    /// Returns no requests for a rate.
    pub(crate) fn let_in(&self, state: &LimitState, now: Nanos) -> Vec<(Nanos, u64)> {
        match (&self.law, state) {
            (Law::Window { rule }, LimitState::Window(state)) => rule.let_in(state, now).collect(),
            (Law::Fixed { rule }, LimitState::Word { word, .. }) => {
                rule.let_in(*word, now).collect()
            }
            (Law::Counter { rule }, LimitState::Counts(counts)) => {
                rule.let_in(**counts, now).collect()
            }
            (_, LimitState::Log(log)) => log.counted().collect(),
            _ => Vec::new(),
        }
    }
}

impl PartialEq for Limit {
    fn eq(&self, other: &Limit) -> bool {
        self.quota == other.quota && self.kind() == other.kind()
    }
}

impl Eq for Limit {}

/// The kind of a limit, with its parameters except the quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKind {
    /// A rate with a burst, decided by [`Gcra`].
    Gcra {
        /// The maximum number of requests that is admitted at once.
        burst: u64,
    },
    /// A sliding window that is divided into slots: [`AggregatedWindow`].
    AggregatedWindow {
        /// The number of slots of the window.
        slots: NonZeroU16,
    },
    /// A sliding window that stores each admitted request: [`SlidingLog`].
    SlidingLog,
    /// A sliding window that stores each request, including rejected ones: [`SlidingLog::counting_rejected`].
    SlidingLogAll,
    /// A counter for each window of the clock: [`FixedWindow`].
    FixedWindow,
    /// A sliding window that is estimated from two counters: [`SlidingCounter`].
    SlidingCounter,
}

impl Limit {
    /// Returns the kind of this limit, with its parameters except the quota.
    #[must_use]
    pub fn kind(&self) -> LimitKind {
        match &self.law {
            Law::Gcra { burst, .. } => LimitKind::Gcra { burst: *burst },
            Law::Window { rule } => LimitKind::AggregatedWindow { slots: rule.slots() },
            Law::Log { rule } if rule.counts_rejected() => LimitKind::SlidingLogAll,
            Law::Log { .. } => LimitKind::SlidingLog,
            Law::Fixed { .. } => LimitKind::FixedWindow,
            Law::Counter { .. } => LimitKind::SlidingCounter,
        }
    }
}

pub(crate) fn count_refund(refunded: &mut u32, less: u32) {
    if less > 0 {
        *refunded = refunded.wrapping_add(less).max(1);
    }
}
