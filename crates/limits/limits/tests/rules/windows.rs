//! Tests the fixed window, the sliding log and the sliding counter against their definitions.

use crate::laws::{
    Answer, Arrival, SECOND, arrivals_for, at, not_until, orderly, quotas, seconds, span,
    whole_quotas,
};
use nanopace_limits::{
    FixedWindow, Limit, Limits, Quota, Rejected, Rule, SlidingCounter, SlidingLog,
};
use nanopace_nanos::Nanos;
use proptest::prelude::*;

fn effective(let_in: &[Arrival]) -> Vec<Arrival> {
    let mut latest = Nanos::ZERO;
    let forward = |arrival: &Arrival| {
        latest = latest.max(arrival.now);
        Arrival { now: latest, ..*arrival }
    };
    let_in.iter().map(forward).collect()
}

fn sum(let_in: &[Arrival], within: impl Fn(Nanos) -> bool) -> u128 {
    let_in.iter().filter(|one| within(one.now)).map(|one| u128::from(one.n)).sum()
}

fn window(quota: Quota, moment: Nanos) -> u64 {
    moment.as_nanos() / quota.period_ns()
}

fn start_of(quota: Quota, window: u64) -> Nanos {
    at(window.saturating_mul(quota.period_ns()))
}

fn fixed_window(quota: Quota, let_in: &[Arrival], arrival: Arrival) -> Answer {
    let capacity = quota.count();
    let latest =
        let_in.iter().map(|one| window(quota, one.now)).fold(window(quota, arrival.now), u64::max);
    // If an admission came after an admission in a later window, it counts in that later window.
    let mut counted_in = 0;
    let windows = let_in.iter().map(|one| {
        counted_in = window(quota, one.now).max(counted_in);
        (counted_in, one.n)
    });
    let count: u128 =
        windows.filter(|(number, _)| *number == latest).map(|(_, n)| u128::from(n)).sum();
    match arrival.n {
        n if n > capacity => Err(Rejected::ExceedsCapacity { capacity }),
        n if n == 0 || count + u128::from(n) <= u128::from(capacity) => Ok(()),
        _ => not_until(start_of(quota, latest + 1)),
    }
}

fn sliding_log(quota: Quota, let_in: &[Arrival], arrival: Arrival) -> Answer {
    let capacity = quota.count();
    if arrival.n > capacity {
        return Err(Rejected::ExceedsCapacity { capacity });
    }
    let let_in = effective(let_in);
    let now = let_in.last().map_or(arrival.now, |last| last.now.max(arrival.now));
    let fits = |moment: Nanos| {
        let recent = sum(&let_in, |one| {
            u128::from(one.as_nanos()) + u128::from(quota.period_ns())
                > u128::from(moment.as_nanos())
        });
        recent + u128::from(arrival.n) <= u128::from(capacity)
    };
    if arrival.n == 0 || fits(now) {
        return Ok(());
    }
    let mut leaves =
        let_in.iter().map(|one| one.now + quota.period()).filter(|moment| *moment > now);
    not_until(leaves.find(|moment| fits(*moment)).unwrap_or(Nanos::MAX))
}

/// Returns the left side of p (T - t) + (c + n) T <= count x T, the condition for an admission. T is the period, t is
/// the time since the current window began, and p and c are the counts of the previous and of the current window.
fn weight(quota: Quota, let_in: &[Arrival], moment: Nanos, n: u64) -> u128 {
    let current = window(quota, moment);
    let counts = |number| sum(let_in, |one| window(quota, one) == number);
    let before = current.checked_sub(1).map_or(0, counts);
    let left = quota.period_ns() - moment.as_nanos() % quota.period_ns();
    before * u128::from(left) + (counts(current) + u128::from(n)) * u128::from(quota.period_ns())
}

fn sliding_counter_lets_in(quota: Quota, let_in: &[Arrival], arrival: Arrival) -> bool {
    let most = u128::from(quota.count()) * u128::from(quota.period_ns());
    arrival.n == 0
        || arrival.n <= quota.count() && weight(quota, let_in, arrival.now, arrival.n) <= most
}

