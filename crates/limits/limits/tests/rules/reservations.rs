//! Tests requests that are counted before their cost is known, with several limits and with changed limits.

use crate::laws::{at, seconds};
use nanopace_limits::{Limiter, Rejected};
use nanopace_nanos::ManualClock;
use std::time::Duration;

#[test]
fn excess_cost_keeps_others_out() {
    for (text, wait) in [
        ("10/s", 1_500_000_000),
        ("10/s in 10", 1_099_999_999),
        ("10/s sliding-log", 1_000_000_000),
    ] {
        let clock = ManualClock::new();
        clock.set(seconds(5));
        let limiter = Limiter::with_clock(text.parse().unwrap(), clock.clone());
        limiter.reserve(5).unwrap().commit_costs(24);
        let Err(Rejected::NotUntil(moment)) = limiter.try_acquire() else {
            panic!("{text} lets in")
        };
        assert_eq!(moment - seconds(5), Duration::from_nanos(wait), "{text}");
    }
}

#[test]
fn reservations_are_taken_back_whole_in_the_order_they_were_made_and_in_reverse() {
    for (text, is_reversed) in [("10/s", false), ("10/s", true), ("10/s sliding-log", true)] {
        let limiter = Limiter::with_clock(text.parse().unwrap(), ManualClock::new());
        let mut open: Vec<_> = [1, 4, 2, 3].map(|n| limiter.reserve(n).unwrap()).into();
        if is_reversed {
            open.reverse();
        }
        open.into_iter().for_each(drop);
        assert_eq!(limiter.standing().remaining, 10, "{text}, reversed: {is_reversed}");
    }
}

#[test]
fn of_two_limits_alike_each_takes_back_its_own_cost() {
    let limiter = Limiter::with_clock("10/s, 10/s".parse().unwrap(), ManualClock::new());
    drop(limiter.reserve(&[1, 4]).unwrap());
    assert!(limiter.try_acquire_costs(&[10, 10]).is_ok());
}

#[test]
fn of_two_limits_alike_none_takes_back_the_cost_of_the_other() {
    for kind in ["", " fixed-window"] {
        let limits = |text: &str| text.replace(" KIND", kind).parse().unwrap();
        let limiter =
            Limiter::with_clock(limits("10/s, 9/min KIND, 9/min KIND"), ManualClock::new());
        limiter.try_acquire_costs(&[0, 0, 8]).unwrap();
        let reservation = limiter.reserve(&[0, 7, 0]).unwrap();
        limiter.set_limits(limits("9/min KIND, 9/min KIND"));
        drop(reservation);
        assert_eq!(
            limiter.try_acquire_costs(&[0, 9]),
            Ok(()),
            "the limit that stayed has refunded"
        );
        assert!(limiter.try_acquire_costs(&[2, 0]).is_err(), "the other limit has refunded{kind}");
    }
}

#[test]
fn debt_that_another_refund_has_paid_is_not_refunded() {
    // With a single rate, the request at 0.6 s takes the fast path. With two limits, it advances the states first,
    // which must not forget the refund.
    for limits in ["10/s", "10/s, 100/day"] {
        let clock = ManualClock::new();
        let limiter = Limiter::with_clock(limits.parse().unwrap(), clock.clone());
        let (first, second) = (limiter.reserve(4).unwrap(), limiter.reserve(4).unwrap());
        drop(first); // the second request is now paid off after 0.4 s
        clock.set(at(600_000_000));
        limiter.try_acquire_costs(4).unwrap();
        drop(second);
        assert_eq!(limiter.standing().remaining, 6, "{limits}");
    }
}

#[test]
fn excess_cost_counts_for_another_number_of_limits() {
    let clock = ManualClock::new();
    let limiter = Limiter::with_clock("100/day sliding-log".parse().unwrap(), clock.clone());
    let reservation = limiter.reserve(1).unwrap();
    limiter.set_limits("50/h sliding-log, 60/min".parse().unwrap());
    reservation.commit_costs(21);
    assert_eq!(
        limiter.try_acquire_costs(&[30, 0]),
        Err(Rejected::NotUntil(at(3_600_000_000_000)).into())
    );
    assert!(limiter.try_acquire_costs(&[29, 0]).is_ok());
    assert!(limiter.try_acquire_costs(&[0, 40]).is_err());

    clock.advance(Duration::from_secs(2 * 3_600));
    limiter.set_limits("100/day sliding-log".parse().unwrap());
    assert_eq!(
        limiter.standing().remaining,
        50,
        "the limit that was replaced has counted the reservation too"
    );
}

#[test]
fn a_reservation_outlives_a_change_of_other_limits() {
    let clock = ManualClock::new();
    let limiter = Limiter::with_clock("10/min, 5/day".parse().unwrap(), clock);
    let reservation = limiter.reserve(4).unwrap();
    limiter.set_limits("3/s, 10/min".parse().unwrap());
    drop(reservation);
    assert_eq!(limiter.limits().each().len(), 2);
    limiter.set_limits("10/min".parse().unwrap());
    assert_eq!(
        limiter.standing().remaining,
        10,
        "the limit that stayed has refunded the reservation"
    );
}

#[test]
fn a_reservation_is_not_taken_back_from_what_came_while_its_limit_was_away() {
    let clock = ManualClock::new();
    let limiter = Limiter::with_clock("1/s burst 10".parse().unwrap(), clock);
    let reservation = limiter.reserve(10).unwrap();
    limiter.set_limits("100/min sliding-log".parse().unwrap());
    assert!(limiter.try_acquire_costs(10).is_ok());
    limiter.set_limits("1/s burst 10".parse().unwrap());
    drop(reservation);
    assert_eq!(limiter.standing().remaining, 0);
}

#[test]
fn excess_cost_counts_for_new_limits_too() {
    for kind in ["", " sliding-log", " in 6"] {
        let limiter =
            Limiter::with_clock(format!("10/min{kind}").parse().unwrap(), ManualClock::new());
        let reservation = limiter.reserve(1).unwrap();
        limiter.set_limits(format!("20/min{kind}").parse().unwrap());
        reservation.commit_costs(8);
        let left = limiter.standing().remaining;
        assert!((11..=12).contains(&left), "{left} of 20/min{kind}");
    }
}

#[test]
fn a_fraction_that_is_paid_off_is_missing_in_one_refund_only() {
    let clock = ManualClock::new();
    let limiter = Limiter::with_clock("10/s burst 20".parse().unwrap(), clock.clone());
    let open: Vec<_> = (0..10).map(|_| limiter.reserve(1).unwrap()).collect();
    clock.set(at(50_000_000)); // half of the first request is paid off
    open.into_iter().for_each(drop);
    assert_eq!(limiter.standing().remaining, 19);
}

#[test]
fn a_refund_of_billions_is_not_repeated() {
    const BILLION: u64 = 1_000_000_000;
    let clock = ManualClock::new();
    let limits = format!("1G/s burst {}", 20 * BILLION);
    let limiter = Limiter::with_clock(limits.parse().unwrap(), clock.clone());
    let [first, second] = [(); 2].map(|()| limiter.reserve(5 * BILLION).unwrap());
    drop(first);
    clock.set(seconds(5));
    limiter.try_acquire_costs(10 * BILLION).unwrap();
    drop(second);
    let left = limiter.standing().remaining;
    assert!(left <= 10 * BILLION, "{left} of 20 G are left, although 10 G were just admitted");
}
