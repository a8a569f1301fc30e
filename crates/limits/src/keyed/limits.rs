//! The limits of a key: one or several, all checked before any is debited.

use super::window::{AggregatedState, AggregatedWindow};
use crate::{Cooldown, Quota, QuotaError, Refused, Rule};
use nanopace::Nanos;
use std::fmt;
use std::num::NonZeroU16;
use std::str::FromStr;
use thiserror::Error;

/// One limit of a key: a [`Cooldown`] or an [`AggregatedWindow`].
///
/// Written as a [`Quota`] for a cooldown, `10/s`, which may say how much of it gets in at once, `10/s burst 20`; with `in` and the
/// number of slots for an aggregated window, `1000/h in 60`.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    quota: Quota,
    law: Law,
}

#[derive(Clone, Copy, Debug)]
enum Law {
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

/// What [`Limits`] remember.
#[derive(Clone, Debug, Default)]
pub struct LimitsState(Box<[LimitState]>);

#[derive(Clone, Debug)]
enum LimitState {
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

/// A limit's rule and state together; a state is never another law's, because [`Limit::fresh`] and [`Limit::carry`] make all.
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

    fn fresh(&self) -> LimitState {
        match &self.law {
            Law::Cooldown { rule, .. } => LimitState::Cooldown(rule.fresh()),
            Law::Window { rule } => LimitState::Window(Box::new(rule.fresh())),
        }
    }

    /// Goes on with what the most similar of the old limits has counted: the same one, else the one of the shortest period
    /// that is not shorter, else the one of the longest.
    fn carry(&self, old: &Limits, states: &LimitsState, now: Nanos) -> LimitState {
        let period = self.quota.period();
        let difference = |(old, _): &(&Limit, &LimitState)| {
            let other = old.quota.period();
            (*old != self, other < period, other.abs_diff(period))
        };
        match old.0.iter().zip(&states.0).min_by_key(difference) {
            None => self.fresh(),
            Some((limit, state)) if limit == self => state.clone(),
            Some((limit, state)) => self.having_let_in(&limit.let_in(state, now), now),
        }
    }

    /// When what counts at `now` was let in at the latest, and how much.
    fn let_in(&self, state: &LimitState, now: Nanos) -> Vec<(Nanos, u64)> {
        match (&self.law, state) {
            (Law::Window { rule }, LimitState::Window(state)) => rule.let_in(state, now),
            (Law::Cooldown { burst, .. }, _) => vec![(now, burst - self.room(state, now, *burst))],
            _ => unreachable!("a state of another law"),
        }
    }

    /// How much of `most` would still be let in.
    fn room(&self, state: &LimitState, now: Nanos, most: u64) -> u64 {
        let (mut fits, mut above) = (0, most.saturating_add(1));
        while above - fits > 1 {
            let middle = fits + (above - fits) / 2;
            match with_law!(self, state, |rule, own| rule.check(own, now, middle)) {
                Ok(()) => fits = middle,
                Err(_) => above = middle,
            }
        }
        fits
    }

    /// The state after `let_in`; a cooldown is at most empty, for it recovers from any burst within the time of one.
    fn having_let_in(&self, let_in: &[(Nanos, u64)], now: Nanos) -> LimitState {
        let recent = let_in.iter().filter(|(moment, _)| now - *moment < self.quota.period());
        let mut state = self.fresh();
        match (&self.law, &mut state) {
            (Law::Window { rule }, LimitState::Window(own)) => {
                recent.for_each(|&(moment, n)| rule.debit(own, moment, n));
            }
            (Law::Cooldown { rule, burst }, LimitState::Cooldown(own)) => {
                rule.debit(own, now, recent.map(|(_, n)| n).sum::<u64>().min(*burst));
            }
            _ => unreachable!("a state of another law"),
        }
        state
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
            Law::Cooldown { burst, .. } if *burst != self.quota.count() => write!(f, " burst {burst}"),
            Law::Cooldown { .. } => Ok(()),
        }
    }
}

impl FromStr for Limit {
    type Err = LimitsError;

    fn from_str(text: &str) -> Result<Limit, LimitsError> {
        if let Some((quota, slots)) = text.split_once(" in ") {
            let slots = slots.trim().parse().map_err(|_| LimitsError::Slots(slots.trim().to_owned()))?;
            return Ok(Limit::window(quota.trim().parse()?, slots));
        }
        if let Some((quota, burst)) = text.split_once(" burst ") {
            let burst = burst.trim().parse().map_err(|_| LimitsError::Burst(burst.trim().to_owned()))?;
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

    /// The state that these limits go on with when they replace others at `now`: what was counted stays counted.
    #[must_use]
    pub fn carry(&self, old: &Limits, state: &LimitsState, now: Nanos) -> LimitsState {
        LimitsState(self.0.iter().map(|limit| limit.carry(old, state, now)).collect())
    }
}

impl Rule for Limits {
    type State = LimitsState;

    fn fresh(&self) -> LimitsState {
        LimitsState(self.0.iter().map(Limit::fresh).collect())
    }

    fn advance(&self, state: &mut LimitsState, now: Nanos) {
        for (limit, state) in self.0.iter().zip(&mut state.0) {
            with_law!(limit, state, |rule, own| rule.advance(own, now));
        }
    }

    /// When several refuse, the one that takes longest answers.
    fn check(&self, state: &LimitsState, now: Nanos, n: u64) -> Result<(), Refused> {
        let check = |(limit, state): (&Limit, &LimitState)| {
            with_law!(limit, state, |rule, own| rule.check(own, now, n))
        };
        self.0.iter().zip(&state.0).filter_map(|each| check(each).err()).max().map_or(Ok(()), Err)
    }

    fn debit(&self, state: &mut LimitsState, now: Nanos, n: u64) {
        for (limit, state) in self.0.iter().zip(&mut state.0) {
            with_law!(limit, state, |rule, own| rule.debit(own, now, n));
        }
    }

    fn is_idle(&self, state: &LimitsState, now: Nanos) -> bool {
        let is_idle = |(limit, state): (&Limit, &LimitState)| {
            with_law!(limit, state, |rule, own| rule.is_idle(own, now))
        };
        self.0.iter().zip(&state.0).all(is_idle)
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
