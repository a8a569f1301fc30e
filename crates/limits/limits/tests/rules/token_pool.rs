//! Tests the token pool: its arithmetic against its law in fractions, and the pool that a thread refills.

use crate::common::until;
use crate::laws::{Arrival, DAY, MILLI, SECOND, at, span};
use nanopace_limits::pools::{AcquireError, ManagedPool, TokenPool};
use nanopace_limits::{Quota, QuotaError, Rejected, TryAcquire};
use nanopace_nanos::{ManualClock, Nanos};
use proptest::prelude::*;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

fn pool(size: u64, ratio: f64, refills: &[u64]) -> TokenPool {
    let mut pool = TokenPool::new(size, ratio).unwrap();
    for tokens in refills {
        pool.refill(*tokens);
    }
    pool
}

fn total(pool: &TokenPool) -> u128 {
    u128::from(pool.active()) + pool.waiting()
}

#[test]
fn pools_at_the_edges_of_the_types() {
    let mut pool = pool(1 << 62, 2.0, &[u64::MAX; 5]);
    assert_eq!(pool.active(), 1 << 63);
    assert_eq!(total(&pool), 5 * u128::from(u64::MAX));
    assert!(pool.take(1 << 63) && !pool.take(1) && pool.take(0));
}

#[test]
fn invalid_pools_are_errors() {
    assert_eq!(TokenPool::new(0, 1.25).unwrap_err(), QuotaError::CapacityTooSmall { least: 1 });
    for ratio in [0.99, -1.0, 0.0, f64::NAN, f64::INFINITY] {
        assert_eq!(TokenPool::new(10, ratio).unwrap_err(), QuotaError::Ratio);
    }
    for (size, ratio) in [(u64::MAX, 1.0), (1 << 62, 2.1), (1, 1e300)] {
        assert_eq!(
            TokenPool::new(size, ratio).unwrap_err(),
            QuotaError::CapacityTooLarge { most: 1 << 63 }
        );
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Refill(u64),
    Take(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let refill = prop_oneof![0..10_u64, 0..3_000_u64, Just(u64::MAX)].prop_map(Step::Refill);
    let take = prop_oneof![0..10_u64, 0..3_000_u64].prop_map(Step::Take);
    prop::collection::vec(prop_oneof![refill, take], 1..100)
}

proptest! {
    /// The moved amounts may differ from the law only by the carried fraction.
    #[test]
    fn no_token_is_created_destroyed_or_scaled(size in 1..2_000_u64, percent in 100..400_u32, steps in steps()) {
        let mut pool = TokenPool::new(size, f64::from(percent) / 100.0).unwrap();
        let share = u128::from(pool.capacity() - size);
        prop_assert!((u128::from(size) * u128::from(percent)).abs_diff(100 * u128::from(pool.capacity())) <= 50);
        let (mut refilled, mut taken) = (0_u128, 0_u128);
        for step in steps {
            let before = pool.clone();
            match step {
                Step::Take(tokens) => {
                    let gets_in = pool.take(tokens);
                    prop_assert_eq!(gets_in, tokens <= before.active());
                    prop_assert_eq!(pool.waiting(), before.waiting());
                    taken += if gets_in { u128::from(tokens) } else { 0 };
                }
                Step::Refill(tokens) => {
                    pool.refill(tokens);
                    refilled += u128::from(tokens);
                    let filled = tokens.min(size.saturating_sub(before.active()));
                    let spilt = before.waiting() + u128::from(tokens - filled);
                    let moved = u128::from(pool.active() - before.active() - filled);
                    let room = u128::from(pool.capacity() - before.active() - filled);
                    let paced = u128::from(tokens) * share / u128::from(size);
                    let least = paced.min(room).min(spilt);
                    let most = (paced + 1).min(room).min(spilt);
                    prop_assert!((least..=most).contains(&moved), "{} not in {}..={}", moved, least, most);
                }
            }
            prop_assert_eq!(total(&pool), refilled - taken);
            prop_assert!(pool.active() <= pool.capacity());
        }
    }

    #[test]
    fn fractions_are_carried(size in 10..1_000_u64, refills in prop::collection::vec(0..10_u64, 1..100)) {
        let mut pool = TokenPool::new(size, 1.5).unwrap();
        pool.refill(size);
        let share = u128::from(pool.capacity() - size);
        let mut sum = 0;
        for tokens in refills {
            let active = pool.active();
            pool.refill(tokens);
            sum += u128::from(tokens);
            prop_assert!(pool.take(pool.active() - size), "keeps the room");
            prop_assert!(active <= size);
        }
        prop_assert_eq!(u128::from(size) + sum - total(&pool), sum * share / u128::from(size) );
    }
}

proptest! {
    #[test]
    fn the_managed_pool_is_its_definition(
        count in 1..50_u64, period_ns in 50..100_000_u64, interval_ns in 1..10_000_u64, size in 1..40_u64,
        arrivals in crate::laws::arrivals(50_000, 20, 60),
    ) {
        let quota = Quota::new(count, span(period_ns)).unwrap();
        let managed = ManagedPool::unattended(quota, size, 1.25, span(interval_ns), ManualClock::new()).unwrap();
        let mut pool = TokenPool::new(size, 1.25).unwrap();
        let (mut latest, mut refilled) = (0, 0);
        let mut bring = |pool: &mut TokenPool, now: Nanos| {
            latest = latest.max(now.as_nanos());
            let brought = u128::from(latest / interval_ns * interval_ns) * u128::from(count) / u128::from(period_ns);
            pool.refill(u64::try_from(brought - refilled).unwrap());
            refilled = brought;
        };
        for Arrival { now, n } in arrivals {
            if (1..=pool.capacity()).contains(&n) {
                bring(&mut pool, now);
            }
            let _ = managed.peek_n_at(n, now + span(1_000_000));
            prop_assert_eq!(managed.peek_n_at(n, now).is_ok(), n <= pool.active());
            match managed.try_acquire_n_at(n, now) {
                Ok(()) => prop_assert!(pool.take(n)),
                Err(Rejected::ExceedsCapacity { capacity }) => {
                    prop_assert_eq!(capacity, pool.capacity());
                    prop_assert!(n > capacity);
                }
                Err(Rejected::NotUntil(moment)) => {
                    prop_assert!(!pool.clone().take(n) && n <= pool.capacity());
                    if moment < Nanos::MAX {
                        // Retry times ignore waiting tokens, and depend on how refills are combined if the request is
                        // larger than the size. In these cases, a request before the retry time may be admitted.
                        let is_exact = pool.waiting() == 0 && n <= size;
                        let earlier = managed.peek_n_at(n, at(moment.as_nanos() - 1));
                        prop_assert!(!is_exact || earlier.is_err(), "told {:?} at {:?}", moment, now);
                        prop_assert_eq!(managed.try_acquire_n_at(n, moment), Ok(()), "told {:?} at {:?}", moment, now);
                        bring(&mut pool, moment);
                        prop_assert!(pool.take(n));
                    }
                }
            }
            let snapshot = managed.snapshot();
            prop_assert_eq!((snapshot.active(), snapshot.waiting()), (pool.active(), pool.waiting()));
        }
    }
}

fn managed() -> (ManualClock, Arc<ManagedPool>) {
    let clock = ManualClock::new();
    let interval = Duration::from_millis(10);
    let pool =
        ManagedPool::start("1k/s".parse().unwrap(), 100, 1.25, interval, clock.clone()).unwrap();
    (clock, Arc::new(pool))
}

fn ms(ms: u64) -> Nanos {
    at(ms * MILLI)
}

fn not_until(moment: Nanos) -> Result<Duration, Rejected> {
    Err(Rejected::NotUntil(moment))
}

fn waiter(pool: &Arc<ManagedPool>, tokens: u64) -> JoinHandle<Result<Duration, AcquireError>> {
    let queued = pool.queued();
    let thread = thread::spawn({
        let pool = Arc::clone(pool);
        move || pool.acquire(tokens)
    });
    until("a caller that waits", || pool.queued() == queued + 1);
    thread
}

#[test]
fn the_refill_thread_refills_from_the_clock() {
    let (clock, pool) = managed();
    for refill in 1..=10 {
        clock.advance(span(10 * MILLI - 1));
        assert_eq!(pool.snapshot().active(), 10 * (refill - 1));
        clock.advance(span(1));
        until("a refill", || pool.snapshot().active() == 10 * refill);
    }
    clock.advance(span(7 * DAY));
    until("a refill", || total(&pool.snapshot()) == 100 + 7 * 86_400 * 1_000);
    assert_eq!(pool.snapshot().active(), 125);
}

#[test]
fn take_returns_the_wait_time_or_the_retry_time() {
    let (clock, pool) = managed();
    assert_eq!(pool.take(10), not_until(ms(10)));
    assert_eq!(pool.take(11), not_until(ms(20)));
    assert_eq!(pool.take(110), not_until(ms(140)), "100 fill it, and 40 more move 10");
    assert_eq!(pool.take(126), Err(Rejected::ExceedsCapacity { capacity: 125 }));
    assert_eq!(pool.take(0), Ok(Duration::ZERO));
    clock.set(ms(50));
    assert_eq!(pool.take(10), Ok(span(40 * MILLI)), "the tenth token came after 10 ms");
    assert_eq!(pool.take(40), Ok(Duration::ZERO));
    assert_eq!(pool.take(1), not_until(ms(60)));
    clock.set(ms(59));
    assert_eq!(pool.take(1), not_until(ms(60)));
}

#[test]
fn acquire_blocks_until_the_tokens_are_there_and_returns_the_wait_time() {
    let (clock, pool) = managed();
    let first = waiter(&pool, 25);
    let second = waiter(&pool, 10);
    assert_eq!(pool.take(1), not_until(ms(10)), "not ahead of those that wait");
    clock.set(ms(20));
    until("refills", || pool.snapshot().active() == 20);
    assert_eq!(pool.queued(), 2, "nobody overtakes");
    clock.set(ms(30));
    assert_eq!(first.join().unwrap(), Ok(span(5 * MILLI)), "the 25th token came after 25 ms");
    clock.set(ms(40));
    assert_eq!(second.join().unwrap(), Ok(span(5 * MILLI)), "the 35th after 35 ms");
    assert_eq!(pool.acquire(5), Ok(Duration::ZERO));
    assert_eq!(pool.acquire(0), Ok(Duration::ZERO));
    assert_eq!(pool.acquire(126), Err(AcquireError::ExceedsCapacity { capacity: 125 }));
}

#[test]
fn acquire_of_more_than_the_size_gets_its_backfill() {
    let (clock, pool) = managed();
    let all = waiter(&pool, 125);
    clock.set(ms(200));
    assert_eq!(all.join().unwrap(), Ok(span(75 * MILLI)));
}

#[test]
fn a_close_wakes_all_callers() {
    let (clock, pool) = managed();
    let waiters: Vec<_> = (1..10).map(|tokens| waiter(&pool, tokens)).collect();
    pool.close();
    for waiter in waiters {
        assert_eq!(waiter.join().unwrap(), Err(AcquireError::Closed));
    }
    clock.set(ms(1_000));
    assert_eq!(pool.acquire(1), Err(AcquireError::Closed));
    assert_eq!(pool.take(1), not_until(Nanos::MAX));
    assert_eq!(pool.acquire(0), Ok(Duration::ZERO));
}

#[test]
fn tokens_left_at_a_close_can_be_taken() {
    let (clock, pool) = managed();
    clock.set(ms(10));
    assert_eq!(pool.try_acquire_n_at(4, ms(10)), Ok(()));
    pool.close();
    assert_eq!(pool.take(6), Ok(Duration::ZERO));
    assert_eq!(pool.peek_n_at(1, ms(10)), Err(Rejected::NotUntil(Nanos::MAX)));
}

#[test]
fn invalid_intervals_are_errors() {
    for interval in [Duration::ZERO, span(DAY + 1)] {
        let pool =
            ManagedPool::start("1/s".parse().unwrap(), 10, 1.0, interval, ManualClock::new());
        assert_eq!(pool.unwrap_err(), QuotaError::Interval);
    }
}

#[test]
fn a_change_serves_the_callers_that_it_admits() {
    let hour = span(3_600 * SECOND);
    let clock = ManualClock::new();
    let pool = ManagedPool::start("1k/s".parse().unwrap(), 100, 1.0, hour, clock.clone()).unwrap();
    let pool = Arc::new(pool);
    let first = waiter(&pool, 100);
    clock.set(ms(150));
    assert_eq!(pool.queued(), 1, "the next refill is in an hour");
    pool.set_interval(span(10 * MILLI)).unwrap();
    assert_eq!(first.join().unwrap(), Ok(span(50 * MILLI)), "the 100th token came after 100 ms");
    let second = waiter(&pool, 5);
    clock.set(ms(160));
    assert_eq!(second.join().unwrap(), Ok(span(55 * MILLI)), "the 105th after 105 ms");
}

#[test]
fn the_refill_thread_does_not_wait_out_the_old_interval() {
    let clock = ManualClock::new();
    let day = span(DAY);
    let pool = ManagedPool::start("1/day".parse().unwrap(), 100, 1.0, day, clock.clone()).unwrap();
    pool.set_quota("100/s".parse().unwrap());
    pool.set_interval(span(10 * MILLI)).unwrap();
    for refill in 1..=10 {
        clock.advance(span(10 * MILLI));
        until("a refill", || pool.snapshot().active() == refill);
    }
}

#[test]
fn a_smaller_pool_rejects_large_requests_and_serves_the_next() {
    let (clock, pool) = managed();
    clock.set(ms(20));
    until("a refill", || pool.snapshot().active() == 20);
    let large = waiter(&pool, 110);
    let small = waiter(&pool, 15);
    pool.set_size(100, 1.0).unwrap();
    assert_eq!(large.join().unwrap(), Err(AcquireError::ExceedsCapacity { capacity: 100 }));
    assert_eq!(small.join().unwrap(), Ok(span(5 * MILLI)));
    assert_eq!(pool.take(101), Err(Rejected::ExceedsCapacity { capacity: 100 }));
}

#[test]
fn tokens_are_as_late_as_the_quota_that_brought_them_says() {
    let clock = ManualClock::new();
    let pool =
        ManagedPool::unattended("1/s".parse().unwrap(), 100, 1.0, span(MILLI), clock.clone())
            .unwrap();
    clock.set(ms(10_500));
    pool.set_quota("10/s".parse().unwrap());
    clock.set(ms(11_500));
    assert_eq!(pool.take(1), Ok(span(10_500 * MILLI)), "the first came after 1 s");
    assert_eq!(pool.take(8), Ok(span(2_500 * MILLI)), "the ninth after 9 s");
    pool.set_quota("1/s".parse().unwrap());
    assert_eq!(pool.take(1), Ok(span(1_500 * MILLI)), "the tenth after 10 s");
    assert_eq!(
        pool.take(1),
        Ok(span(950 * MILLI)),
        "half of the token came at 10.5 s, the rest 50 ms later"
    );
    assert_eq!(pool.take(9), Ok(span(50 * MILLI)));
    assert_eq!(pool.take(1), not_until(ms(12_000)), "half of the token has come");
}

#[test]
fn an_invalid_change_of_a_pool_has_no_effect() {
    let (clock, pool) = managed();
    assert_eq!(pool.set_interval(Duration::ZERO), Err(QuotaError::Interval));
    assert_eq!(pool.set_size(0, 1.0), Err(QuotaError::CapacityTooSmall { least: 1 }));
    assert_eq!(pool.set_size(10, 0.5), Err(QuotaError::Ratio));
    assert_eq!((pool.interval(), pool.snapshot().capacity()), (span(10 * MILLI), 125));
    clock.set(ms(10));
    assert_eq!(pool.take(10), Ok(Duration::ZERO));
}

#[test]
fn a_closed_pool_stays_closed_whatever_is_changed() {
    let (clock, pool) = managed();
    pool.close();
    clock.set(ms(100));
    pool.set_quota("1M/s".parse().unwrap());
    pool.set_interval(span(MILLI)).unwrap();
    pool.set_size(1_000, 1.0).unwrap();
    clock.set(ms(200));
    pool.refill();
    assert_eq!(total(&pool.snapshot()), 0);
    assert_eq!(pool.acquire(1), Err(AcquireError::Closed));
}

#[derive(Clone, Copy, Debug)]
enum Turn {
    Advance(u64),
    Take(u64),
    SetQuota(u64, u64),
    SetSize(u64, f64),
    SetInterval(u64),
}

const COMMON_NS: u64 = 5_040;

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let period_ns = prop::sample::select(vec![720_u64, 840, 1_008, 1_260, 2_520, COMMON_NS]);
    let turn = prop_oneof![
        3 => (0..2_000_u64).prop_map(Turn::Advance),
        4 => (1..20_u64).prop_map(Turn::Take),
        1 => (1..50_u64, period_ns).prop_map(|(count, period_ns)| Turn::SetQuota(count, period_ns)),
        1 => (1..40_u64, 1.0..3.0).prop_map(|(size, ratio)| Turn::SetSize(size, ratio)),
        1 => (1..3_000_u64).prop_map(Turn::SetInterval),
    ];
    prop::collection::vec(turn, 1..150)
}

proptest! {
    /// Each change loses less than 1/720 of a token.
    #[test]
    fn changes_of_a_pool_admit_no_more(turns in turns()) {
        let clock = ManualClock::new();
        let quota = Quota::new(20, span(COMMON_NS)).unwrap();
        let pool = ManagedPool::unattended(quota, 10, 1.25, span(100), clock.clone()).unwrap();
        // Amounts are in units of 1 / COMMON_NS of a token.
        let (mut brought, mut speed, mut changes) = (0, 20, 0);
        let mut taken = 0;
        let capacity_and_ratio = |size: u64, capacity: u64| (capacity, to_f64(capacity) / to_f64(size));
        let mut in_force = vec![capacity_and_ratio(10, pool.snapshot().capacity())];
        let mut let_in: Vec<(u64, u128, usize)> = Vec::new();
        for turn in turns {
            let came_in = total(&pool.snapshot()) + taken;
            let mut is_refilled = true;
            match turn {
                Turn::Advance(ns) => {
                    clock.advance(span(ns));
                    brought += u128::from(ns * speed);
                    is_refilled = false;
                }
                Turn::Take(n) => {
                    is_refilled = false;
                    if pool.take(n).is_ok() {
                        taken += u128::from(n);
                        let came_in = total(&pool.snapshot()) + taken;
                        let_in.push((n, came_in, in_force.len() - 1));
                    }
                }
                Turn::SetQuota(count, period_ns) => {
                    pool.set_quota(Quota::new(count, span(period_ns)).unwrap());
                    speed = count * (COMMON_NS / period_ns);
                    changes += 1;
                }
                Turn::SetSize(size, ratio) => {
                    pool.set_size(size, ratio).unwrap();
                    in_force.push(capacity_and_ratio(size, pool.snapshot().capacity()));
                }
                Turn::SetInterval(interval_ns) => pool.set_interval(span(interval_ns)).unwrap(),
            }
            let now_in = total(&pool.snapshot()) + taken;
            prop_assert!(now_in >= came_in);
            prop_assert!(now_in * u128::from(COMMON_NS) <= brought);
            prop_assert!(!is_refilled || brought < (now_in + 1) * u128::from(COMMON_NS) + changes * 7);
            prop_assert!(pool.snapshot().active() <= pool.snapshot().capacity());
        }
        for (first, &(_, from, terms_from)) in let_in.iter().enumerate() {
            let mut sum = 0;
            for &(n, to, terms_to) in &let_in[first..] {
                sum += n;
                let terms = &in_force[terms_from..=terms_to];
                let capacity = terms.iter().map(|terms| terms.0).max().unwrap();
                let ratio = terms.iter().map(|terms| terms.1).fold(1.0, f64::max);
                let refilled = to_f64(u64::try_from(to - from).unwrap());
                // The last number allows for the fraction of a token that was carried.
                prop_assert!(to_f64(sum) < to_f64(capacity) + ratio * refilled + 1.001);
            }
        }
    }
}

fn to_f64(number: u64) -> f64 {
    f64::from(u32::try_from(number).unwrap())
}
