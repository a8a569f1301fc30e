//! Exports states as numbers and imports them, for `nanopace-remote`.

use super::limit::{Law, Limit, LimitState};
use super::replaced::{CountedLimit, Replaced};
use super::{Limits, LimitsState};
use crate::rules::{Counts, double, whole};
use alloc::boxed::Box;
use alloc::vec::Vec;
use nanopace_nanos::Nanos;

type Numbers = [f64; 3];

impl Limit {
    fn interval_micros(&self) -> f64 {
        double(self.quota().period_ns()) / 1e3 / double(self.quota().count())
    }

    fn numbers(&self, state: &LimitState, now: Nanos) -> Option<Numbers> {
        let windows = |Counts { number, before, now }| [number, before, now].map(double);
        match (&self.law, state) {
            (Law::Gcra { rule, .. }, LimitState::Word { word, refunded }) => {
                // If nothing is owed, the moment is the one at which the debt was paid off, not `now`, because the
                // clock may be set back.
                let micros = rule.schedule().paid_from(*word).min(now).as_nanos() / 1_000;
                let at = Nanos::from_nanos(micros * 1_000);
                let owed = self.interval_micros() * rule.schedule().requests_owed(*word, at);
                Some([owed, double(micros), f64::from(*refunded)])
            }
            (Law::Fixed { rule }, LimitState::Word { word, .. }) => Some(windows(rule.seen(*word))),
            (_, LimitState::Counts(counts)) => Some(windows(**counts)),
            _ => None,
        }
    }

    fn state(&self, numbers: Numbers) -> Option<LimitState> {
        let [first, second, third] = numbers.map(whole);
        let counts = Counts { number: first, before: second, now: third };
        match self.law {
            Law::Gcra { rule, .. } => {
                let at = Nanos::from_nanos(second.saturating_mul(1_000));
                let word = rule.schedule().owing_requests(numbers[0] / self.interval_micros(), at);
                Some(LimitState::Word { word, refunded: u32::try_from(third).unwrap_or(u32::MAX) })
            }
            Law::Fixed { rule } => Some(LimitState::word(rule.state(counts))),
            Law::Counter { rule } => Some(LimitState::Counts(Box::new(rule.state(counts)))),
            Law::Window { .. } | Law::Log { .. } => None,
        }
    }
}

impl Limits {
    /// Returns the state of each of these limits at `now`, followed by the states of the replaced limits that still
    /// count. Each state is three numbers:
    ///
    /// * a rate: the owed time in microseconds; the moment, in microseconds, at which this time is owed; and a wrapping
    ///   32-bit counter of the requests that were refunded or did not fit into the burst since all debt was last paid
    ///   off;
    /// * a window of the clock: the number of the latest window that has admitted anything, the count of the window
    ///   before it (0 for a [`LimitKind::FixedWindow`]), and the count of the latest window.
    ///
    /// Returns `None` if one of these or of the replaced limits counts single requests or slots
    /// ([`LimitKind::SlidingLog`], [`LimitKind::SlidingLogAll`], [`LimitKind::AggregatedWindow`]): their states need
    /// more than three numbers.
    ///
    /// [`LimitKind::FixedWindow`]: crate::LimitKind::FixedWindow
    /// [`LimitKind::SlidingLog`]: crate::LimitKind::SlidingLog
    /// [`LimitKind::SlidingLogAll`]: crate::LimitKind::SlidingLogAll
    /// [`LimitKind::AggregatedWindow`]: crate::LimitKind::AggregatedWindow
    #[must_use]
    pub fn export(&self, state: &LimitsState, now: Nanos) -> Option<Vec<(Limit, [f64; 3])>> {
        let replaced = state.replaced().into_iter().flat_map(Replaced::counted);
        let all = self.each_with(state).chain(replaced.map(CountedLimit::as_pair));
        all.map(|(limit, state)| Some((*limit, limit.numbers(state, now)?))).collect()
    }

    /// Restores a state from the numbers that [`export`](Limits::export) returned. Returns `None` if there are fewer
    /// entries than limits, or if the state of a limit needs more than three numbers.
    #[must_use]
    pub fn import(&self, numbers: &[(Limit, [f64; 3])]) -> Option<LimitsState> {
        let (in_force, replaced) = numbers.split_at_checked(self.each().len())?;
        let in_force = in_force.iter().map(|(limit, numbers)| limit.state(*numbers));
        let account = |(limit, numbers): &(Limit, Numbers)| {
            Some(CountedLimit::new(*limit, limit.state(*numbers)?))
        };
        let replaced: Option<Vec<_>> = replaced.iter().map(account).collect();
        Some(LimitsState::new(in_force.collect::<Option<_>>()?, Replaced::of(replaced?)))
    }
}