#[test]
fn the_sources_weighted_window() {
    // The limit is 10. After a quarter of the window, 9 requests in the previous window and 5 in this one weigh 9 x
    // 0.75 + 5 = 11.75.
    let rule = SlidingCounter::new(Quota::new(10, span(60 * SECOND)).unwrap());
    let mut state = rule.fresh();
    assert_eq!(rule.try_acquire(&mut state, seconds(30), 9), Ok(()));
    // 9 x (1 - t) + 5 <= 10 from t = 4/9 on: 26.67 s into the window.
    assert_eq!(rule.try_acquire(&mut state, at(86_666_666_666), 5), not_until(at(86_666_666_667)));
    assert_eq!(rule.try_acquire(&mut state, at(86_666_666_667), 5), Ok(()));
    assert_eq!(rule.peek(&state, seconds(75), 1), not_until(seconds(60) + span(33_333_333_334)));
    // At t = 5/9, 9 x 4/9 + 5 + 1 = 10.
    assert_eq!(rule.try_acquire(&mut state, at(93_333_333_334), 1), Ok(()));
}

fn weighs_exactly<R: Rule>(
    rule: &R,
    quota: Quota,
    arrivals: &[Arrival],
) -> Result<(), TestCaseError> {
    let mut state = rule.fresh();
    let mut let_in = Vec::new();
    for &arrival in arrivals {
        let answer = rule.try_acquire(&mut state, arrival.now, arrival.n);
        prop_assert_eq!(answer.is_ok(), sliding_counter_lets_in(quota, &let_in, arrival));
        if answer.is_ok() {
            let_in.push(arrival);
        }
    }
    crate::laws::let_in_is_bounded(&let_in, |length_ns| most_windows(quota, length_ns))
}

#[test]
fn a_log_remembers_no_more_moments_than_its_count() {
    let quota = Quota::new(5, span(1_000)).unwrap();
    for rule in [SlidingLog::new(quota), SlidingLog::counting_rejected(quota)] {
        let mut state = rule.fresh();
        let mut most = 0;
        for moment in 0..5_000 {
            let _ = rule.try_acquire(&mut state, at(moment), 1);
            most = most.max(format!("{state:?}").matches(", 1)").count());
        }
        assert_eq!(most, 5, "{rule:?}");
    }
}

fn quota_and_arrivals() -> impl Strategy<Value = (Quota, Vec<Arrival>)> {
    prop_oneof![quotas(), whole_quotas()].prop_flat_map(|quota| (Just(quota), arrivals_for(quota)))
}

fn quota_and_orderly() -> impl Strategy<Value = (Quota, Vec<Arrival>)> {
    whole_quotas().prop_flat_map(|quota| {
        (Just(quota), orderly(quota.period_ns(), quota.count(), quota.count()))
    })
}

fn most_windows(quota: Quota, length_ns: u64) -> u128 {
    u128::from(length_ns / quota.period_ns() + 2) * u128::from(quota.count())
}

