//! The token pool and the bucket that are refilled at fixed moments, with any numbers, on a clock
//! that jumps forth and back: nothing panics or hangs; looking is deciding; who comes back when
//! told gets in; and no token comes from anywhere else or gets lost.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use nanopace::{ManualClock, Nanos};
use nanopace_fuzz::{AnyQuota, Move, Number};
use nanopace_limits::pools::{ManagedPool, RefilledBucket, TokenPool};
use nanopace_limits::{TryAcquire, Quota, QuotaError, Rejected};
use std::time::Duration;

/// The longest period of a bucket, and interval of a pool.
const DAY_NS: u64 = 86_400_000_000_000;

#[derive(Arbitrary, Debug)]
enum Step {
    Move(Move),
    Take(Number),
    TakePart(Number),
    Refill,
    Close,
}

#[derive(Arbitrary, Debug)]
struct Setting {
    origin: Number,
    quota: AnyQuota,
    size: Number,
    initial: Number,
    cost: Number,
    ratio: f64,
    interval: Number,
}

impl Setting {
    fn clock(&self) -> ManualClock {
        let clock = ManualClock::new();
        clock.set(Nanos::from_nanos(self.origin.get()));
        clock
    }

    fn pool(&self) -> Result<Pool, QuotaError> {
        let (quota, interval) =
            (self.quota.get(), Duration::from_nanos(self.interval.up_to(DAY_NS)));
        let pool =
            ManagedPool::unattended(quota, self.size.get(), self.ratio, interval, self.clock())?;
        let origin = Nanos::from_nanos(self.origin.get());
        Ok(Pool { pool, quota, interval, origin, latest: origin, taken: 0, closed: false })
    }

    /// A bucket, and its period.
    fn bucket(&self) -> Result<Bucket, QuotaError> {
        let quota = self.quota.get();
        let (capacity, cost) = (self.size.get(), self.cost.up_to(self.size.get().max(1)));
        let tokens = self.initial.get().min(capacity);
        let bucket = RefilledBucket::unattended(quota, capacity, tokens, cost, self.clock())?;
        Ok(Bucket { bucket, quota, capacity, cost, origin: self.origin.get(), tokens, refills: 0 })
    }
}

/// Takes `n`; comes back when told; says whether it got them at last, and when that was.
fn take(limiter: &impl TryAcquire, n: u64, now: Nanos) -> (bool, Nanos) {
    let looked = limiter.peek_n_at(n, now);
    let answer = limiter.try_acquire_n_at(n, now);
    assert_eq!(looked, answer, "{n} at {now:?}");
    match answer {
        Err(Rejected::NotUntil(moment)) if moment < Nanos::MAX => {
            assert!(moment > now, "{n} at {now:?}: {moment:?}");
            assert_eq!(
                limiter.try_acquire_n_at(n, moment),
                Ok(()),
                "{n} told to come at {moment:?}"
            );
            (true, moment)
        }
        answer => (answer.is_ok(), now),
    }
}

struct Pool {
    pool: ManagedPool,
    quota: Quota,
    interval: Duration,
    origin: Nanos,
    /// The latest that anybody asked at, while it was open.
    latest: Nanos,
    taken: u128,
    closed: bool,
}

impl Pool {
    fn step(&mut self, step: &Step, now: Nanos) -> Nanos {
        let n = match step {
            Step::Take(n) => n.get(),
            Step::TakePart(n) => n.up_to(self.pool.snapshot().capacity()),
            Step::Close => return self.close(now),
            Step::Move(_) | Step::Refill => return now,
        };
        let (taken, now) = take(&self.pool, n, now);
        self.taken += u128::from(if taken { n } else { 0 });
        if !self.closed {
            self.latest = self.latest.max(now);
        }
        now
    }

    fn close(&mut self, now: Nanos) -> Nanos {
        self.closed = true;
        self.pool.close();
        now
    }

    /// What the quota has brought by the last refill is taken, waits, or can be taken.
    fn check(&self) {
        let pool = self.pool.snapshot();
        let elapsed_ns = (self.latest - self.origin).as_nanos();
        let refilled_ns = elapsed_ns / self.interval.as_nanos() * self.interval.as_nanos();
        let refilled =
            refilled_ns * u128::from(self.quota.count()) / u128::from(self.quota.period_ns());
        assert_eq!(self.taken + pool.waiting() + u128::from(pool.active()), refilled, "{pool:?}");
        assert!(pool.active() <= pool.capacity());
    }
}

/// A bucket beside its definition.
struct Bucket {
    bucket: RefilledBucket,
    quota: Quota,
    capacity: u64,
    cost: u64,
    origin: u64,
    tokens: u64,
    refills: u64,
}

impl Bucket {
    fn step(&mut self, step: &Step, now: Nanos) -> Nanos {
        let n = match step {
            Step::Take(n) => n.get(),
            Step::TakePart(n) => n.up_to((self.capacity / self.cost).max(1)),
            Step::Refill => 0,
            Step::Move(_) | Step::Close => return now,
        };
        let (taken, now) = take(&self.bucket, n, now);
        let due = now.as_nanos().saturating_sub(self.origin) / self.quota.period_ns();
        let more = due.saturating_sub(self.refills).saturating_mul(self.quota.count());
        self.tokens = self.tokens.saturating_add(more).min(self.capacity);
        self.refills = self.refills.max(due);
        if taken {
            self.tokens -= n * self.cost;
        }
        assert_eq!(self.bucket.tokens(), self.tokens);
        now
    }
}

/// Refills and takes at will, of a pool without a clock.
fn bare(setting: &Setting, steps: &[Step]) {
    let Ok(mut pool) = TokenPool::new(setting.size.get(), setting.ratio) else { return };
    let (mut refilled, mut taken) = (0_u128, 0_u128);
    for step in steps {
        match step {
            Step::Move(Move::On(tokens) | Move::Back(tokens)) => {
                pool.refill(tokens.get());
                refilled += u128::from(tokens.get());
            }
            Step::Take(n) | Step::TakePart(n) => {
                let (n, active) = (n.get(), pool.active());
                assert_eq!(pool.take(n), n <= active);
                taken += u128::from(active - pool.active());
            }
            _ => {}
        }
        assert!(pool.active() <= pool.capacity());
        assert_eq!(taken + pool.waiting() + u128::from(pool.active()), refilled, "{pool:?}");
    }
}

fuzz_target!(|input: (Setting, Vec<Step>)| {
    let (setting, steps) = input;
    bare(&setting, &steps);
    let (mut pool, mut bucket) = (setting.pool().ok(), setting.bucket().ok());
    let mut now = Nanos::from_nanos(setting.origin.get());
    for step in &steps {
        if let Step::Move(change) = step {
            now = change.from(now, setting.quota.get());
        }
        if let Some(pool) = &mut pool {
            now = pool.step(step, now);
            pool.check();
        }
        if let Some(bucket) = &mut bucket {
            now = bucket.step(step, now);
        }
    }
});
