//! Limits that were replaced and still count, and the initial states of new limits.

use super::limit::{Law, Limit, LimitKind, LimitState};
use crate::Rejected;
use alloc::vec::Vec;
use core::cmp::Reverse;
use nanopace_nanos::Nanos;

const MOST_REPLACED: usize = 8;

#[derive(Clone, Debug)]
pub(crate) struct CountedLimit {
    limit: Limit,
    state: LimitState,
}

#[derive(Clone, Debug)]
pub(crate) struct Replaced(Vec<CountedLimit>);

impl CountedLimit {
    pub(crate) fn new(limit: Limit, state: LimitState) -> CountedLimit {
        CountedLimit { limit, state }
    }

    pub(crate) fn into_state(self) -> LimitState {
        self.state
    }

    pub(crate) fn as_pair(&self) -> (&Limit, &LimitState) {
        (&self.limit, &self.state)
    }

    /// Returns the index of the account whose state `limit` takes over: an account of an equal limit, or else one that
    /// counts for `limit`. If there are several, prefers the one at `same_place`, then the fullest one.
    pub(crate) fn taken_over_by(
        limit: &Limit,
        same_place: Option<usize>,
        accounts: &[CountedLimit],
        now: Nanos,
    ) -> Option<usize> {
        let counting = accounts.iter().enumerate().filter(|(_, account)| account.counts_for(limit));
        let preferred = counting.max_by_key(|(index, account)| {
            let is_same_place = same_place == Some(*index);
            (account.limit == *limit, is_same_place, account.sum(now), account.level(now))
        });
        preferred.map(|(index, _)| index)
    }

    pub(crate) fn go_on_as(&self, limit: Limit) -> CountedLimit {
        CountedLimit::new(limit, self.state.clone())
    }

    /// Begins with the rate of `others` that has the most unpaid requests, or with the most similar window, whichever
    /// counts more.
    pub(crate) fn begin(limit: Limit, others: &[CountedLimit], now: Nanos) -> CountedLimit {
        let level = others.iter().filter_map(|other| other.level(now)).max().unwrap_or_default();
        let counted = most_similar(&limit, others, now)
            .map_or_else(Vec::new, |other| other.limit.let_in(&other.state, now));
        let mut account = CountedLimit::new(limit, limit.fresh());
        account.begin_with(level, counted, now);
        account
    }

    /// Returns whether this state is also valid for `limit`. A window's state does not depend on the limit's count,
    /// except for limits that count rejected requests: they forget requests beyond their count.
    fn counts_for(&self, limit: &Limit) -> bool {
        match self.limit.kind() {
            LimitKind::Gcra { .. } | LimitKind::SlidingLogAll => self.limit == *limit,
            kind => kind == limit.kind() && self.limit.quota().period() == limit.quota().period(),
        }
    }

    fn sum(&self, now: Nanos) -> u64 {
        let let_in = self.limit.let_in(&self.state, now);
        let_in.iter().fold(0, |sum, (_, n)| sum.saturating_add(*n))
    }

    fn level(&self, now: Nanos) -> Option<UnpaidRequests> {
        let Law::Gcra { burst, .. } = self.limit.law else { return None };
        let free = self.limit.remaining(&self.state, now);
        match self.limit.peek(&self.state, now, free.saturating_add(1)) {
            Err(Rejected::NotUntil(next)) => {
                let next_ns = (next - now).as_nanos();
                Some(UnpaidRequests::new(burst - free, next_ns, interval_ns(&self.limit)))
            }
            _ => Some(UnpaidRequests::default()),
        }
    }

    fn begin_with(&mut self, level: UnpaidRequests, counted: Vec<(Nanos, u64)>, now: Nanos) {
        let period = self.limit.quota().period();
        let recent: Vec<_> =
            counted.into_iter().filter(|(moment, _)| now - *moment < period).collect();
        let sum = recent.iter().fold(0_u64, |sum, (_, n)| sum.saturating_add(*n));
        match self.limit.law {
            Law::Gcra { burst, .. } if level.requests() >= sum => {
                let level = level.at_most(burst);
                let paid_ns = level.paid_ns(interval_ns(&self.limit));
                self.debit(
                    Nanos::from_nanos(now.as_nanos().saturating_sub(paid_ns)),
                    level.requests(),
                );
            }
            Law::Gcra { .. } => self.debit(now, sum),
            _ => {
                for (moment, n) in recent {
                    self.debit(moment, n);
                }
                self.debit(now, level.requests().saturating_sub(sum));
            }
        }
    }

