//! Tests the decisions of `check` and `check_n` with a clock that the tests move.

use governor::clock::{Clock, DefaultClock, FakeRelativeClock, MonotonicClock};
use governor::{DefaultDirectRateLimiter, InsufficientCapacity, Quota, RateLimiter};
use std::num::NonZeroU32;
use std::time::Duration;

type Limiter = RateLimiter<
    governor::state::NotKeyed,
    governor::state::InMemoryState,
    FakeRelativeClock,
    governor::middleware::NoOpMiddleware<governor::nanos::Nanos>,
>;

fn cells(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap()
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn fake(quota: Quota) -> (Limiter, FakeRelativeClock) {
    let clock = FakeRelativeClock::default();
    (RateLimiter::direct_with_clock(quota, clock.clone()), clock)
}

fn per_second(number: u32) -> (Limiter, FakeRelativeClock) {
    fake(Quota::per_second(cells(number)))
}

fn passed(limiter: &Limiter) -> usize {
    (0..100_000).take_while(|_| limiter.check().is_ok()).count()
}

#[test]
fn the_first_cell_is_due_at_once_and_no_other() {
    let (limiter, clock) = per_second(5);
    clock.advance(Duration::from_secs(60)); // no backlog, because the schedule starts on first use
    assert_eq!(passed(&limiter), 1);
}

#[test]
fn cells_come_at_the_rate() {
    let (limiter, clock) = per_second(2);
    assert!(limiter.check().is_ok());
    clock.advance(ms(499));
    assert!(limiter.check().is_err());
    clock.advance(ms(1));
    assert_eq!(passed(&limiter), 1);
    clock.advance(ms(1_000));
    assert_eq!(passed(&limiter), 2);
}

#[test]
fn a_long_pause_is_worth_one_burst_and_not_one_cell_more() {
    for burst in [2, 3, 5] {
        let (limiter, clock) = fake(Quota::per_second(cells(5)).allow_burst(cells(burst)));
        assert!(limiter.check().is_ok());
        for pause in [2, 3, 3_600] {
            clock.advance(Duration::from_secs(pause));
            assert_eq!(passed(&limiter), burst as usize, "burst {burst}, {pause} s");
        }
    }
}

#[test]
fn a_tenth_of_a_second_is_made_up_for_with_any_burst_size() {
    let (limiter, clock) = fake(Quota::per_second(cells(1_000)).allow_burst(cells(1)));
    assert!(limiter.check().is_ok());
    clock.advance(ms(60));
    assert_eq!(passed(&limiter), 60);
    clock.advance(ms(5_000));
    assert_eq!(passed(&limiter), 101); // a cell that is 100 ms late, and the 100 cells after it
}

#[test]
fn one_cell_of_check_n_is_check() {
    let ((one, clock), (many, other)) = (per_second(3), per_second(3));
    for step in [0, 1, 333, 1, 400, 2_000, 0, 0, 0, 10] {
        clock.advance(ms(step));
        other.advance(ms(step));
        assert_eq!(one.check(), many.check_n(cells(1)).unwrap());
    }
}

#[test]
fn several_cells_are_taken_together_or_not_at_all() {
    let (limiter, clock) = per_second(4);
    assert_eq!(limiter.check_n(cells(2)), Ok(Ok(())));
    let refused = limiter.check_n(cells(2)).unwrap().unwrap_err();
    assert_eq!(refused.wait_time_from(clock.now()), ms(500));
    assert!(limiter.check().is_err());
    clock.advance(ms(500));
    assert_eq!(limiter.check_n(cells(2)), Ok(Ok(())));
    assert!(limiter.check().is_err());
}

#[test]
fn more_than_a_burst_never_fits() {
    let (limiter, clock) = per_second(5);
    for number in [6, 7, 15, u32::MAX] {
        assert_eq!(limiter.check_n(cells(number)), Err(InsufficientCapacity(5)));
        clock.advance(Duration::from_secs(20));
    }
    assert_eq!(limiter.check_n(cells(5)), Ok(Ok(())));
    assert!(InsufficientCapacity(5).to_string().contains('5'));
}

#[test]
fn a_cell_is_admitted_exactly_when_the_refusal_says() {
    for quota in [
        Quota::per_second(cells(5)),
        Quota::per_second(cells(7)).allow_burst(cells(1)),
        Quota::per_minute(cells(1_000)),
        Quota::with_period(Duration::from_nanos(1_234_567)).unwrap(),
    ] {
        let (limiter, clock) = fake(quota);
        for step in 0..200 {
            clock.advance(Duration::from_micros(step * 97 % 4_000));
            while let Err(not_until) = limiter.check() {
                let wait = not_until.wait_time_from(clock.now());
                assert!(wait > Duration::ZERO);
                clock.advance(wait.saturating_sub(Duration::from_nanos(1)));
                assert!(limiter.check().is_err());
                clock.advance(Duration::from_nanos(1));
                assert_eq!(not_until.earliest_possible(), clock.now());
                assert_eq!(not_until.wait_time_from(clock.now()), Duration::ZERO);
                assert_eq!(not_until.quota(), quota);
                assert!(not_until.to_string().contains("rate-limited until"));
            }
        }
    }
}

#[test]
fn threads_share_one_schedule() {
    let (limiter, clock) = per_second(20);
    assert!(limiter.check().is_ok());
    clock.advance(ms(1_000));
    let passed: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| passed(&limiter))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(passed, 20);
}

