//! Compares quotas and decisions with those of the published governor, and tests arithmetic on times.

use governor::Quota;
use governor::clock::{Clock, FakeRelativeClock, Reference};
use governor::nanos::Nanos;
use proptest::prelude::*;
use std::num::NonZeroU32;
use std::time::{Duration, Instant, SystemTime};

fn cells() -> impl Strategy<Value = NonZeroU32> {
    prop_oneof![1..10_000_u32, 1..=u32::MAX].prop_map(|number| NonZeroU32::new(number).unwrap())
}

fn assert_same(ours: Quota, theirs: published::Quota) {
    assert_eq!(ours.burst_size(), theirs.burst_size());
    assert_eq!(ours.replenish_interval(), theirs.replenish_interval());
    assert_eq!(ours.burst_size_replenished_in(), theirs.burst_size_replenished_in());
}

proptest! {
    #[test]
    fn getters_return_the_same(number in cells(), burst in cells(), period_us in 1..=86_400_000_u64) {
        use published::Quota as Theirs;
        assert_same(Quota::per_second(number), Theirs::per_second(number));
        assert_same(Quota::per_minute(number), Theirs::per_minute(number));
        assert_same(Quota::per_hour(number), Theirs::per_hour(number));
        let period = Duration::from_micros(period_us);
        assert_same(Quota::with_period(period).unwrap(), Theirs::with_period(period).unwrap());
        assert_same(
            Quota::per_second(number).allow_burst(burst),
            Theirs::per_second(number).allow_burst(burst),
        );
    }

    /// The cells of each burst are one interval apart, and span at least 100 ms together.
    #[test]
    fn after_the_first_burst_decisions_are_the_same(
        interval_ms in 1..500_u64,
        more in 0..50_u32,
        steps in prop::collection::vec(0..3_000_u64, 1..200),
    ) {
        let ms = Duration::from_millis;
        let at_least = u32::try_from(100_u64.div_ceil(interval_ms)).unwrap();
        let burst = NonZeroU32::new(at_least + 1 + more).unwrap();
        let (ours, our_clock) = (
            Quota::with_period(ms(interval_ms)).unwrap().allow_burst(burst),
            FakeRelativeClock::default(),
        );
        let (theirs, their_clock) = (
            published::Quota::with_period(ms(interval_ms)).unwrap().allow_burst(burst),
            published::clock::FakeRelativeClock::default(),
        );
        let ours = governor::RateLimiter::direct_with_clock(ours, our_clock.clone());
        let theirs = published::RateLimiter::direct_with_clock(theirs, their_clock.clone());
        prop_assert!(ours.check().is_ok());
        while theirs.check().is_ok() {}
        for step in steps {
            our_clock.advance(ms(step));
            their_clock.advance(ms(step));
            for _ in 0..3 {
                let wait = ours.check().map_err(|no| no.wait_time_from(our_clock.now()));
                let their_now = published::clock::Clock::now(&their_clock);
                let their_wait = theirs.check().map_err(|no| no.wait_time_from(their_now));
                prop_assert_eq!(wait, their_wait);
            }
        }
    }
}

#[test]
fn the_same_rate_is_equal_however_it_is_given() {
    let sixty = NonZeroU32::new(60).unwrap();
    let (second, minute) = (Quota::per_second(NonZeroU32::MIN), Quota::per_minute(sixty));
    assert_ne!(second, minute); // bursts of 1 and of 60
    assert_eq!(second.allow_burst(sixty), minute);
    assert_eq!(
        Quota::per_hour(NonZeroU32::MIN).replenish_interval() / 3_600,
        Duration::from_secs(1)
    );
}

#[test]
#[expect(deprecated, reason = "tools still call it")]
fn a_period_of_zero_is_no_quota() {
    let fifty = NonZeroU32::new(50).unwrap();
    assert!(Quota::with_period(Duration::ZERO).is_none());
    assert!(Quota::new(fifty, Duration::ZERO).is_none());
    assert_eq!(Quota::new(fifty, Duration::from_secs(1)), Some(Quota::per_second(fifty)));
}

fn assert_is_reference<P: Reference>(now: P) {
    let second = Nanos::from(Duration::from_secs(1));
    let later = now + second;
    assert!(later > now);
    assert_eq!(later.duration_since(now), second);
    assert_eq!(now.duration_since(later), Nanos::default());
    assert_eq!(later.saturating_sub(second), now);
}

#[test]
fn moments_of_every_kind_are_references() {
    assert_is_reference(Instant::now());
    assert_is_reference(SystemTime::now());
    assert_is_reference(Duration::from_secs(10));
    assert_is_reference(Nanos::new(10));
    #[cfg(feature = "quanta")]
    assert_is_reference(governor::clock::QuantaClock::default().now());
}

#[test]
fn arithmetic_saturates() {
    let (most, hour) = (Nanos::new(u64::MAX), Duration::from_secs(3_600));
    assert_eq!(most + hour, most);
    assert_eq!(most * 2, most);
    assert_eq!(Nanos::new(7) / Nanos::new(2), 3);
    assert_eq!(Nanos::new(7) / Nanos::new(0), 0);
    assert_eq!(Nanos::new(7).saturating_sub(Nanos::new(8)), Nanos::default());
    assert_eq!(format!("{:?}", Nanos::from(20)), "Nanos(20ns)");
    assert_eq!(u64::from(Nanos::from(hour)), 3_600_000_000_000);
    let clock = FakeRelativeClock::default();
    clock.advance(Duration::MAX);
    clock.advance(Duration::MAX);
    assert_eq!(clock, clock.clone());
    assert_ne!(clock, FakeRelativeClock::default());
}
