//! Tests the token bucket and the leaky queue against definitions that compute levels and departures step by step.

use crate::laws::{
    Answer, Arrival, SECOND, at, not_until, orderly, quotas, seconds, span, whole_quotas,
};
use nanopace_limits::{
    Atomic, LeakyQueue, Quota, QuotaError, Rejected, Rule, TokenBucket, TryAcquire,
};
use nanopace_nanos::Nanos;
use proptest::prelude::*;

fn interval_ns(quota: Quota) -> u64 {
    quota.period_ns() / quota.count()
}

/// Returns a bucket's tokens, multiplied by the interval in nanoseconds, so that each nanosecond adds 1.
fn tokens(quota: Quota, capacity: u64, cost: u64, let_in: &[Arrival], now: Nanos) -> u128 {
    let interval = u128::from(interval_ns(quota));
    let full = u128::from(capacity) * interval;
    let mut tokens = full;
    let mut seen = Nanos::ZERO;
    let mut flow = |tokens: &mut u128, now: Nanos| {
        *tokens = full.min(*tokens + (now - seen).as_nanos());
        seen = now;
    };
    for arrival in let_in {
        flow(&mut tokens, arrival.now);
        tokens -= u128::from(arrival.n) * u128::from(cost) * interval;
    }
    flow(&mut tokens, now);
    tokens
}

/// Decides by the definition of the token bucket. The interval is a whole number of nanoseconds, and the clock does not
/// go backwards.
fn token_bucket(
    quota: Quota,
    capacity: u64,
    cost: u64,
    let_in: &[Arrival],
    arrival: Arrival,
) -> Answer {
    if arrival.n > capacity / cost {
        return Err(Rejected::ExceedsCapacity { capacity: capacity / cost });
    }
    let wanted = u128::from(arrival.n) * u128::from(cost) * u128::from(interval_ns(quota));
    let missing = wanted.saturating_sub(tokens(quota, capacity, cost, let_in, arrival.now));
    if missing == 0 {
        Ok(())
    } else {
        not_until(arrival.now + span(u64::try_from(missing).unwrap()))
    }
}

fn departures(quota: Quota, let_in: &[Arrival]) -> Vec<u128> {
    let mut departures: Vec<u128> = Vec::new();
    for arrival in let_in {
        for _ in 0..arrival.n {
            let free = departures.last().map_or(0, |last| last + u128::from(interval_ns(quota)));
            departures.push(free.max(u128::from(arrival.now.as_nanos())));
        }
    }
    departures
}

fn leaky_queue(quota: Quota, capacity: u64, let_in: &[Arrival], arrival: Arrival) -> Answer {
    let n = usize::try_from(arrival.n.min(capacity + 1)).unwrap();
    let fits = usize::try_from(capacity).unwrap();
    if n > fits {
        return Err(Rejected::ExceedsCapacity { capacity });
    }
    let departures = departures(quota, let_in);
    let leaves = |departure: &u128| departure + u128::from(interval_ns(quota));
    let held =
        departures.iter().filter(|one| leaves(one) > u128::from(arrival.now.as_nanos())).count();
    if n == 0 || held + n <= fits {
        return Ok(());
    }
    let last_to_leave = departures.len() - (fits - n) - 1;
    not_until(at(u64::try_from(leaves(&departures[last_to_leave])).unwrap()))
}

fn whole(capacity: u64) -> impl Strategy<Value = (Quota, Vec<Arrival>)> {
    // With longer intervals, retry times would exceed the last possible moment.
    let quotas = whole_quotas().prop_filter("a capacity of 292 years", move |quota| {
        interval_ns(*quota) < i64::MAX.unsigned_abs() / capacity / 4
    });
    quotas.prop_flat_map(move |quota| {
        let before_the_end = |arrivals: &Vec<Arrival>| {
            arrivals.iter().all(|one| one.now < at(Nanos::MAX.as_nanos() / 4))
        };
        (
            Just(quota),
            orderly(quota.period_ns(), quota.count(), capacity)
                .prop_filter("too late", before_the_end),
        )
    })
}

