//! Laws and states in doubles, for decisions that are made in a store. Times are in microseconds.

use crate::counts::Counts;
use crate::limit::{Kind, Law, LimitState};
use crate::replaced::{Account, Replaced};
use crate::virtual_schedule::{double, whole};
use crate::{Limit, Limits, LimitsState};
use alloc::boxed::Box;
use alloc::vec::Vec;
use nanopace_nanos::Nanos;

/// The state of a limit in three numbers.
///
/// * A rate: the time that is owed, the moment at which it is, and by how many requests the debt has gone
///   back so far, modulo 2^32.
/// * A window: the number of the latest window that has let anything in, the count of the window before
///   it, and its own count.
pub type Numbers = [f64; 3];

#[doc(hidden)]
impl Limit {
    /// A letter for the law and its two numbers: `r`, the interval and the most that may be owed for a rate;
    /// `f` or `s`, the length and the count for windows of the clock. None if the state takes more than
    /// [`Numbers`].
    ///
    /// The sums of a rate are rounded. So the most that may be owed is higher by a trillionth, but by no
    /// more than half a microsecond.
    #[must_use]
    pub fn law_in_doubles(&self) -> Option<(char, [f64; 2])> {
        let [period, count] =
            [double(self.quota().period_ns()) / 1e3, double(self.quota().count())];
        match self.kind() {
            Kind::Gcra { burst } => {
                let most = period / count * double(burst);
                Some(('r', [period / count, most + (most * 1e-12).min(0.5)]))
            }
            Kind::Fixed => Some(('f', [period, count])),
            Kind::Counter => Some(('s', [period, count])),
            Kind::Window { .. } | Kind::Log | Kind::LogAll => None,
        }
    }

    fn numbers(&self, state: &LimitState, now: Nanos) -> Option<Numbers> {
        let (_, [interval, _]) = self.law_in_doubles()?;
        let windows = |Counts { number, before, now }| [number, before, now].map(double);
        match (&self.law, state) {
            (Law::Gcra { rule, .. }, LimitState::Word { word, back }) => {
                // If nothing is owed any more, since when: the clock may be set back.
                let micros = rule.schedule().paid_from(*word).min(now).as_nanos() / 1_000;
                let at = Nanos::from_nanos(micros * 1_000);
                let owed = interval * rule.schedule().requests_owed(*word, at);
                Some([owed, double(micros), f64::from(*back)])
            }
            (Law::Fixed { rule }, LimitState::Word { word, .. }) => Some(windows(rule.seen(*word))),
            (_, LimitState::Counts(counts)) => Some(windows(**counts)),
            _ => None,
        }
    }

    fn state(&self, numbers: Numbers) -> Option<LimitState> {
        let (_, [interval, _]) = self.law_in_doubles()?;
        let [first, second, third] = numbers.map(whole);
        let counts = Counts { number: first, before: second, now: third };
        match self.law {
            Law::Gcra { rule, .. } => {
                let at = Nanos::from_nanos(second.saturating_mul(1_000));
                let word = rule.schedule().owing_requests(numbers[0] / interval, at);
                Some(LimitState::Word { word, back: u32::try_from(third).unwrap_or(u32::MAX) })
            }
            Law::Fixed { rule } => Some(LimitState::word(rule.state(counts))),
            Law::Counter { rule } => Some(LimitState::Counts(Box::new(rule.state(counts)))),
            Law::Window { .. } | Law::Log { .. } => None,
        }
    }
}

#[doc(hidden)]
impl Limits {
    /// The state of each of these limits at `now`, and then of the replaced limits that still count. None
    /// if a state takes more numbers.
    #[must_use]
    pub fn numbers(&self, state: &LimitsState, now: Nanos) -> Option<Vec<(Limit, Numbers)>> {
        let replaced = state.replaced().into_iter().flat_map(Replaced::accounts);
        let all = self.each_with(state).chain(replaced.map(Account::parts));
        all.map(|(limit, state)| Some((*limit, limit.numbers(state, now)?))).collect()
    }

    /// The state that [`numbers`](Limits::numbers) has written. None if there are fewer than these limits,
    /// or if a limit takes more numbers.
    #[must_use]
    pub fn state(&self, numbers: &[(Limit, Numbers)]) -> Option<LimitsState> {
        let (in_force, replaced) = numbers.split_at_checked(self.each().len())?;
        let in_force = in_force.iter().map(|(limit, numbers)| limit.state(*numbers));
        let account = |(limit, numbers): &(Limit, Numbers)| {
            Some(Account::new(*limit, limit.state(*numbers)?))
        };
        let replaced: Option<Vec<_>> = replaced.iter().map(account).collect();
        Some(LimitsState::new(in_force.collect::<Option<_>>()?, Replaced::of(replaced?)))
    }
}
