//! Tests the aggregated window against its definition and its bounds.

use crate::laws::at;
use nanopace_limits::{AggregatedWindow, Quota, Rejected, Rule};
use nanopace_nanos::Nanos;
use proptest::prelude::*;
use std::num::NonZeroU16;
use std::time::Duration;

struct Definition {
    count: u64,
    period: u128,
    width: u128,
    /// The admissions, each with the end of its slot and the number of requests.
    let_in: Vec<(u128, u64)>,
    /// The latest moment at which one of the dropped admissions stopped counting.
    left: u128,
}

impl Definition {
    fn counting_at(&self, moment: u128) -> u64 {
        self.let_in.iter().filter(|(end, _)| end + self.period > moment).map(|(_, n)| n).sum()
    }

    fn decide(&mut self, now: u64, n: u64) -> Result<(), Rejected> {
        if n > self.count {
            return Err(Rejected::ExceedsCapacity { capacity: self.count });
        }
        if n == 0 {
            return Ok(());
        }
        let at_least = self.left.max(now.into());
        let leaving = || self.let_in.iter().map(|(end, _)| end + self.period);
        self.left = leaving().filter(|moment| *moment <= at_least).max().unwrap_or(0);
        let fits = |moment: &u128| self.counting_at(*moment) + n <= self.count;
        let first =
            leaving().chain([at_least]).filter(fits).min().expect("it fits when all have left");
        if first > at_least {
            return Err(Rejected::NotUntil(at(u64::try_from(first).unwrap())));
        }
        let end = (at_least / self.width + 1) * self.width - 1;
        let newest = self.let_in.iter().map(|(end, _)| *end).max().unwrap_or(0);
        self.let_in.push((end.max(newest), n));
        Ok(())
    }
}

fn any_rule() -> impl Strategy<Value = AggregatedWindow> {
    (1..20_u64, 0..300_u64, 1..12_u16).prop_map(|(count, more, slots)| {
        let quota = Quota::new(count, Duration::from_nanos(count + more)).unwrap();
        AggregatedWindow::new(quota, NonZeroU16::new(slots).unwrap())
    })
}

fn any_requests() -> impl Strategy<Value = Vec<(i64, u64)>> {
    let step = prop_oneof![4 => 0..3_i64, 4 => 0..60_i64, 1 => 0..2000_i64, 1 => -100..0_i64];
    prop::collection::vec(
        (step, prop_oneof![4 => Just(1_u64), 2 => 0..8_u64, 1 => 0..30_u64]),
        1..150,
    )
}

fn width(rule: &AggregatedWindow) -> u64 {
    rule.quota().period_ns().div_ceil(u64::from(rule.slots().get()))
}

proptest! {
    #[test]
    fn keeps_the_laws_at_any_quota(
        slots in 1..100_u16,
        (quota, arrivals) in crate::laws::quotas()
            .prop_flat_map(|quota| (Just(quota), crate::laws::orderly(quota.period_ns(), quota.count(), quota.count()))),
    ) {
        let rule = AggregatedWindow::new(quota, NonZeroU16::new(slots).unwrap());
        crate::laws::common(&rule, quota.count(), &arrivals)?;
        let bound = |length_ns: u64| u128::from(length_ns / quota.period_ns() + 1) * u128::from(quota.count());
        crate::laws::is_bounded(&rule, &arrivals, bound)?;
    }

    #[test]
    fn decides_as_defined(rule in any_rule(), requests in any_requests()) {
        let (period, width) = (rule.quota().period_ns(), width(&rule));
        let count = rule.quota().count();
        let mut definition = Definition { count, period: period.into(), width: width.into(), let_in: Vec::new(), left: 0 };
        let (mut state, mut now) = (rule.fresh(), 1000_u64);
        for (step, n) in requests {
            now = now.saturating_add_signed(step);
            prop_assert_eq!(rule.try_acquire(&mut state, at(now), n), definition.decide(now, n), "{} at {}", n, now);
        }
    }

    #[test]
    fn bounded_in_every_period_and_generous_beyond_one_slot(rule in any_rule(), requests in any_requests()) {
        let (count, period, width) = (rule.quota().count(), rule.quota().period_ns(), width(&rule));
        let (mut state, mut now, mut let_in) = (rule.fresh(), 1000_u64, Vec::new());
        for (step, n) in requests {
            now += step.unsigned_abs();
            let within = |span: u64| let_in.iter().filter(|(moment, _)| now - moment < span).map(|(_, n)| n).sum::<u64>();
            let (recent, a_little_longer) = (within(period), within(period + width));
            match rule.try_acquire(&mut state, at(now), n) {
                Ok(()) => {
                    prop_assert!(n == 0 || recent + n <= count, "{n} beside {recent}");
                    let_in.push((now, n));
                }
                Err(_) => prop_assert!(a_little_longer + n > count, "{n} beside {a_little_longer}"),
            }
        }
    }
}

#[test]
fn the_edges_of_the_types_do_no_harm() {
    for (count, period, slots) in
        [(1, Nanos::MAX.as_nanos(), 1), (u64::MAX >> 1, Nanos::MAX.as_nanos(), u16::MAX), (1, 1, 7)]
    {
        let quota = Quota::new(count, Duration::from_nanos(period)).unwrap();
        let rule = AggregatedWindow::new(quota, NonZeroU16::new(slots).unwrap());
        let mut state = rule.fresh();
        assert_eq!(
            rule.try_acquire(&mut state, at(0), u64::MAX),
            Err(Rejected::ExceedsCapacity { capacity: count })
        );
        assert_eq!(rule.try_acquire(&mut state, at(0), count), Ok(()));
        assert_eq!(rule.try_acquire(&mut state, Nanos::MAX, 0), Ok(()));
        let again = rule.try_acquire(&mut state, Nanos::MAX, count);
        assert_eq!(again.is_ok(), period == 1, "{again:?}");
    }
}

#[test]
fn a_day_of_requests_is_a_few_numbers() {
    let rule = AggregatedWindow::new("100000/day".parse().unwrap(), NonZeroU16::new(24).unwrap());
    let (mut state, second) = (rule.fresh(), 1_000_000_000);
    let admitted = (0..200_000)
        .filter(|request| rule.try_acquire(&mut state, at(request * second), 1).is_ok());
    assert!(admitted.count() > 100_000);
    let entries = format!("{state:?}").matches(": ").count();
    assert!((20..=25).contains(&entries), "{entries} entries");
}

#[test]
fn a_moment_before_a_slot_left_counts_as_when_it_left() {
    let quota = Quota::new(3, Duration::from_nanos(60)).unwrap();
    let rule = AggregatedWindow::new(quota, NonZeroU16::new(60).unwrap());
    let mut state = rule.fresh();
    assert_eq!(rule.try_acquire(&mut state, at(0), 3), Ok(()));
    rule.advance(&mut state, at(60));
    assert_eq!(rule.try_acquire(&mut state, at(59), 3), Ok(()));
    assert_eq!(rule.try_acquire(&mut state, at(119), 1), Err(Rejected::NotUntil(at(120))));
}
