//! Limiters as the crate `nanopace-limits` has them, behind one door and in virtual time.

use super::kind::Kind;
use crate::args::LimitArgs;
use anyhow::bail;
use nanopace::{ManualClock, Nanos};
use nanopace_limits::{
    AggregatedWindow, FixedWindow, Gcra, LeakyMeter, LeakyQueue, Limiter, ManagedPool, Quota,
    QuotaError, RefilledBucket, Rejected, Rule, SlidingCounter, SlidingLog, SlottedRing,
    TokenBucket,
};
use std::num::NonZeroU16;
use std::time::Duration;

/// Lets a request for so many in at a moment, and says when it goes through: at once, unless it is
/// queued.
pub(crate) type Gate = Box<dyn FnMut(u64, Nanos) -> Result<Nanos, Rejected>>;

/// The range of intervals at which a pool can be refilled.
const SHORTEST: Duration = Duration::from_nanos(1);
const LONGEST: Duration = Duration::from_secs(86_400);

/// What limiters are made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// How many per how much time.
    pub(crate) limit: Quota,
    capacity: u64,
    slots: NonZeroU16,
    backfill: f64,
    refill_every: Duration,
}

impl Settings {
    /// As asked for on the command line, with what suits the limit where nothing was.
    pub(crate) fn new(args: &LimitArgs) -> Settings {
        let hundredth = Duration::from_nanos(args.limit.period_ns() / 100).clamp(SHORTEST, LONGEST);
        Settings {
            limit: args.limit,
            capacity: args.capacity.unwrap_or(args.limit.count()),
            slots: args.slots.unwrap_or(NonZeroU16::new(10).expect("is not zero")),
            backfill: args.backfill.unwrap_or(1.25),
            refill_every: args.refill_every.unwrap_or(hundredth),
        }
    }

    /// A limiter that has let nothing in yet, the first request being at `first`.
    pub(crate) fn gate(&self, kind: Kind, first: Nanos) -> anyhow::Result<Gate> {
        let Settings { limit, capacity, .. } = *self;
        Ok(match kind {
            Kind::Cooldown => ruled(Gcra::with_burst(limit, capacity)?),
            Kind::LeakyBucket => ruled(LeakyMeter::new(limit, capacity)?),
            Kind::LeakyQueue => queued(LeakyQueue::new(limit, capacity)?),
            Kind::TokenBucket => ruled(TokenBucket::new(limit, capacity)?),
            Kind::RefilledTokenBucket => self.refilled()?,
            Kind::Pool => self.pool(first)?,
            Kind::FixedWindow => ruled(FixedWindow::new(limit)),
            Kind::SlidingLog => ruled(SlidingLog::new(limit)),
            Kind::SlidingLogAll => ruled(SlidingLog::counting_rejected(limit)),
            Kind::SlidingCounter => ruled(SlidingCounter::new(limit)?),
            Kind::RollingRing => ring(limit, self.slots.get(), false)?,
            Kind::GuardingRing => ring(limit, self.slots.get(), true)?,
            Kind::AggregatedWindow => ruled(AggregatedWindow::new(limit, self.slots)),
        })
    }

    /// Full at first; refilled at the multiples of the period.
    fn refilled(&self) -> Result<Gate, QuotaError> {
        let bucket = RefilledBucket::unattended(
            self.limit,
            self.capacity,
            self.capacity,
            1,
            ManualClock::new(),
        )?;
        Ok(Box::new(move |n, now| bucket.try_acquire_n_at(n, now).map(|()| now)))
    }

    /// A pool is empty at first: this one began to fill one period before the first request, in a
    /// time of its own.
    fn pool(&self, first: Nanos) -> Result<Gate, QuotaError> {
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

fn ruled(rule: impl Rule + 'static) -> Gate {
    let mut state = rule.fresh();
    Box::new(move |n, now| rule.decide(&mut state, now, n).map(|()| now))
}

/// A ring's slots are known to the compiler, so there is only a choice of them.
fn ring(limit: Quota, slots: u16, guarding: bool) -> anyhow::Result<Gate> {
    macro_rules! ring_of {
        ($($size:literal)+) => {
            match slots {
                $($size if guarding => Ok(ruled(SlottedRing::<{ $size + 1 }>::guarding(limit))),)+
                $($size => Ok(ruled(SlottedRing::<$size>::new(limit))),)+
                _ => bail!("rings here have {} slots: write one of these", [$(stringify!($size)),+].join(", ")),
            }
        };
    }
    ring_of!(2 4 5 8 10 16 20 32 50 64 100)
}

fn queued(rule: LeakyQueue) -> Gate {
    let mut state = rule.fresh();
    Box::new(move |n, now| {
        let departure = rule.departure(state, now);
        rule.decide(&mut state, now, n).map(|()| departure)
    })
}
