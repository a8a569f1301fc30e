//! Tests the GCRA against its definition, computed in exact fractions from all earlier admissions.

use crate::laws::{
    Answer, Arrival, DAY, SECOND, arrivals, arrivals_for, at, not_until, quotas, seconds, span,
    whole_quotas,
};
use nanopace_limits::{Atomic, Gcra, Locked, Quota, QuotaError, Rejected, Rule, TryAcquire};
use nanopace_nanos::Nanos;
use proptest::prelude::*;
use std::thread;

/// Converts a moment to units of 1 / `count` ns. An interval is exactly `period_ns` units.
fn scaled(quota: Quota, moment: Nanos) -> u128 {
    u128::from(moment.as_nanos()) * u128::from(quota.count())
}

fn score(quota: Quota, let_in: &[Arrival]) -> u128 {
    let interval = u128::from(quota.period_ns());
    let cost = |arrival: &Arrival| u128::from(arrival.n) * interval;
    let start = |score: u128, arrival: &Arrival| score.max(scaled(quota, arrival.now));
    let_in.iter().fold(0, |score, arrival| start(score, arrival) + cost(arrival))
}

/// Returns the earliest moment, scaled, at which the definition admits `n` more requests, with a burst of `burst`.
fn earliest(quota: Quota, burst: u64, let_in: &[Arrival], n: u64) -> u128 {
    let tolerance = u128::from(burst - n) * u128::from(quota.period_ns());
    score(quota, let_in).saturating_sub(tolerance)
}

fn definition(quota: Quota, let_in: &[Arrival], arrival: Arrival) -> Answer {
    let capacity = quota.count();
    if arrival.n > capacity {
        return Err(Rejected::ExceedsCapacity { capacity });
    }
    let earliest = earliest(quota, capacity, let_in, arrival.n).div_ceil(u128::from(capacity));
    if arrival.n == 0 || earliest <= u128::from(arrival.now.as_nanos()) {
        return Ok(());
    }
    not_until(at(u64::try_from(earliest).expect("within the range of moments and one period")))
}

fn early_ns(quota: Quota) -> u64 {
    if quota.period_ns().is_multiple_of(quota.count()) { 0 } else { 2 }
}

fn most_in(quota: Quota, burst: u64, length_ns: u64) -> u128 {
    let earned = u128::from(length_ns + early_ns(quota)) * u128::from(quota.count())
        / u128::from(quota.period_ns());
    u128::from(burst) + earned
}

#[test]
fn the_sources_trace() {
    let rule = Gcra::new("3/60s".parse().unwrap());
    let mut score = rule.fresh();
    for expected in [20, 40, 60] {
        assert_eq!(rule.try_acquire(&mut score, Nanos::ZERO, 1), Ok(()));
        assert_eq!(score, expected * SECOND);
    }
    let rejected = rule.try_acquire(&mut score, Nanos::ZERO, 1);
    assert_eq!(rejected, not_until(seconds(20)), "80 is more than 0 + 60: 20 s until retry");
    assert_eq!(score, 60 * SECOND, "nothing has changed");
    assert_eq!(rule.try_acquire(&mut score, at(20 * SECOND - 1), 1), not_until(seconds(20)));
    assert_eq!(rule.try_acquire(&mut score, seconds(20), 1), Ok(()));
    assert_eq!(score, 80 * SECOND);
}

#[test]
fn a_year_at_three_in_ten_nanoseconds_does_not_drift() {
    // The debt of n requests is paid off after 10 n / 3 ns, or at most 5 ns later.
    let quota = Quota::new(3, span(10)).unwrap();
    let limiter = Atomic::new(Gcra::with_burst(quota, 1_000_000_000_000_000_000).unwrap());
    for year in 1..=30_u64 {
        let n = 9_460_800_000_000_000; // the requests of a year at 3 per 10 ns
        assert_eq!(limiter.try_acquire_n_at(n, at(1)), Ok(()), "{year}");
    }
    let all: u128 = 30 * 9_460_800_000_000_000 * 10 / 3;
    let Err(Rejected::NotUntil(paid)) = limiter.try_acquire_n_at(1_000_000_000_000_000_000, at(1))
    else {
        panic!()
    };
    assert!((all..=all + 5).contains(&u128::from(paid.as_nanos())), "{paid:?} is not {all}");
}

#[test]
fn at_the_edges_of_the_types() {
    let longest = span(Nanos::MAX.as_nanos());
    for (quota, n) in [
        (Quota::new(1, longest), 1),
        (Quota::new(Nanos::MAX.as_nanos(), longest), Nanos::MAX.as_nanos()),
    ] {
        let limiter = Atomic::new(Gcra::new(quota.unwrap()));
        assert_eq!(limiter.try_acquire_n_at(n, Nanos::MAX), Ok(()));
        assert_eq!(limiter.try_acquire_n_at(n, Nanos::MAX), not_until(Nanos::MAX));
        assert_eq!(limiter.try_acquire_n_at(n, Nanos::ZERO), not_until(Nanos::MAX));
        assert!(matches!(
            limiter.try_acquire_n_at(u64::MAX, Nanos::MAX),
            Err(Rejected::ExceedsCapacity { .. })
        ));
    }
}