#[test]
fn a_cell_may_take_longer_than_the_slowest_rate_of_the_engine() {
    let week = Duration::from_secs(7 * 86_400);
    let (limiter, clock) = fake(Quota::with_period(week).unwrap().allow_burst(cells(3)));
    assert!(limiter.check().is_ok());
    let refused = limiter.check().unwrap_err();
    assert_eq!(refused.wait_time_from(clock.now()), week);
    clock.advance(10 * week);
    assert_eq!(passed(&limiter), 3);
}

#[test]
#[expect(deprecated, reason = "tools still call it")]
fn extreme_quotas_do_not_panic() {
    let fast = Quota::new(NonZeroU32::MAX, Duration::from_nanos(1)).unwrap();
    let slow = Quota::with_period(Duration::MAX).unwrap().allow_burst(NonZeroU32::MAX);
    for quota in [fast, slow, Quota::per_second(NonZeroU32::MAX), Quota::per_hour(cells(1))] {
        let (limiter, clock) = fake(quota);
        for _ in 0..5 {
            let _ = limiter.check();
            let _ = limiter.check_n(quota.burst_size());
            clock.advance(Duration::from_secs(1 << 30));
        }
    }
}

#[test]
fn the_rate_is_kept_exactly() {
    let (limiter, clock) = fake(Quota::per_second(cells(3)).allow_burst(cells(1)));
    assert!(limiter.check().is_ok());
    for hour in 1..=24 {
        clock.advance(Duration::from_secs(3_600));
        assert!(limiter.check().is_ok(), "hour {hour}");
        while limiter.check().is_ok() {}
    }
    let (exact, clock) = fake(Quota::per_second(cells(3)).allow_burst(cells(100_000)));
    assert!(exact.check().is_ok());
    clock.advance(Duration::from_secs(30_000));
    assert_eq!(passed(&exact), 90_000);
}

#[test]
fn limiters_on_real_clocks_have_the_names_of_governor() {
    let quota = Quota::per_hour(cells(20));
    let by_default: DefaultDirectRateLimiter = RateLimiter::direct(quota);
    let given: DefaultDirectRateLimiter =
        RateLimiter::direct_with_clock(quota, DefaultClock::default());
    let monotonic = RateLimiter::direct_with_clock(quota, &MonotonicClock);
    assert!(by_default.check().is_ok() && given.check().is_ok() && monotonic.check().is_ok());

    let now = DefaultClock::default().now();
    let wait = by_default.check().unwrap_err().wait_time_from(now);
    assert!(wait <= Duration::from_secs(180) + Duration::from_secs(60), "{wait:?}");
    assert!(monotonic.check().unwrap_err().earliest_possible() > monotonic.clock().now());
    assert!(!format!("{given:?}").is_empty());
}
