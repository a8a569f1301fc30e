//! The limits of a key: one or several, all checked before any is debited.

use super::replaced::{Account, Replaced};
use super::window::{AggregatedState, AggregatedWindow};
use crate::{Cooldown, Quota, QuotaError, Refused, Rule};
use nanopace::Nanos;
use std::fmt;
use std::num::NonZeroU16;
use std::str::FromStr;
use thiserror::Error;

/// One limit of a key: a [`Cooldown`] or an [`AggregatedWindow`].
///
/// Written as a [`Quota`] for a cooldown, `10/s`, which may say how much of it gets in at once,
/// `10/s burst 20`; with `in` and the number of slots for an aggregated window, `1000/h in 60`.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    quota: Quota,
    pub(super) law: Law,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Law {
    Cooldown { rule: Cooldown, burst: u64 },
    Window { rule: AggregatedWindow },
}

/// The limits of a key, all checked before any is debited. Written with commas between them.
///
/// ```
/// use nanopace_limits::keyed::Limits;
///
/// let limits: Limits = "10/s burst 20, 1000/h in 60".parse()?;
/// assert_eq!(limits.each().len(), 2);
/// assert_eq!(limits.to_string().parse::<Limits>()?, limits);
///
/// let error = "10/s, 1000/h in no".parse::<Limits>().unwrap_err();
/// assert_eq!(error.to_string(), "`no` is no number of slots: write 1 to 65535, as in `1000/h in 60`");
/// # Ok::<(), nanopace_limits::keyed::LimitsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits(Box<[Limit]>);

/// What [`Limits`] remember, and what those before them still count.
#[derive(Clone, Debug, Default)]
pub struct LimitsState {
    /// As many as there are limits.
    in_force: Box<[LimitState]>,
    replaced: Option<Box<Replaced>>,
}

#[derive(Clone, Debug)]
pub(super) enum LimitState {
    Cooldown(u64),
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
            (Law::Cooldown { rule: $rule, .. }, LimitState::Cooldown($own)) => $answer,
            (Law::Window { rule: $rule }, LimitState::Window($own)) => $answer,
            _ => unreachable!("a state of another law"),
        }
    };
}

impl Limit {
    /// `quota` as a [`Cooldown`], all of which may be taken at once.
    #[must_use]
    pub fn cooldown(quota: Quota) -> Limit {
        Limit { quota, law: Law::Cooldown { rule: Cooldown::new(quota), burst: quota.count() } }
    }

    /// `quota` as a [`Cooldown`] of which up to `burst` may be taken at once.
    ///
    /// # Errors
    /// [`QuotaError`] for a burst of zero, or of more than 292 years' worth.
    pub fn cooldown_with_burst(quota: Quota, burst: u64) -> Result<Limit, QuotaError> {
        let rule = Cooldown::with_burst(quota, burst)?;
        Ok(Limit { quota, law: Law::Cooldown { rule, burst } })
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

    pub(super) fn fresh(&self) -> LimitState {
        match &self.law {
            Law::Cooldown { rule, .. } => LimitState::Cooldown(rule.fresh()),
            Law::Window { rule } => LimitState::Window(Box::new(rule.fresh())),
        }
    }

    fn most(&self) -> u64 {
        match &self.law {
            Law::Cooldown { rule, .. } => rule.most(),
            Law::Window { rule } => rule.most(),
        }
    }

    pub(super) fn advance(&self, state: &mut LimitState, now: Nanos) {
        with_law!(self, state, |rule, own| rule.advance(own, now));
    }

    pub(super) fn check(&self, state: &LimitState, now: Nanos, n: u64) -> Result<(), Refused> {
        with_law!(self, state, |rule, own| rule.check(own, now, n))
    }

    pub(super) fn debit(&self, state: &mut LimitState, now: Nanos, n: u64) {
        with_law!(self, state, |rule, own| rule.debit(own, now, n));
    }

    pub(super) fn is_idle(&self, state: &LimitState, now: Nanos) -> bool {
        with_law!(self, state, |rule, own| rule.is_idle(own, now))
    }
}

impl PartialEq for Limit {
    fn eq(&self, other: &Limit) -> bool {
        let same_law = match (&self.law, &other.law) {
            (Law::Cooldown { burst, .. }, Law::Cooldown { burst: other, .. }) => burst == other,
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
            Law::Cooldown { burst, .. } if *burst != self.quota.count() => {
                write!(f, " burst {burst}")
            }
            Law::Cooldown { .. } => Ok(()),
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
            return Ok(Limit::cooldown_with_burst(quota.trim().parse()?, burst)?);
        }
        Ok(Limit::cooldown(text.trim().parse()?))
    }
}

impl Limits {
    /// Several limits at once; none lets everybody through.
    pub fn new(limits: impl IntoIterator<Item = Limit>) -> Limits {
        Limits(limits.into_iter().collect())
    }

