//! The limits of a key: one or several, all checked before any is debited.

use crate::limit::LimitState;
use crate::replaced::{Account, Replaced};
use crate::{Limit, LimitsError};
use nanopace::Nanos;
use nanopace_limits::{Rejected, Rule};
use std::fmt;
use std::str::FromStr;

/// The limits of a key. All of them are checked before any is debited. They are written with commas
/// between them.
///
/// ```
/// use nanopace_keyed::Limits;
///
/// let limits: Limits = "10/s burst 20, 1000/h in 60".parse()?;
/// assert_eq!(limits.each().len(), 2);
/// assert_eq!(limits.to_string().parse::<Limits>()?, limits);
///
/// let error = "10/s, 1000/h in no".parse::<Limits>().unwrap_err();
/// assert_eq!(error.to_string(), "`no` is no number of slots: write 1 to 65535, as in `1000/h in 60`");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits(Box<[Limit]>);

/// What [`Limits`] remember, and what the limits before them still count.
#[derive(Clone, Debug, Default)]
pub struct LimitsState {
    /// As many as there are limits.
    in_force: Box<[LimitState]>,
    replaced: Option<Box<Replaced>>,
}

impl Limits {
    /// Several limits at once. No limits at all let every request through.
    ///
    /// ```
    /// use nanopace_keyed::{Limit, Limits};
    ///
    /// let limits = Limits::new([Limit::gcra("10/s".parse()?), "1000/h in 60".parse()?]);
    /// assert_eq!(limits.to_string(), "10/s, 1000/h in 60");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(limits: impl IntoIterator<Item = Limit>) -> Limits {
        Limits(limits.into_iter().collect())
    }

    /// All of them.
    ///
    /// ```
    /// use nanopace_keyed::Limits;
    ///
    /// assert_eq!("10/s, 1000/h in 60".parse::<Limits>()?.each().len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn each(&self) -> &[Limit] {
        &self.0
    }

    /// The state that these limits begin with when they replace the `old` ones at `now`. What was
    /// counted stays counted, as [`DecisionEngine`](crate::DecisionEngine) says.
    ///
    /// ```
    /// use nanopace::Nanos;
    /// use nanopace_keyed::Limits;
    /// use nanopace_limits::Rule;
    ///
    /// let (old, new): (Limits, Limits) = ("2/s".parse()?, "3/s".parse()?);
    /// let mut state = old.fresh();
    /// old.decide(&mut state, Nanos::ZERO, 2)?;
    /// let mut state = new.carry(&old, &state, Nanos::ZERO);
    /// assert!(new.decide(&mut state, Nanos::ZERO, 1).is_ok());
    /// assert!(new.decide(&mut state, Nanos::ZERO, 1).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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

    /// If several limits reject the request, the answer is the one with the longest wait.
    fn check(&self, state: &LimitsState, now: Nanos, n: u64) -> Result<(), Rejected> {
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
