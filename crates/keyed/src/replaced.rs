//! What replaced limits still count, and what the limits that replace them begin with.

use crate::limit::{Law, Limit, LimitState};
use nanopace::Nanos;
use nanopace_limits::Rejected;
use std::cmp::Reverse;

/// The most replaced limits that a key's entry keeps counting for.
const MOST_REPLACED: usize = 8;

/// A limit, and what it has counted.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    limit: Limit,
    state: LimitState,
}

/// Limits that are no longer in force. They keep counting until nothing that they have counted
/// matters any more. If one comes back into force before that, it has forgotten nothing.
#[derive(Clone, Debug)]
pub(crate) struct Replaced(Vec<Account>);

impl Account {
    pub(crate) fn new(limit: Limit, state: LimitState) -> Account {
        Account { limit, state }
    }

    pub(crate) fn into_state(self) -> LimitState {
        self.state
    }

    /// Goes on with the account of the same limit among `others`, or begins with what these have
    /// counted by `now`.
    pub(crate) fn opened(limit: Limit, others: &[Account], now: Nanos) -> Account {
        if let Some(same) = others.iter().find(|other| other.remembers_for(&limit)) {
            return Account::new(limit, same.state.clone());
        }
        let level = others.iter().filter_map(|other| other.level(now)).max().unwrap_or_default();
        let counted =
            most_similar(&limit, others).map_or_else(Vec::new, |other| other.counted(now));
        let mut account = Account::new(limit, limit.fresh());
        account.take_over(level, counted, now);
        account
    }

    /// Whether it is an account of that limit: a window's is the same for any count.
    fn remembers_for(&self, limit: &Limit) -> bool {
        match (&self.limit.law, &limit.law) {
            (Law::Window { rule }, Law::Window { rule: other }) => {
                (self.limit.quota().period(), rule.slots())
                    == (limit.quota().period(), other.slots())
            }
            _ => self.limit == *limit,
        }
    }

    /// What a GCRA limit has counted and what is not paid off at `now`.
    fn level(&self, now: Nanos) -> Option<Level> {
        let Law::Gcra { burst, .. } = self.limit.law else { return None };
        let free = self.room(burst, now);
        match self.limit.check(&self.state, now, free.saturating_add(1)) {
            Err(Rejected::NotUntil(next)) => {
                Some(Level::new(burst - free, (next - now).as_nanos(), interval_ns(&self.limit)))
            }
            _ => Some(Level::default()),
        }
    }

    /// How much of `most` would still be let in.
    fn room(&self, most: u64, now: Nanos) -> u64 {
        let (mut fits, mut above) = (0, most.saturating_add(1));
        while above - fits > 1 {
            let middle = fits + (above - fits) / 2;
            match self.limit.check(&self.state, now, middle) {
                Ok(()) => fits = middle,
                Err(_) => above = middle,
            }
        }
        fits
    }

    /// What a window counts at `now`, each at the latest moment at which it may have been let in.
    fn counted(&self, now: Nanos) -> Vec<(Nanos, u64)> {
        match (&self.limit.law, &self.state) {
            (Law::Window { rule }, LimitState::Window(state)) => rule.let_in(state, now).collect(),
            _ => Vec::new(),
        }
    }

    /// Counts whichever is more: the level, or what was let in within the period.
    fn take_over(&mut self, level: Level, counted: Vec<(Nanos, u64)>, now: Nanos) {
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
            Law::Window { .. } => {
                for (moment, n) in recent {
                    self.debit(moment, n);
                }
                self.debit(now, level.requests().saturating_sub(sum));
            }
        }
    }

    /// Counts what other limits have let in.
    fn debit(&mut self, now: Nanos, n: u64) {
        match self.limit.law {
            Law::Gcra { burst, .. } if self.limit.check(&self.state, now, n).is_err() => {
                self.exhaust(now, burst);
            }
            _ => self.limit.debit(&mut self.state, now, n),
        }
    }

    /// A GCRA limit owes no more than this, so it recovers within the time of one burst.
    fn exhaust(&mut self, now: Nanos, burst: u64) {
        let mut exhausted = self.limit.fresh();
        self.limit.debit(&mut exhausted, now, burst);
        if let (LimitState::Gcra(owed), LimitState::Gcra(most)) = (&mut self.state, exhausted) {
            *owed = most.max(*owed);
        }
    }

    /// From when on nothing counts any more.
    fn ends(&self, now: Nanos) -> Nanos {
        let all = match self.limit.law {
            Law::Gcra { burst, .. } => burst,
            Law::Window { rule } => rule.quota().count(),
        };
        match self.limit.check(&self.state, now, all) {
            Err(Rejected::NotUntil(moment)) => moment,
            _ => now,
        }
    }

    fn is_idle(&self, now: Nanos) -> bool {
        self.limit.is_idle(&self.state, now)
    }
}

