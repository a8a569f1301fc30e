//! Laws and states in whole numbers, for decisions that are made elsewhere: in a store, say.

use crate::counts::Counts;
use crate::limit::{Law, LimitState};
use crate::replaced::{Account, Replaced};
use crate::{Limit, Limits, LimitsState};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// The law of a limit whose state is a few integers, with the numbers that decide.
///
/// A rate is decided in *units*: `moment` nanoseconds are `moment` - `moment` x `shortfall_q64` /
/// 2^64 of them, rounded up. A request for n gets in if what is owed is at most the moment plus
/// (`burst` - n) x `interval` units. Then the greater of both plus n x `interval` is owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arithmetic {
    /// A [`Gcra`](crate::Gcra).
    Rate {
        /// How many units each request takes to pay off: 1 to 2^63 - 1.
        interval: u64,
        /// By how much a unit's rate falls short of one per nanosecond, in 2^-64: below 2^63.
        shortfall_q64: u64,
        /// The most that get in at once; times the interval it is below 2^63.
        burst: u64,
    },
    /// A [`FixedWindow`](crate::FixedWindow).
    FixedWindow {
        /// The length of a window in nanoseconds: 1 to 2^63 - 1.
        period_ns: u64,
        /// The most that get in during a window.
        count: u64,
        /// The most that can be counted, also where other limits let more in.
        largest: u64,
    },
    /// A [`SlidingCounter`](crate::SlidingCounter).
    SlidingCounter {
        /// The length of a window in nanoseconds: 1 to 2^63 - 1.
        period_ns: u64,
        /// The most that get in during a period, nearly.
        count: u64,
    },
}

/// The state of such a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PortableState {
    /// The state of a rate.
    Rate {
        /// When all that was let in is paid off, in units.
        owed: u64,
        /// By how many requests that has gone back so far, in a circle; 0 if never.
        back: u32,
    },
    /// The state of a window.
    Windows {
        /// The number of the latest window that has let anything in: its start by its length.
        number: u64,
        /// What the window before it has let in; 0 of a fixed window.
        before: u64,
        /// What it has let in itself.
        now: u64,
    },
}

/// A limit with what it has counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortableAccount {
    /// The limit.
    pub limit: Limit,
    /// What the limit has counted.
    pub state: PortableState,
}

#[doc(hidden)]
impl Limit {
    /// The numbers that decide, if the limit's state is a few integers: if it is a rate, a fixed
    /// window or a sliding counter.
    #[must_use]
    pub fn arithmetic(&self) -> Option<Arithmetic> {
        let (period_ns, count) = (self.quota().period_ns(), self.quota().count());
        match self.law {
            Law::Gcra { rule, burst } => {
                let (interval, shortfall_q64) = rule.schedule().units();
                Some(Arithmetic::Rate { interval, shortfall_q64, burst })
            }
            Law::Fixed { rule } => {
                let largest = rule.largest_count();
                Some(Arithmetic::FixedWindow { period_ns, count, largest })
            }
            Law::Counter { .. } => Some(Arithmetic::SlidingCounter { period_ns, count }),
            Law::Window { .. } | Law::Log { .. } => None,
        }
    }

    fn portable(&self, state: &LimitState) -> Option<PortableAccount> {
        let windows =
            |Counts { number, before, now }| PortableState::Windows { number, before, now };
        let state = match (&self.law, state) {
            (Law::Gcra { .. }, &LimitState::Word { word, back }) => {
                PortableState::Rate { owed: word, back }
            }
            (Law::Fixed { rule }, LimitState::Word { word, .. }) => windows(rule.seen(*word)),
            (_, LimitState::Counts(counts)) => windows(**counts),
            _ => return None,
        };
        Some(PortableAccount { limit: *self, state })
    }
}

impl PortableAccount {
    fn own_state(&self) -> Option<LimitState> {
        match (&self.limit.law, self.state) {
            (Law::Gcra { .. }, PortableState::Rate { owed, back }) => {
                Some(LimitState::Word { word: owed, back })
            }
            (Law::Fixed { rule }, PortableState::Windows { number, before, now }) => {
                rule.state(Counts { number, before, now }).map(LimitState::word)
            }
            (Law::Counter { rule }, PortableState::Windows { number, before, now }) => rule
                .has(number)
                .then(|| LimitState::Counts(Box::new(Counts { number, before, now }))),
            _ => None,
        }
    }
}

#[doc(hidden)]
impl Limits {
    /// A state in whole numbers: first of these limits, in their order, and then of those that they
    /// have replaced and that still count. None if a state is not a few integers.
    #[must_use]
    pub fn to_portable(&self, state: &LimitsState) -> Option<Vec<PortableAccount>> {
        let in_force = self.each().iter().zip(state.in_force());
        let replaced = state.replaced().into_iter().flat_map(Replaced::accounts);
        let all = in_force.chain(replaced.map(Account::parts));
        all.map(|(limit, state)| limit.portable(state)).collect()
    }

    /// The state that [`to_portable`](Limits::to_portable) has written. None if the accounts don't
    /// begin with these limits, or if a state is not one of its limit.
    #[must_use]
    pub fn from_portable(&self, accounts: &[PortableAccount]) -> Option<LimitsState> {
        let (in_force, replaced) = accounts.split_at_checked(self.each().len())?;
        let is_of = |(account, limit): (&PortableAccount, &Limit)| account.limit == *limit;
        if !in_force.iter().zip(self.each()).all(is_of) {
            return None;
        }
        let in_force: Option<Vec<_>> = in_force.iter().map(PortableAccount::own_state).collect();
        let account = |old: &PortableAccount| Some(Account::new(old.limit, old.own_state()?));
        let replaced: Option<Vec<_>> = replaced.iter().map(account).collect();
        Some(LimitsState::new(in_force?, Replaced::of(replaced?)))
    }
}
