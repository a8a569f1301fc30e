//! One limit of a key.

use nanopace::Nanos;
use nanopace_limits::{AggregatedState, AggregatedWindow, Gcra, Quota, QuotaError, Rejected, Rule};
use std::fmt;
use std::num::NonZeroU16;
use std::str::FromStr;
use thiserror::Error;

/// One limit of a key: a [`Gcra`] or an [`AggregatedWindow`].
///
/// Written as a [`Quota`] for a cooldown, `10/s`, which may say how much of it gets in at once,
/// `10/s burst 20`; with `in` and the number of slots for an aggregated window, `1000/h in 60`.
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
    /// Boxed, so that a cooldown beside it takes no more than it needs.
    Window(Box<AggregatedState>),
}

/// Why something is no [`Limits`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LimitsError {
    /// A quota, or a burst that does not go with it.
    #[error(transparent)]
    Quota(#[from] QuotaError),
    /// Not a number of slots.
    #[error("`{0}` is no number of slots: write 1 to 65535, as in `1000/h in 60`")]
    Slots(String),
    /// Not a burst.
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
    /// `quota` as a [`Gcra`], all of which may be taken at once.
    #[must_use]
    pub fn gcra(quota: Quota) -> Limit {
        Limit { quota, law: Law::Gcra { rule: Gcra::new(quota), burst: quota.count() } }
    }

    /// `quota` as a [`Gcra`] of which up to `burst` may be taken at once.
    ///
    /// # Errors
    /// [`QuotaError`] for a burst of zero, or of more than 292 years' worth.
    pub fn gcra_with_burst(quota: Quota, burst: u64) -> Result<Limit, QuotaError> {
        let rule = Gcra::with_burst(quota, burst)?;
        Ok(Limit { quota, law: Law::Gcra { rule, burst } })
    }

    /// `quota` as an [`AggregatedWindow`] of `slots` slots.
    #[must_use]
    pub fn window(quota: Quota, slots: NonZeroU16) -> Limit {
        Limit { quota, law: Law::Window { rule: AggregatedWindow::new(quota, slots) } }
    }

    /// What it lets through.
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