    /// All of them.
    #[must_use]
    pub fn each(&self) -> &[Limit] {
        &self.0
    }

    /// The state that these limits go on with when they replace others at `now`: what was counted
    /// stays counted, as [`DecisionEngine`](super::DecisionEngine) says.
    #[must_use]
    pub fn carry(&self, old: &Limits, state: &LimitsState, now: Nanos) -> LimitsState {
        let account = |(limit, state): (&Limit, &LimitState)| Account::new(*limit, state.clone());
        let mut accounts: Vec<Account> = old.0.iter().zip(&state.in_force).map(account).collect();
        accounts.extend(state.replaced.iter().flat_map(|replaced| replaced.accounts()).cloned());
        let in_force: Box<[Account]> =
            self.0.iter().map(|limit| Account::opened(*limit, &accounts, now)).collect();
        let replaced = Replaced::by(&in_force, accounts, now);
        LimitsState { in_force: in_force.into_iter().map(Account::into_state).collect(), replaced }
    }
}

impl Rule for Limits {
    type State = LimitsState;

    fn fresh(&self) -> LimitsState {
        LimitsState { in_force: self.0.iter().map(Limit::fresh).collect(), replaced: None }
    }

    fn most(&self) -> u64 {
        self.0.iter().map(Limit::most).min().unwrap_or(u64::MAX)
    }

    fn advance(&self, state: &mut LimitsState, now: Nanos) {
        for (limit, state) in self.0.iter().zip(&mut state.in_force) {
            limit.advance(state, now);
        }
        state.replaced.take_if(|replaced| replaced.has_ended(now));
    }

    /// When several refuse, the one that takes longest answers.
    fn check(&self, state: &LimitsState, now: Nanos, n: u64) -> Result<(), Refused> {
        let check = |(limit, state): (&Limit, &LimitState)| limit.check(state, now, n);
        self.0
            .iter()
            .zip(&state.in_force)
            .filter_map(|each| check(each).err())
            .max()
            .map_or(Ok(()), Err)
    }

    fn debit(&self, state: &mut LimitsState, now: Nanos, n: u64) {
        for (limit, state) in self.0.iter().zip(&mut state.in_force) {
            limit.debit(state, now, n);
        }
        if let Some(replaced) = &mut state.replaced {
            replaced.debit(now, n);
        }
    }

    fn is_idle(&self, state: &LimitsState, now: Nanos) -> bool {
        let is_idle = |(limit, state): (&Limit, &LimitState)| limit.is_idle(state, now);
        self.0.iter().zip(&state.in_force).all(is_idle)
            && state.replaced.as_ref().is_none_or(|replaced| replaced.is_idle(now))
    }
}

impl fmt::Display for Limits {
    /// As [`FromStr`] reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        for limit in &self.0 {
            write!(f, "{comma}{limit}")?;
            comma = ", ";
        }
        Ok(())
    }
}

impl FromStr for Limits {
    type Err = LimitsError;

    fn from_str(text: &str) -> Result<Limits, LimitsError> {
        if text.trim().is_empty() {
            return Ok(Limits(Box::default()));
        }
        text.split(',').map(str::parse).collect::<Result<_, _>>().map(Limits)
    }
}