#[test]
fn an_initial_fill_is_there_from_the_start_and_no_more() {
    let full = TokenBucket::new("10/s".parse().unwrap(), 30).unwrap();
    let bucket = Atomic::new(full.initially(5, seconds(100)).unwrap());
    assert_eq!(bucket.rule().tokens(bucket.state(), seconds(100)), 5);
    assert_eq!(bucket.try_acquire_n_at(6, seconds(100)), not_until(at(100 * SECOND + SECOND / 10)));
    assert_eq!(bucket.try_acquire_n_at(15, seconds(101)), Ok(()));
    assert!(bucket.try_acquire_at(seconds(101)).is_err());
    assert!(!bucket.rule().is_idle(&0, seconds(102)), "a new bucket would hold fewer tokens");
    assert!(bucket.rule().is_idle(&0, seconds(103)));
    assert_eq!(
        full.initially(31, seconds(0)).unwrap_err(),
        QuotaError::InitialTooLarge { capacity: 30 }
    );
    let empty = Atomic::new(full.initially(0, Nanos::ZERO).unwrap());
    assert_eq!(empty.try_acquire_n_at(30, Nanos::ZERO), not_until(seconds(3)));
}

#[test]
fn invalid_costs_are_errors() {
    let bucket = TokenBucket::new("10/s".parse().unwrap(), 30).unwrap();
    assert_eq!(bucket.with_cost(0).unwrap_err(), QuotaError::ZeroCost);
    assert_eq!(bucket.with_cost(31).unwrap_err(), QuotaError::CapacityTooSmall { least: 31 });
    let limiter = Atomic::new(bucket.with_cost(30).unwrap());
    assert_eq!(
        limiter.try_acquire_n_at(2, seconds(1)),
        Err(Rejected::ExceedsCapacity { capacity: 1 })
    );
    assert_eq!(limiter.try_acquire_at(seconds(1)), Ok(()));
}

#[test]
fn buckets_at_the_edges_of_the_types() {
    let slowest = Quota::new(1, span(Nanos::MAX.as_nanos())).unwrap();
    assert_eq!(TokenBucket::new(slowest, 2).unwrap_err(), QuotaError::CapacityTooLarge { most: 1 });
    let fastest = Quota::new(1, span(1)).unwrap();
    let most = Nanos::MAX.as_nanos();
    assert_eq!(
        TokenBucket::leaky_meter(fastest, most + 1).unwrap_err(),
        QuotaError::CapacityTooLarge { most }
    );
    let bucket = TokenBucket::new(fastest, most).unwrap().initially(0, Nanos::MAX).unwrap();
    assert_eq!(Atomic::new(bucket).try_acquire_n_at(most, Nanos::MAX), not_until(Nanos::MAX));
    assert_eq!(LeakyQueue::new(fastest, 0).unwrap_err(), QuotaError::CapacityTooSmall { least: 1 });
}

#[test]
fn a_queues_departures_do_not_drift() {
    // At a rate of 3 in 10 ns, the n-th request departs at 10 n / 3 ns, rounded up, or one nanosecond later.
    let queue = Atomic::new(LeakyQueue::new(Quota::new(3, span(10)).unwrap(), 1_000_000).unwrap());
    for n in 0..100_000_u64 {
        let departure = queue.enqueue_at(Nanos::ZERO).unwrap().as_nanos();
        let exact = (10 * n).div_ceil(3);
        assert!((exact..=exact + 1).contains(&departure), "{departure} is not {exact}");
    }
}