proptest! {
    #[test]
    fn a_fixed_window_keeps_its_laws((quota, arrivals) in quota_and_arrivals()) {
        let rule = FixedWindow::new(quota);
        crate::laws::agrees(&rule, &arrivals, |let_in, arrival| fixed_window(quota, let_in, arrival))?;
        crate::laws::common(&rule, quota.count(), &arrivals)?;
    }

    #[test]
    fn a_sliding_log_keeps_its_laws((quota, arrivals) in quota_and_arrivals()) {
        let rule = SlidingLog::new(quota);
        // On a clock that goes backwards, a rejected request may move the latest moment on. The other laws hold only
        // for moments in order.
        crate::laws::retries_get_in(&rule, &arrivals)?;
        crate::laws::idle_is_fresh(&rule, &arrivals)?;
        crate::laws::sizes_are_told_apart(&rule, quota.count(), &arrivals)?;
    }

    #[test]
    fn a_sliding_log_is_exact((quota, arrivals) in quota_and_orderly()) {
        let rule = SlidingLog::new(quota);
        crate::laws::common(&rule, quota.count(), &arrivals)?;
        crate::laws::agrees(&rule, &arrivals, |let_in, arrival| sliding_log(quota, let_in, arrival))?;
        // A period includes only one of its two ends, so the bound is `count` in any span shorter than a period.
        let periods = |length_ns: u64| u128::from(length_ns / quota.period_ns() + 1);
        crate::laws::is_bounded(&rule, &arrivals, |length_ns| periods(length_ns) * u128::from(quota.count()))?;
    }

    #[test]
    fn a_log_that_counts_rejected_ones_knows_all_arrivals((quota, arrivals) in quota_and_orderly()) {
        let rule = SlidingLog::counting_rejected(quota);
        let mut state = rule.fresh();
        let mut seen: Vec<Arrival> = Vec::new();
        for arrival in arrivals {
            let answer = rule.try_acquire(&mut state, arrival.now, arrival.n);
            let recent = sum(&seen, |one| u128::from(one.as_nanos()) + u128::from(quota.period_ns()) > u128::from(arrival.now.as_nanos()));
            let fits = arrival.n == 0 || recent + u128::from(arrival.n) <= u128::from(quota.count());
            prop_assert_eq!(answer.is_ok(), fits && arrival.n <= quota.count());
            if let Err(Rejected::NotUntil(moment)) = answer && moment < Nanos::MAX {
                prop_assert_eq!(rule.try_acquire(&mut state.clone(), moment, arrival.n), Ok(()));
            }
            if arrival.n <= quota.count() {
                seen.push(arrival);
            }
        }
    }

    #[test]
    fn a_log_that_counts_rejected_ones_keeps_its_laws((quota, arrivals) in quota_and_orderly()) {
        let rule = SlidingLog::counting_rejected(quota);
        crate::laws::retries_get_in(&rule, &arrivals)?;
        crate::laws::idle_is_fresh(&rule, &arrivals)?;
        crate::laws::a_standing_is_true(&rule, &arrivals)?;
        crate::laws::sizes_are_told_apart(&rule, quota.count(), &arrivals)?;
        let periods = |length_ns: u64| u128::from(length_ns / quota.period_ns() + 1);
        crate::laws::is_bounded(&rule, &arrivals, |length_ns| periods(length_ns) * u128::from(quota.count()))?;
    }

    #[test]
    fn a_log_that_counts_rejected_ones_admits_only_callers_that_retry_rarely(
        count in 1..20_u64, period_ns in 100..2_000_u64, n in 1..4_u64,
    ) {
        let rule = SlidingLog::counting_rejected(Quota::new(count, span(period_ns)).unwrap());
        let n = n.min(count);
        // After two periods of rejections, the limit counts only rejected requests, and never admits the caller.
        let admits = |retry_ns: u64| {
            let (mut state, mut now, mut admitted, mut since) = (rule.fresh(), 0, 0, 0);
            while admitted <= count / n && now - since <= 2 * (period_ns + retry_ns) {
                match rule.try_acquire(&mut state, at(now), n) {
                    Ok(()) => (admitted, since) = (admitted + 1, now),
                    Err(_) => now += retry_ns,
                }
            }
            admitted > count / n
        };
        let shortest_ns = period_ns.div_ceil(count / n);
        prop_assert!(admits(shortest_ns));
        prop_assert!(shortest_ns == 1 || !admits(shortest_ns - 1));
    }

    #[test]
    fn logs_take_moments_from_before_the_latest_for_the_latest((quota, mut arrivals) in quota_and_arrivals()) {
        arrivals.retain(|arrival| (1..=quota.count()).contains(&arrival.n));
        for rule in [SlidingLog::new(quota), SlidingLog::counting_rejected(quota)] {
            prop_assert_eq!(crate::laws::answers(&rule, &arrivals), crate::laws::answers(&rule, &effective(&arrivals)));
        }
    }

    #[test]
    fn a_sliding_counter_keeps_its_laws((quota, arrivals) in quota_and_arrivals()) {
        let rule = SlidingCounter::new(quota);
        crate::laws::common(&rule, quota.count(), &arrivals)?;
        let limits = Limits::new([Limit::sliding_counter(quota)]);
        prop_assert_eq!(crate::laws::answers(&limits, &arrivals), crate::laws::answers(&rule, &arrivals));
    }

    #[test]
    fn a_sliding_counter_weighs_exactly((quota, arrivals) in quota_and_orderly()) {
        weighs_exactly(&SlidingCounter::new(quota), quota, &arrivals)?;
    }
}
