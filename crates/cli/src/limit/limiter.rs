//! The limiters of the crate `nanopace-limits`, all with the same interface and in virtual time.

use crate::limit::kind::Kind;
use anyhow::bail;
use nanopace::{ManualClock, Nanos};
use nanopace_limits::pools::{ManagedPool, RefilledBucket};
use nanopace_limits::{
    AggregatedWindow, FixedWindow, Gcra, LeakyQueue, Limits, Quota, QuotaError, Rejected, Rule,
    SlidingCounter, SlidingLog, SlottedRing, TokenBucket, TryAcquire,
};
use std::num::NonZeroU16;
use std::time::Duration;

/// Decides about a request of some cost at some moment. It returns when the request goes through:
/// at once, unless it is queued.
pub(crate) type AnyLimiter = Box<dyn FnMut(u64, Nanos) -> Result<Nanos, Rejected>>;

/// The range of intervals at which a pool can be refilled.
const SHORTEST: Duration = Duration::from_nanos(1);
const LONGEST: Duration = Duration::from_secs(86_400);

/// The settings that limiters are made with.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The limit to keep.
    pub(crate) limit: Quota,
    /// The limits as they are written; that one is the first.
    pub(crate) limits: Limits,
    /// The most that gets in at once, for limiters that have a capacity.
    pub(crate) capacity: u64,
    /// The slots of a period, for windows that have slots.
    pub(crate) slots: NonZeroU16,
    /// How far a pool is filled above its capacity while tokens wait.
    pub(crate) backfill: f64,
    /// How often a pool is refilled.
    pub(crate) refill_every: Duration,
}

impl Settings {
    /// How often a pool is refilled unless something else is asked for: a hundred times in a
    /// period of the limit, and at least once a day.
    pub(crate) fn usual_refill(limit: Quota) -> Duration {
        Duration::from_nanos(limit.period_ns() / 100).clamp(SHORTEST, LONGEST)
    }

    /// A limiter that has let nothing in yet. Its first request comes at `first`.
    pub(crate) fn limiter(&self, kind: Kind, first: Nanos) -> anyhow::Result<AnyLimiter> {
        let Settings { limit, capacity, .. } = *self;
        Ok(match kind {
            Kind::Cooldown => from_rule(Gcra::with_burst(limit, capacity)?),
            Kind::LeakyBucket => from_rule(TokenBucket::leaky_meter(limit, capacity)?),
            Kind::LeakyQueue => from_queue(LeakyQueue::new(limit, capacity)?),
            Kind::TokenBucket => from_rule(TokenBucket::new(limit, capacity)?),
            Kind::RefilledTokenBucket => self.refilled()?,
            Kind::Pool => self.pool(first)?,
            Kind::FixedWindow => from_rule(FixedWindow::new(limit)),
            Kind::SlidingLog => from_rule(SlidingLog::new(limit)),
            Kind::SlidingLogAll => from_rule(SlidingLog::counting_rejected(limit)),
            Kind::SlidingCounter => from_rule(SlidingCounter::new(limit)?),
            Kind::RollingRing => ring(limit, self.slots.get(), false)?,
            Kind::GuardingRing => ring(limit, self.slots.get(), true)?,
            Kind::AggregatedWindow => from_rule(AggregatedWindow::new(limit, self.slots)),
            Kind::AsWritten => from_rule(self.limits.clone()),
        })
    }

    /// A bucket that is full at first, and refilled at the multiples of the period.
    fn refilled(&self) -> Result<AnyLimiter, QuotaError> {
        let bucket = RefilledBucket::unattended(
            self.limit,
            self.capacity,
            self.capacity,
            1,
            ManualClock::new(),
        )?;
        Ok(Box::new(move |n, now| bucket.try_acquire_n_at(n, now).map(|()| now)))
    }

    /// A pool that began to fill one period before the first request: a new pool is empty. Its own
    /// time runs one period ahead.
    fn pool(&self, first: Nanos) -> Result<AnyLimiter, QuotaError> {
        let clock = ManualClock::new();
        clock.set(first);
        let pool = ManagedPool::unattended(
            self.limit,
            self.capacity,
            self.backfill,
            self.refill_every,
            clock,
        )?;
        let head_start = self.limit.period();
        Ok(Box::new(move |n, now| match pool.try_acquire_n_at(n, now + head_start) {
            Err(Rejected::NotUntil(then)) => {
                Err(Rejected::NotUntil(now + (then - (now + head_start))))
            }
            answer => answer.map(|()| now),
        }))
    }
}

fn from_rule(rule: impl Rule + 'static) -> AnyLimiter {
    let mut state = rule.fresh();
    Box::new(move |n, now| rule.try_acquire(&mut state, now, n).map(|()| now))
}

/// A ring of slots. The number of slots is a constant of its type, so only some can be chosen.
fn ring(limit: Quota, slots: u16, guarding: bool) -> anyhow::Result<AnyLimiter> {
    macro_rules! ring_of {
        ($($size:literal)+) => {
            match slots {
                $($size if guarding => Ok(from_rule(SlottedRing::<{ $size + 1 }>::guarding(limit))),)+
                $($size => Ok(from_rule(SlottedRing::<$size>::new(limit))),)+
                _ => bail!("rings here have {} slots: write one of these", [$(stringify!($size)),+].join(", ")),
            }
        };
    }
    ring_of!(2 4 5 8 10 16 20 32 50 64 100)
}

fn from_queue(rule: LeakyQueue) -> AnyLimiter {
    let mut state = rule.fresh();
    Box::new(move |n, now| {
        let departure = rule.departure(state, now);
        rule.try_acquire(&mut state, now, n).map(|()| departure)
    })
}