    fn debit(&mut self, now: Nanos, n: u64) {
        self.limit.debit_for_others(&mut self.state, now, n);
    }

    fn idle_from(&self) -> Nanos {
        self.limit.idle_from(&self.state)
    }

    fn is_idle(&self, now: Nanos) -> bool {
        let from = self.idle_from();
        from <= now && from < Nanos::MAX
    }
}

impl Replaced {
    /// Keeps the accounts that still count, unless a limit in force has taken them over or is equal to their limit.
    pub(crate) fn by(
        in_force: &[CountedLimit],
        taken_over: &[usize],
        accounts: Vec<CountedLimit>,
        now: Nanos,
    ) -> Option<Replaced> {
        let goes_on = |index: usize, old: &CountedLimit| {
            taken_over.contains(&index) || in_force.iter().any(|new| new.limit == old.limit)
        };
        let kept = accounts
            .into_iter()
            .enumerate()
            .filter(|(index, account)| !account.is_idle(now) && !goes_on(*index, account));
        let mut accounts: Vec<CountedLimit> = kept.map(|(_, account)| account).collect();
        accounts.sort_by_key(|account| Reverse(account.idle_from()));
        accounts.truncate(MOST_REPLACED);
        accounts.shrink_to_fit();
        Replaced::of(accounts)
    }

    pub(crate) fn of(accounts: Vec<CountedLimit>) -> Option<Replaced> {
        (!accounts.is_empty()).then_some(Replaced(accounts))
    }

    pub(crate) fn counted(&self) -> &[CountedLimit] {
        &self.0
    }

    pub(crate) fn has_ended(&mut self, now: Nanos) -> bool {
        self.0.iter_mut().for_each(|account| account.limit.advance(&mut account.state, now));
        self.0.retain(|account| !account.is_idle(now));
        self.0.is_empty()
    }

    pub(crate) fn debit(&mut self, now: Nanos, n: u64) {
        self.0.iter_mut().for_each(|account| account.debit(now, n));
    }

    pub(crate) fn idle_from(&self) -> Nanos {
        self.0.iter().map(CountedLimit::idle_from).max().unwrap_or(Nanos::ZERO)
    }
}

/// Returns the window that is most similar to the limit. Windows that cannot have forgotten a part of the limit's
/// period are preferred, then windows whose periods are not shorter, then the window with the closest period.
fn most_similar<'a>(
    limit: &Limit,
    others: &'a [CountedLimit],
    now: Nanos,
) -> Option<&'a CountedLimit> {
    let period = limit.quota().period();
    let windows = others.iter().filter(|other| !matches!(other.limit.law, Law::Gcra { .. }));
    windows.min_by_key(|other| {
        let forgets = match other.limit.kind() {
            LimitKind::FixedWindow => true, // forgets all requests at its end
            LimitKind::SlidingLogAll => other.limit.most() < limit.most(), // forgets requests beyond its count
            _ => false,
        };
        let length = other.limit.quota().period();
        let is_short = length < period;
        (forgets || is_short, is_short, length.abs_diff(period), Reverse(other.sum(now)))
    })
}

fn interval_ns(limit: &Limit) -> u64 {
    limit.quota().period_ns() / limit.quota().count()
}

/// The number of requests of a GCRA limit that are not paid off yet, in units of 2^-32 requests, rounded up.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct UnpaidRequests(u128);

impl UnpaidRequests {
    /// Returns the level of `requests` unpaid requests, of which the first will be paid off `next_ns` from now.
    fn new(requests: u64, next_ns: u128, interval_ns: u64) -> UnpaidRequests {
        let unpaid = (next_ns << 32).div_ceil(u128::from(interval_ns)).min(1 << 32);
        UnpaidRequests((u128::from(requests - 1) << 32) + unpaid)
    }

    fn at_most(self, requests: u64) -> UnpaidRequests {
        self.min(UnpaidRequests(u128::from(requests) << 32))
    }

    fn requests(self) -> u64 {
        u64::try_from(self.0.div_ceil(1 << 32)).expect("a level is at most 2^64 - 1 requests")
    }

    fn paid_ns(self, interval_ns: u64) -> u64 {
        let paid = (u128::from(self.requests()) << 32) - self.0;
        u64::try_from((paid * u128::from(interval_ns)) >> 32).expect("less than the interval")
    }
}