impl Replaced {
    /// Those of `accounts` that `in_force` do not go on with; if there are too many, those that
    /// count for longest.
    pub(crate) fn by(
        in_force: &[Account],
        mut accounts: Vec<Account>,
        now: Nanos,
    ) -> Option<Box<Replaced>> {
        let goes_on = |old: &Account| {
            in_force
                .iter()
                .any(|new| new.remembers_for(&old.limit) || covers(&new.limit, &old.limit))
        };
        accounts.retain(|account| !account.is_idle(now) && !goes_on(account));
        accounts.sort_by_key(|account| Reverse(account.ends(now)));
        accounts.truncate(MOST_REPLACED);
        accounts.shrink_to_fit();
        (!accounts.is_empty()).then(|| Box::new(Replaced(accounts)))
    }

    pub(crate) fn accounts(&self) -> &[Account] {
        &self.0
    }

    /// Forgets what no longer counts at `now`; says whether that is everything.
    pub(crate) fn has_ended(&mut self, now: Nanos) -> bool {
        self.0.iter_mut().for_each(|account| account.limit.advance(&mut account.state, now));
        self.0.retain(|account| !account.is_idle(now));
        self.0.is_empty()
    }

    pub(crate) fn debit(&mut self, now: Nanos, n: u64) {
        self.0.iter_mut().for_each(|account| account.debit(now, n));
    }

    pub(crate) fn is_idle(&self, now: Nanos) -> bool {
        self.0.iter().all(|account| account.is_idle(now))
    }
}

/// The window with the shortest period that is not shorter than the limit's. If there is none, the
/// window with the longest period. No other has seen more of what counts within that period.
fn most_similar<'a>(limit: &Limit, others: &'a [Account]) -> Option<&'a Account> {
    let period = limit.quota().period();
    let windows = others.iter().filter(|other| matches!(other.limit.law, Law::Window { .. }));
    windows.min_by_key(|other| {
        let other = other.limit.quota().period();
        (other < period, other.abs_diff(period))
    })
}

/// Whether an account of `limit` counts as much as one of `other`, and for as long. Then an account
/// that is opened later takes over at least as much, whatever the order of changes.
fn covers(limit: &Limit, other: &Limit) -> bool {
    match (&limit.law, &other.law) {
        (Law::Gcra { burst, .. }, Law::Gcra { burst: others, .. }) => {
            burst >= others && interval_ns(limit) >= interval_ns(other)
        }
        (Law::Window { .. }, Law::Window { .. }) => {
            limit.quota().period() >= other.quota().period()
        }
        _ => false,
    }
}

fn interval_ns(limit: &Limit) -> u64 {
    limit.quota().period_ns() / limit.quota().count()
}

/// How many requests a GCRA limit has counted that are not paid off, in 2^-32 of one, rounded up.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Level(u128);

impl Level {
    /// `requests` of them. The first one will be paid off `next_ns` from now.
    fn new(requests: u64, next_ns: u128, interval_ns: u64) -> Level {
        let unpaid = (next_ns << 32).div_ceil(u128::from(interval_ns)).min(1 << 32);
        Level((u128::from(requests - 1) << 32) + unpaid)
    }

    fn at_most(self, requests: u64) -> Level {
        self.min(Level(u128::from(requests) << 32))
    }

    /// A begun one included.
    fn requests(self) -> u64 {
        u64::try_from(self.0.div_ceil(1 << 32)).expect("made of a word")
    }

    /// How long ago the first of them began to be paid off, where that takes `interval_ns`.
    fn paid_ns(self, interval_ns: u64) -> u64 {
        let paid = (u128::from(self.requests()) << 32) - self.0;
        u64::try_from((paid * u128::from(interval_ns)) >> 32).expect("less than the interval")
    }
}
