//! One limit of a key.

use nanopace::Nanos;
use nanopace_limits::{AggregatedState, AggregatedWindow, Gcra, Quota, QuotaError, Rejected, Rule};
use std::fmt;
use std::num::NonZeroU16;
use std::str::FromStr;
use thiserror::Error;

/// One limit of a key: a [`Gcra`] or an [`AggregatedWindow`].
///
/// A GCRA limit is written as a [`Quota`], `10/s`. It may say how many requests get in at once,
/// `10/s burst 20`. An aggregated window is written with `in` and the number of its slots, `1000/h
/// in 60`.
///
/// ```
/// use nanopace_keyed::Limit;
///
/// let limit: Limit = "10/s burst 20".parse()?;
/// assert_eq!(limit, Limit::gcra_with_burst("10/s".parse()?, 20)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    quota: Quota,
    pub(crate) law: Law,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Law {
    Gcra { rule: Gcra, burst: u64 },
    Window { rule: AggregatedWindow },
}

#[derive(Clone, Debug)]
pub(crate) enum LimitState {
    Gcra(u64),
    /// Boxed, so that a GCRA limit beside it takes no more memory than it needs.
    Window(Box<AggregatedState>),
}

/// Why a text is not a [`Limit`], or not [`Limits`](crate::Limits).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LimitsError {
    /// A quota that is not valid, or a burst that does not go with it.
    #[error(transparent)]
    Quota(#[from] QuotaError),
    /// Text that is not a number of slots.
    #[error("`{0}` is no number of slots: write 1 to 65535, as in `1000/h in 60`")]
    Slots(String),
    /// Text that is not a burst.
    #[error("`{0}` is no burst: write how many may get in at once, as in `10/s burst 20`")]
    Burst(String),
}

/// A limit's rule and state together; a state is never another law's, because [`Limit::fresh`]
/// makes all.
macro_rules! with_law {
    ($limit:expr, $state:expr, |$rule:ident, $own:ident| $answer:expr) => {
        match (&$limit.law, $state) {
            (Law::Gcra { rule: $rule, .. }, LimitState::Gcra($own)) => $answer,
            (Law::Window { rule: $rule }, LimitState::Window($own)) => $answer,
            _ => unreachable!("a state of another law"),
        }
    };
}

impl Limit {
    /// `quota` as a [`Gcra`]. All of its count may get in at once.
    ///
    /// ```
    /// use nanopace_keyed::Limit;
    ///
    /// assert_eq!(Limit::gcra("10/s".parse()?).to_string(), "10/s");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn gcra(quota: Quota) -> Limit {
        Limit { quota, law: Law::Gcra { rule: Gcra::new(quota), burst: quota.count() } }
    }

    /// `quota` as a [`Gcra`], of which up to `burst` may get in at once.
    ///
    /// # Errors
    /// [`QuotaError::CapacityTooSmall`] for a burst of zero, [`QuotaError::CapacityTooLarge`] for
    /// one that takes more than 292 years to come back.
    ///
    /// ```
    /// use nanopace_keyed::Limit;
    ///
    /// assert_eq!(Limit::gcra_with_burst("10/s".parse()?, 20)?.to_string(), "10/s burst 20");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn gcra_with_burst(quota: Quota, burst: u64) -> Result<Limit, QuotaError> {
        let rule = Gcra::with_burst(quota, burst)?;
        Ok(Limit { quota, law: Law::Gcra { rule, burst } })
    }

    /// `quota` as an [`AggregatedWindow`] of `slots` slots.
    ///
    /// ```
    /// use nanopace_keyed::Limit;
    /// use std::num::NonZeroU16;
    ///
    /// let limit = Limit::window("1000/h".parse()?, NonZeroU16::new(60).unwrap());
    /// assert_eq!(limit.to_string(), "1000/h in 60");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn window(quota: Quota, slots: NonZeroU16) -> Limit {
        Limit { quota, law: Law::Window { rule: AggregatedWindow::new(quota, slots) } }
    }

    /// Its quota.
    ///
    /// ```
    /// use nanopace_keyed::Limit;
    ///
    /// assert_eq!("10/s burst 20".parse::<Limit>()?.quota(), "10/s".parse()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn quota(&self) -> Quota {
        self.quota
    }

    pub(crate) fn fresh(&self) -> LimitState {
        match &self.law {
            Law::Gcra { rule, .. } => LimitState::Gcra(rule.fresh()),
            Law::Window { rule } => LimitState::Window(Box::new(rule.fresh())),
        }
    }

    pub(crate) fn most(&self) -> u64 {
        match &self.law {
            Law::Gcra { rule, .. } => rule.most(),
            Law::Window { rule } => rule.most(),
        }
    }

    pub(crate) fn advance(&self, state: &mut LimitState, now: Nanos) {
        with_law!(self, state, |rule, own| rule.advance(own, now));
    }

    pub(crate) fn check(&self, state: &LimitState, now: Nanos, n: u64) -> Result<(), Rejected> {
        with_law!(self, state, |rule, own| rule.check(own, now, n))
    }

    pub(crate) fn debit(&self, state: &mut LimitState, now: Nanos, n: u64) {
        with_law!(self, state, |rule, own| rule.debit(own, now, n));
    }

    pub(crate) fn is_idle(&self, state: &LimitState, now: Nanos) -> bool {
        with_law!(self, state, |rule, own| rule.is_idle(own, now))
    }
}

impl PartialEq for Limit {
    fn eq(&self, other: &Limit) -> bool {
        let same_law = match (&self.law, &other.law) {
            (Law::Gcra { burst, .. }, Law::Gcra { burst: other, .. }) => burst == other,
            (Law::Window { rule }, Law::Window { rule: other }) => rule == other,
            _ => false,
        };
        same_law && self.quota == other.quota
    }
}

impl Eq for Limit {}

impl fmt::Display for Limit {
    /// As [`FromStr`] reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.quota)?;
        match &self.law {
            Law::Window { rule } => write!(f, " in {}", rule.slots()),
            Law::Gcra { burst, .. } if *burst != self.quota.count() => {
                write!(f, " burst {burst}")
            }
            Law::Gcra { .. } => Ok(()),
        }
    }
}

impl FromStr for Limit {
    type Err = LimitsError;

    fn from_str(text: &str) -> Result<Limit, LimitsError> {
        if let Some((quota, slots)) = text.split_once(" in ") {
            let slots =
                slots.trim().parse().map_err(|_| LimitsError::Slots(slots.trim().to_owned()))?;
            return Ok(Limit::window(quota.trim().parse()?, slots));
        }
        if let Some((quota, burst)) = text.split_once(" burst ") {
            let burst =
                burst.trim().parse().map_err(|_| LimitsError::Burst(burst.trim().to_owned()))?;
            return Ok(Limit::gcra_with_burst(quota.trim().parse()?, burst)?);
        }
        Ok(Limit::gcra(text.trim().parse()?))
    }
}
