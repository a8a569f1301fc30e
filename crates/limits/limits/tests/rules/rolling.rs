//! Tests the rolling counts against sums over all events, and the ring of slots against its bounds.

use crate::laws::{Arrival, SECOND, arrivals, at, orderly, quotas, span};
use nanopace_limits::RingCount;
use nanopace_limits::{Quota, QuotaError, RollingCount, SlottedRing};
use nanopace_nanos::Nanos;
use proptest::prelude::*;
use std::time::Duration;

fn sum(events: &[Arrival], counts: impl Fn(u64) -> bool) -> u64 {
    let counted = events.iter().filter(|event| counts(event.now.as_nanos()));
    counted.fold(0, |sum, event| sum.saturating_add(event.n))
}

fn events(interval_ns: u64) -> impl Strategy<Value = Vec<Arrival>> {
    orderly(interval_ns, 10, 100).prop_map(|mut events| {
        for event in &mut events {
            event.n = event.n.min(1_000);
        }
        events
    })
}

#[test]
fn sums_stop_at_the_largest_number() {
    let mut exact = RollingCount::new(Duration::from_nanos(100));
    let mut ring = RingCount::<4>::new(Duration::from_nanos(100)).unwrap();
    for total in [u64::MAX - 1, u64::MAX, u64::MAX] {
        assert_eq!(exact.add(at(7), if total == u64::MAX { 2 } else { total }), total);
        assert_eq!(ring.add(at(7), if total == u64::MAX { 2 } else { total }), total);
    }
    assert_eq!((exact.advance(at(108)), ring.advance(at(400))), (0, 0));
    assert_eq!((exact.add(at(108), 1), ring.add(at(400), 1)), (1, 1));
}

#[test]
fn slots_last_some_time_and_less_than_eternity() {
    assert_eq!(RingCount::<4>::new(Duration::ZERO).unwrap_err(), QuotaError::Interval);
    assert_eq!(RingCount::<4>::new(Duration::MAX).unwrap_err(), QuotaError::PeriodTooLong);
}

proptest! {
    #[test]
    fn the_exact_count_is_the_sum_of_the_interval(interval_ns in 0..1_u64 << 40, events in events(1 << 30)) {
        let mut count = RollingCount::new(span(interval_ns));
        for (index, event) in events.iter().enumerate() {
            let now = event.now.as_nanos();
            let within = |moment: u64| now - moment <= interval_ns;
            prop_assert_eq!(count.advance(event.now), sum(&events[..index], within));
            prop_assert_eq!(count.add(event.now, event.n), sum(&events[..=index], within));
        }
    }

    #[test]
    fn the_ring_is_the_sum_of_its_slots(slot_ns in 1..1_u64 << 40, events in events(1 << 30)) {
        let mut ring = RingCount::<7>::new(span(slot_ns)).unwrap();
        for (index, event) in events.iter().enumerate() {
            let slot = event.now.as_nanos() / slot_ns;
            let total = ring.add(event.now, event.n);
            prop_assert_eq!(total, sum(&events[..=index], |moment| slot - moment / slot_ns < 7));
            let exactly = |slots: u64| sum(&events[..=index], |moment| event.now.as_nanos() - moment <= slots * slot_ns);
            prop_assert!((exactly(6)..=exactly(7)).contains(&total));
        }
    }

    #[test]
    fn counts_take_moments_from_before_the_latest_for_the_latest(span_ns in 1..1_u64 << 40, arrivals in arrivals(1 << 30, 10, 100)) {
        let (mut exact, mut exact_in_order) = (RollingCount::new(span(span_ns)), RollingCount::new(span(span_ns)));
        let ring = RingCount::<5>::new(span(span_ns)).unwrap();
        let (mut ring, mut ring_in_order) = (ring.clone(), ring);
        let mut latest = Nanos::ZERO;
        for Arrival { now, n } in arrivals {
            latest = latest.max(now);
            prop_assert_eq!(exact.add(now, n), exact_in_order.add(latest, n));
            prop_assert_eq!(ring.add(now, n), ring_in_order.add(latest, n));
        }
    }

    #[test]
    fn rings_keep_the_laws_at_any_quota(
        (quota, arrivals) in quotas().prop_flat_map(|quota| (Just(quota), orderly(quota.period_ns(), quota.count(), quota.count()))),
    ) {
        for rule in [SlottedRing::<5>::new(quota), SlottedRing::guarding(quota)] {
            crate::laws::common(&rule, quota.count(), &arrivals)?;
        }
        let bound = |guarded_ns: u64| move |length_ns: u64| u128::from(length_ns / guarded_ns + 1) * u128::from(quota.count());
        crate::laws::is_bounded(&SlottedRing::<5>::guarding(quota), &arrivals, bound(quota.period_ns()))?;
        let guarded_ns = (quota.period_ns() - quota.period_ns().div_ceil(5)).max(1);
        crate::laws::is_bounded(&SlottedRing::<5>::new(quota), &arrivals, bound(guarded_ns))?;
    }

    /// Checks only the laws that hold if a rejected request moves the latest moment.
    #[test]
    fn a_ring_keeps_what_it_can_of_them_on_a_clock_that_goes_backwards(count in 1..20_u64, arrivals in arrivals(SECOND, 20, 20)) {
        let rule = SlottedRing::<8>::new(Quota::new(count, span(SECOND)).unwrap());
        crate::laws::retries_get_in(&rule, &arrivals)?;
        crate::laws::idle_is_fresh(&rule, &arrivals)?;
        crate::laws::sizes_are_told_apart(&rule, count, &arrivals)?;
    }
}