proptest! {
    #[test]
    fn the_token_bucket_is_its_definition(
        cost in 1..=4_u64, capacity in 4..=40_u64, (quota, arrivals) in whole(40),
    ) {
        let rule = TokenBucket::new(quota, capacity).unwrap().with_cost(cost).unwrap();
        crate::laws::agrees(&rule, &arrivals, |let_in, arrival| token_bucket(quota, capacity, cost, let_in, arrival))?;
        let mut state = rule.fresh();
        let mut let_in = Vec::new();
        for arrival in arrivals {
            if rule.try_acquire(&mut state, arrival.now, arrival.n).is_ok() {
                let_in.push(arrival);
            }
            let held = tokens(quota, capacity, cost, &let_in, arrival.now) / u128::from(interval_ns(quota));
            prop_assert_eq!(u128::from(rule.tokens(state, arrival.now)), held);
        }
    }

    #[test]
    fn the_queue_is_its_definition(capacity in 1..=40_u64, (quota, arrivals) in whole(40)) {
        let rule = LeakyQueue::new(quota, capacity).unwrap();
        crate::laws::agrees(&rule, &arrivals, |let_in, arrival| leaky_queue(quota, capacity, let_in, arrival))?;
    }

    #[test]
    fn a_queue_departs_evenly_and_soon(capacity in 1..=40_u64, (quota, arrivals) in whole(40)) {
        let queue = Atomic::new(LeakyQueue::new(quota, capacity).unwrap());
        let mut let_in = Vec::new();
        for &Arrival { now, .. } in &arrivals {
            let held = queue.rule().queued(queue.state(), now);
            prop_assert!(held <= capacity);
            if let Ok(departure) = queue.enqueue_at(now) {
                let_in.push(Arrival { now, n: 1 });
                let expected = departures(quota, &let_in).pop();
                prop_assert_eq!(Some(u128::from(departure.as_nanos())), expected);
                prop_assert!(departure - now <= span(interval_ns(quota)) * u32::try_from(capacity - 1).unwrap());
            }
        }
    }

    #[test]
    fn departures_keep_their_distance_at_any_quota(
        (quota, arrivals) in quotas().prop_flat_map(|quota| (Just(quota), crate::laws::arrivals_for(quota))),
    ) {
        let queue = Atomic::new(LeakyQueue::new(quota, quota.count()).unwrap());
        let departures: Vec<Nanos> = arrivals.iter().filter_map(|one| queue.enqueue_at(one.now).ok()).collect();
        for pair in departures.windows(2).filter(|pair| pair[1] < Nanos::MAX) {
            let gap = (pair[1] - pair[0]).as_nanos();
            prop_assert!(gap >= u128::from(interval_ns(quota)), "{:?}", pair);
        }
    }

    #[test]
    fn buckets_keep_the_laws(
        cost in 1..=4_u64,
        (quota, arrivals) in quotas().prop_flat_map(|quota| (Just(quota), crate::laws::arrivals_for(quota))),
    ) {
        let capacity = quota.count();
        let bound = |length_ns: u64| {
            // Requests are admitted less than 2 ns early if an interval is not a whole number of nanoseconds.
            let early_ns = if quota.period_ns().is_multiple_of(capacity) { 0 } else { 2 };
            u128::from(capacity)
                + u128::from(length_ns + early_ns) * u128::from(capacity) / u128::from(quota.period_ns())
        };
        let meter = TokenBucket::leaky_meter(quota, capacity).unwrap();
        crate::laws::common(&meter, capacity, &arrivals)?;
        crate::laws::is_bounded(&meter, &arrivals, bound)?;
        let queue = LeakyQueue::new(quota, capacity).unwrap();
        crate::laws::common(&queue, capacity, &arrivals)?;
        let cost = cost.min(capacity);
        let bucket = TokenBucket::new(quota, capacity).unwrap().with_cost(cost).unwrap();
        crate::laws::common(&bucket, capacity / cost, &arrivals)?;
        crate::laws::is_bounded(&bucket, &arrivals, |length_ns| bound(length_ns) / u128::from(cost))?;
    }

    #[test]
    fn a_bucket_with_an_initial_fill_keeps_the_laws(
        tokens in 0..=20_u64, start in 0..10 * SECOND, arrivals in crate::laws::arrivals(SECOND, 7, 20),
    ) {
        let bucket = TokenBucket::new("7/s".parse().unwrap(), 20).unwrap().initially(tokens, at(start)).unwrap();
        crate::laws::common(&bucket, 20, &arrivals)?;
        let from_the_start: Vec<Arrival> = arrivals.iter().copied().filter(|one| one.now >= at(start)).collect();
        let let_in = crate::laws::admitted(&bucket, &from_the_start);
        if let Some(last) = let_in.iter().map(|one| one.now).max() {
            let earned = (last - at(start)).as_nanos() * 7 / u128::from(SECOND);
            prop_assert!(let_in.iter().map(|one| u128::from(one.n)).sum::<u128>() <= u128::from(tokens) + earned);
        }
    }
}