#[test]
fn invalid_bursts_are_errors() {
    let day = Quota::new(1, span(DAY)).unwrap();
    assert_eq!(Gcra::with_burst(day, 0).unwrap_err(), QuotaError::CapacityTooSmall { least: 1 });
    let most = Nanos::MAX.as_nanos() / DAY;
    assert!(Gcra::with_burst(day, most).is_ok());
    assert_eq!(Gcra::with_burst(day, most + 1).unwrap_err(), QuotaError::CapacityTooLarge { most });
    let fractional = Quota::new(2, span(3)).unwrap();
    let most = Nanos::MAX.as_nanos() / 3 * 2;
    assert!(Gcra::with_burst(fractional, most).is_ok());
    assert!(Gcra::with_burst(fractional, most + 2).is_err(), "it takes more than 292 years");
}

#[test]
fn threads_share_a_word() {
    let limiter = Atomic::new(Gcra::new("100000/h".parse().unwrap()));
    let ask = || (0..50_000).filter(|_| limiter.try_acquire_at(seconds(1)).is_ok()).count();
    let admitted: usize = thread::scope(|scope| {
        let threads = [(); 4].map(|()| scope.spawn(ask));
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(admitted, 100_000);
}

proptest! {
    #[test]
    fn decisions_are_the_definitions_if_intervals_are_whole(
        (quota, arrivals) in whole_quotas().prop_flat_map(|quota| (Just(quota), arrivals_for(quota))),
    ) {
        crate::laws::agrees(&Gcra::new(quota), &arrivals, |let_in, arrival| definition(quota, let_in, arrival))?;
    }

    #[test]
    fn is_less_than_two_nanoseconds_early_or_late(
        (quota, arrivals) in quotas().prop_flat_map(|quota| (Just(quota), arrivals_for(quota))),
    ) {
        let rule = Gcra::new(quota);
        let mut let_in = Vec::new();
        for (&arrival, answer) in arrivals.iter().zip(crate::laws::answers(&rule, &arrivals)) {
            if arrival.n == 0 || arrival.n > quota.count() {
                continue;
            }
            let earliest = earliest(quota, quota.count(), &let_in, arrival.n);
            match answer {
                Ok(()) => {
                    let early = u128::from(early_ns(quota) * quota.count());
                    prop_assert!(earliest <= scaled(quota, arrival.now) + early);
                }
                Err(_) => prop_assert!(earliest + 2 * u128::from(quota.count()) > scaled(quota, arrival.now)),
            }
            if answer.is_ok() {
                let_in.push(arrival);
            }
        }
    }

    #[test]
    fn keeps_the_laws((quota, arrivals) in quotas().prop_flat_map(|quota| (Just(quota), arrivals_for(quota)))) {
        let rule = Gcra::new(quota);
        crate::laws::common(&rule, quota.count(), &arrivals)?;
        crate::laws::is_bounded(&rule, &arrivals, |length_ns| most_in(quota, quota.count(), length_ns))?;
    }

    #[test]
    fn a_whole_burst_is_admitted_at_one_moment(count in 1..200_u64, period_ns in 200..1_u64 << 40, first in 0..1_u64 << 60) {
        let limiter = Atomic::new(Gcra::new(Quota::new(count, span(period_ns)).unwrap()));
        for now in [at(first), at(first + 2 * period_ns)] {
            for _ in 0..count {
                prop_assert_eq!(limiter.try_acquire_at(now), Ok(()));
            }
            prop_assert!(limiter.try_acquire_at(now).is_err());
        }
    }

    #[test]
    fn keeps_the_laws_with_another_burst(
        burst in 1..50_u64,
        (quota, arrivals) in (1..100_u64, 1_000..SECOND).prop_map(|(count, period_ns)| Quota::new(count, span(period_ns)).unwrap())
            .prop_flat_map(|quota| (Just(quota), arrivals(quota.period_ns(), quota.count(), 50))),
    ) {
        let rule = Gcra::with_burst(quota, burst).unwrap();
        crate::laws::common(&rule, burst, &arrivals)?;
        crate::laws::is_bounded(&rule, &arrivals, |length_ns| most_in(quota, burst, length_ns))?;
    }

    #[test]
    fn shared_forms_answer_as_the_rule(
        (quota, arrivals) in quotas().prop_flat_map(|quota| (Just(quota), arrivals_for(quota))),
    ) {
        let rule = Gcra::new(quota);
        let (atomic, locked) = (Atomic::new(rule), Locked::new(rule));
        for (&Arrival { now, n }, answer) in arrivals.iter().zip(crate::laws::answers(&rule, &arrivals)) {
            prop_assert_eq!(atomic.peek_n_at(n, now), answer);
            prop_assert_eq!(atomic.try_acquire_n_at(n, now), answer);
            prop_assert_eq!(locked.peek_n_at(n, now), answer);
            prop_assert_eq!(locked.try_acquire_n_at(n, now), answer);
        }
    }
}
