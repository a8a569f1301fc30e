//! Tests limits of any kind, alone and several at once: strings, costs, refunds and changes.

use crate::laws::{at, seconds};
use nanopace_limits::{
    Costs, CostsRejected, Limit, Limiter, Limits, LimitsError, Quota, Rejected, Rule,
};
use nanopace_nanos::ManualClock;
use proptest::prelude::*;
use std::sync::Arc;
use std::time::Duration;

pub(crate) fn kinds(count: u64, period: u64, burst: u64, slots: u64) -> Vec<Limit> {
    [
        format!("{count}/{period}us"),
        format!("{count}/{period}us burst {burst}"),
        format!("{count}/{period}us in {slots}"),
        format!("{count}/{period}us sliding-log"),
        format!("{count}/{period}us sliding-log-all"),
        format!("{count}/{period}us fixed-window"),
        format!("{count}/{period}us sliding-counter"),
    ]
    .iter()
    .map(|text| text.parse().expect("a limit"))
    .collect()
}

pub(crate) fn any_limit() -> impl Strategy<Value = Limit> {
    (1..20_u64, 20..500_u64, 1..30_u64, 1..12_u64, 0..7_usize)
        .prop_map(|(count, period, burst, slots, kind)| kinds(count, period, burst, slots)[kind])
}

fn is_rate(limit: &Limit) -> bool {
    limit.with_burst(1).is_ok()
}

pub(crate) fn any_limits() -> impl Strategy<Value = Limits> {
    prop_oneof![
        any_limit().prop_map(|limit| Limits::new([limit])),
        prop::collection::vec(any_limit(), 2..4).prop_map(Limits::new)
    ]
}

fn any_requests() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let pause =
        prop_oneof![3 => Just(0), 3 => 0..10_000_u64, 3 => 0..100_000_u64, 1 => 0..1_000_000_u64];
    let n = prop_oneof![4 => Just(1_u64), 1 => 0..8_u64, 1 => 0..30_u64];
    prop::collection::vec((pause, n), 1..80)
}

#[test]
fn each_kind_of_limit_has_its_text() {
    let quota = "10/s".parse().unwrap();
    for (limit, text) in [
        (Limit::gcra(quota), "10/s"),
        (Limit::gcra_with_burst(quota, 20).unwrap(), "10/s burst 20"),
        (Limit::window(quota, 60.try_into().unwrap()), "10/s in 60"),
        (Limit::sliding_log(quota), "10/s sliding-log"),
        (Limit::sliding_log_counting_rejected(quota), "10/s sliding-log-all"),
        (Limit::fixed_window(quota), "10/s fixed-window"),
        (Limit::sliding_counter(quota), "10/s sliding-counter"),
    ] {
        assert_eq!((limit.to_string().as_str(), limit.quota()), (text, quota));
        assert_eq!(text.parse(), Ok(limit));
    }
}

#[test]
fn of_limits_with_nothing_left_the_last_to_recover_is_the_tightest() {
    for (text, slowest) in [("1/min, 1/s, 1/h", 2), ("1/h, 1/min, 1/s", 0), ("1/min, 1/h, 1/s", 1)]
    {
        let limits: Limits = text.parse().unwrap();
        let mut state = limits.fresh();
        limits.try_acquire(&mut state, at(0), 1).unwrap();
        let (which, standing) = limits.tightest(&state, at(0));
        assert_eq!((which, standing.reset), (slowest, Duration::from_secs(3_600)), "{text}");
    }
    let limits: Limits = "2/min, 2/h".parse().unwrap();
    let mut state = limits.fresh();
    limits.try_acquire(&mut state, at(0), 1).unwrap();
    assert_eq!(limits.tightest(&state, at(0)).0, 0);
}

proptest! {
    #[test]
    fn text_is_read_as_it_is_written(limits in any_limits()) {
        prop_assert_eq!(limits.to_string().parse::<Limits>(), Ok(limits));
    }

    #[test]
    fn limits_keep_the_laws_of_rules(limits in any_limits(), requests in any_requests()) {
        let mut now = 1_000;
        let arrivals: Vec<_> = requests.iter().map(|(pause, n)| {
            now += pause;
            crate::laws::Arrival { now: at(now), n: *n }
        }).collect();
        let mut state = limits.fresh();
        for arrival in &arrivals {
            let decision = limits.decide(&mut state, arrival.now, arrival.n);
            prop_assert_eq!(decision.limit(), limits.each()[decision.which()].most());
        }
        crate::laws::idle_is_fresh(&limits, &arrivals)?;
        crate::laws::looking_changes_nothing(|| nanopace_limits::Locked::new(limits.clone()), &arrivals)?;
        if !limits.to_string().contains("sliding-log-all") {
            crate::laws::rejections_count_for_nothing(&limits, &arrivals)?;
            crate::laws::retries_get_in(&limits, &arrivals)?;
            crate::laws::sizes_are_told_apart(&limits, limits.most(), &arrivals)?;
        }
    }

    #[test]
    fn each_limit_counts_its_own_cost(
        limits in any_limits(), requests in any_requests(), more in prop::collection::vec(0..10_u64, 3),
    ) {
        let mut state = limits.fresh();
        let alone: Vec<Limits> = limits.each().iter().map(|limit| Limits::new([*limit])).collect();
        let mut states: Vec<_> = alone.iter().map(Limits::fresh).collect();
        let mut now = 1_000;
        for (pause, n) in requests {
            now += pause;
            let costs: Vec<u64> = alone.iter().zip(&more).map(|(_, more)| n * more).collect();
            let each = alone.iter().zip(&states).zip(&costs);
            let answers: Vec<_> = each.map(|((one, state), cost)| one.peek(state, at(now), *cost)).collect();
            let expected = answers.iter().filter_map(|answer| answer.err()).max().map_or(Ok(()), Err);
            let decision = limits.decide_costs(&mut state.clone(), at(now), &costs[..]).unwrap();
            prop_assert!(decision.is_allowed() || answers[decision.which()] == expected);
            let answer = limits.try_acquire_costs(&mut state, at(now), &costs[..]);
            if limits.to_string().contains("sliding-log-all") {
                // The limit counts requests that the other limits reject, so its retry time may be later than theirs.
                prop_assert_eq!(answer.is_ok(), expected.is_ok());
                if let (Err(CostsRejected::Limit(told)), Err(alone)) = (answer, expected) {
                    prop_assert!(told >= alone);
                }
            } else {
                prop_assert_eq!(answer, expected.map_err(CostsRejected::from));
            }
            for ((one, state), cost) in alone.iter().zip(&mut states).zip(&costs) {
                match expected {
                    Ok(()) => one.debit(state, at(now), *cost),
                    Err(Rejected::NotUntil(_)) if *cost > 0 => one.refuse(state, at(now), *cost),
                    Err(_) => (),
                }
            }
        }
    }

    /// After a refund, a limit that counts in windows behaves as if the request had never been counted, unless it
    /// rejected other requests before the refund.
    #[test]
    fn a_request_taken_back_makes_room_for_no_more_than_itself(
        limits in any_limits(), requests in any_requests(), first in 0..30_usize, length in 0..8_usize,
        size in 1..20_u64, left in prop_oneof![3 => Just(0), 1 => 0..30_u64],
    ) {
        let limits = Arc::new(limits);
        let (mut with, mut without) = (limits.fresh(), limits.fresh());
        let (mut now, mut receipt, stayed) = (1_000, None, left.min(size));
        let mut is_like = !limits.each().iter().any(is_rate);
        for (i, (pause, n)) in requests.into_iter().enumerate() {
            now += pause;
            if i == first {
                receipt = limits.reserve(&mut with, at(now), size).ok();
                match receipt {
                    Some(_) => limits.try_acquire(&mut without, at(now), stayed).unwrap(),
                    None => is_like = false,
                }
            }
            if let Some(receipt) = receipt.take_if(|_| i >= first + length) {
                limits.settle(&mut with, at(now), &receipt, Costs::Same(stayed));
            }
            let (left, most) = (limits.remaining(&with, at(now)), limits.remaining(&without, at(now)));
            prop_assert!(left <= most, "{}, not {} of {} at {}", left, most, limits, now);
            prop_assert!(!is_like || receipt.is_some() || left == most, "{}, not {} of {} at {}", left, most, limits, now);
            match limits.try_acquire(&mut with, at(now), n) {
                Ok(()) => prop_assert_eq!(limits.try_acquire(&mut without, at(now), n), Ok(()), "{} at {}", limits, now),
                Err(_) => is_like = false,
            }
        }
    }

    #[test]
    fn overlapping_reservations_make_room_for_no_more_than_themselves(
        limits in any_limits(),
        steps in prop::collection::vec(
            (prop_oneof![3 => Just(0), 3 => 0..10_000_u64, 2 => 0..300_000_u64], 0..4_u8, 1..12_u64, prop_oneof![2 => Just(0), 1 => 0..12_u64], 0..4_usize),
            1..60,
        ),
    ) {
        let limits = Arc::new(limits);
        let (mut with, mut without) = (limits.fresh(), limits.fresh());
        let (mut now, mut open) = (1_000, Vec::new());
        for (pause, what, size, stays, place) in steps {
            now += pause;
            match what {
                0 | 1 => if let Ok(receipt) = limits.reserve(&mut with, at(now), size) {
                    let stays = stays.min(size);
                    prop_assert_eq!(limits.try_acquire(&mut without, at(now), stays), Ok(()));
                    open.push((receipt, stays));
                },
                2 if place < open.len() => {
                    let (receipt, stays) = open.remove(place);
                    limits.settle(&mut with, at(now), &receipt, stays);
                }
                _ => if limits.try_acquire(&mut with, at(now), size).is_ok() {
                    prop_assert_eq!(limits.try_acquire(&mut without, at(now), size), Ok(()), "{} at {}", limits, now);
                },
            }
            let (left, most) = (limits.remaining(&with, at(now)), limits.remaining(&without, at(now)));
            prop_assert!(left <= most, "{}, not {} of {} at {}", left, most, limits, now);
        }
    }

    #[test]
    fn a_request_taken_back_at_once_leaves_nothing(limits in any_limits(), requests in any_requests()) {
        let limits = Arc::new(limits);
        let mut state = limits.fresh();
        let mut now = 1_000;
        for (pause, n) in requests {
            now += pause;
            let before = limits.standing(&state, at(now));
            if let Ok(receipt) = limits.reserve(&mut state, at(now), n) {
                limits.settle(&mut state, at(now), &receipt, 0);
                prop_assert_eq!(limits.standing(&state, at(now)), before);
            }
            let _ = limits.try_acquire(&mut state, at(now), n);
        }
    }

    #[test]
    fn after_a_change_the_new_limits_hold(
        (old, new) in (any_limits(), any_limits()), requests in any_requests(), change in 0..60_usize,
    ) {
        let mut state = old.fresh();
        let mut fresh = new.fresh();
        let (mut now, mut limits) = (1_000, &old);
        for (i, (pause, n)) in requests.into_iter().enumerate() {
            now += pause;
            if i == change {
                old.advance(&mut state, at(now));
                state = new.carry_over(&old, &state, at(now));
                limits = &new;
            }
            let gets_in = limits.try_acquire(&mut state, at(now), n).is_ok();
            if gets_in && i >= change {
                prop_assert_eq!(new.try_acquire(&mut fresh, at(now), n), Ok(()), "{} after {}", new, old);
            }
        }
    }
}

/// Checks the example in the documentation of `Limits`.
#[test]
fn between_kinds_a_change_forgets_what_was_not_recorded() {
    let milli = |millis: u64| at(millis * 1_000_000);
    let (old, new): (Limits, Limits) =
        ("10/s burst 1".parse().unwrap(), "20/s in 10".parse().unwrap());
    let mut state = old.fresh();
    let let_in = |state: &mut _| {
        (0..10).filter(|i| old.try_acquire(state, milli(i * 100), 1).is_ok()).count()
    };
    assert_eq!(let_in(&mut state), 10);
    let mut state = new.carry_over(&old, &state, milli(950));
    let more = (0..100).filter(|_| new.try_acquire(&mut state, milli(950), 1).is_ok()).count();
    assert_eq!(10 + more, 29);
}

/// A fixed window forgets its count at its end. A log that counts rejected requests stores no more requests than its
/// limit admits.
#[test]
fn a_new_window_begins_with_what_the_longest_memory_has_recorded() {
    for (old, now) in [
        ("3/62s sliding-log", 3_660),
        ("10/60s fixed-window, 3/62s sliding-log", 3_660),
        ("10/61s fixed-window, 3/62s sliding-log", 3_660),
        ("10/59s fixed-window, 3/90s fixed-window", 3_599),
        ("1/61s sliding-log-all, 3/62s sliding-log", 3_660),
        ("1/60s sliding-log-all, 3/60s sliding-log-all", 3_660),
    ] {
        let old: Limits = old.parse().unwrap();
        for new in ["3/60s sliding-log", "3/60s sliding-counter", "3/60s in 60"] {
            let mut state = old.fresh();
            let costs: &[u64] = if old.each().len() == 1 { &[3] } else { &[1, 3] };
            old.try_acquire_costs(&mut state, seconds(now - 1), costs).unwrap();
            let new: Limits = new.parse().unwrap();
            let mut state = new.carry_over(&old, &state, seconds(now));
            assert!(new.try_acquire(&mut state, seconds(now), 1).is_err(), "{old} to {new}");
        }
    }
}

#[test]
fn of_two_windows_alike_each_goes_on_with_its_own_count() {
    let (old, new): (Limits, Limits) =
        ("10/min in 6, 5k/min in 6".parse().unwrap(), "20/min in 6, 6k/min in 6".parse().unwrap());
    let mut state = old.fresh();
    old.try_acquire_costs(&mut state, seconds(1), &[3, 4_500]).unwrap();
    let mut state = new.carry_over(&old, &state, seconds(1));
    assert!(new.try_acquire_costs(&mut state, seconds(1), &[17, 1_501]).is_err());
    assert!(new.try_acquire_costs(&mut state, seconds(1), &[18, 1_500]).is_err());
    assert!(new.try_acquire_costs(&mut state, seconds(1), &[17, 1_500]).is_ok());
}

/// Both windows have one kind and period, so only their counts tell them apart.
#[test]
fn a_window_that_moves_to_another_place_keeps_its_own_state() {
    for kind in ["in 6", "sliding-log", "fixed-window", "sliding-counter"] {
        for changes in [
            vec!["9/min KIND, 1k/min KIND"],
            vec!["5/s, 1k/min KIND, 9/min KIND", "9/min KIND, 1k/min KIND"],
            vec!["9/min KIND", "9/min KIND, 1k/min KIND"],
        ] {
            let limits = |text: &str| text.replace("KIND", kind).parse().unwrap();
            let both = limits("1k/min KIND, 9/min KIND");
            let limiter = Limiter::with_clock(both, ManualClock::new());
            limiter.try_acquire_costs(&[1_000, 1]).unwrap();
            for change in &changes {
                limiter.set_limits(limits(change));
            }
            let admits = |costs| limiter.try_acquire_costs(&costs).is_ok();
            let answers = [admits([0, 1]), admits([9, 0]), admits([8, 0])];
            assert_eq!(answers, [false, false, true], "{changes:?} of {kind}");
        }
    }
}

#[test]
fn an_invalid_limit_is_an_error_that_says_what_to_write() {
    for (text, error) in [
        ("10/s brust 5", "`brust 5` is not a kind of limit: write `burst 20`"),
        ("10/s burst x", "`x` is not a burst"),
        ("10/s burst 0", "that capacity admits nothing"),
        ("10/s in 0", "`0` is not a number of slots"),
        ("10/s sliding-blog", "`sliding-blog` is not a kind of limit"),
        ("ten/s", "`ten/s` is not a quota"),
        ("Unlimited", "`Unlimited` is not a quota"),
        (&["1/s"; 65].join(","), "65 limits are too many: write at most 64"),
    ] {
        let told = text.parse::<Limits>().unwrap_err().to_string();
        assert!(told.starts_with(error), "{text}: {told}");
    }
    let error = Limiter::per(5, Duration::ZERO).limits();
    assert!(matches!(error, Err(LimitsError::Quota(_))), "{error:?}");
    assert_eq!(
        Limiter::per_second(5).and("5/s sliding-log").burst(3).limits(),
        Err(LimitsError::NoBurst)
    );
}

/// A blank string may come from a variable that is not set. It must not be read as `unlimited`.
#[test]
fn blank_text_is_an_error_and_unlimited_is_no_limit() {
    for blank in ["", " ", "\t", "\r\n", "\u{a0}", "\u{3000}"] {
        for text in [
            blank.to_owned(),
            format!("{blank},"),
            format!(",{blank}"),
            format!("10/s,{blank}"),
            format!("{blank},10/s"),
            format!("10/s,{blank},5/s"),
        ] {
            assert_eq!(text.parse::<Limits>(), Err(LimitsError::Empty), "{text:?}");
        }
        assert_eq!(blank.parse::<Limit>(), Err(LimitsError::Empty), "{blank:?}");
        assert!(blank.parse::<Quota>().is_err(), "{blank:?}");
        assert_eq!(format!("{blank}unlimited{blank}").parse(), Ok(Limits::new([])));
    }
    assert_eq!(Limits::new([]).to_string(), "unlimited");
    assert!(LimitsError::Empty.to_string().contains("`unlimited`"));
}

#[test]
fn unlimited_is_no_part_of_other_limits() {
    for text in ["unlimited, 10/s", "10/s,unlimited", "unlimited,unlimited", "1/s, unlimited, 2/s"]
    {
        assert_eq!(text.parse::<Limits>(), Err(LimitsError::Unlimited), "{text}");
    }
    assert_eq!("unlimited".parse::<Limit>(), Err(LimitsError::Unlimited));
    assert!("unlimited burst 5".parse::<Limits>().is_err());
}

#[test]
fn a_builder_takes_as_more_limits_what_a_text_takes() {
    let and = |text: &str| Limiter::per_second(10).and("5/s sliding-log").and(text).limits();
    assert_eq!(and("3/h, 4/d").unwrap().to_string(), "10/s, 5/s sliding-log, 3/h, 4/day");
    assert_eq!(and(" "), Err(LimitsError::Empty));
    assert_eq!(and("3/h,"), Err(LimitsError::Empty));
    assert_eq!(and("unlimited"), Err(LimitsError::Unlimited));
    assert_eq!(and(&["1/s"; 63].join(",")), Err(LimitsError::TooMany(65)));
}

#[test]
fn a_limiter_reads_its_clock_in_the_order_of_its_decisions() {
    let limiter = Limiter::new("1000/h sliding-log".parse().unwrap());
    let let_in: usize = std::thread::scope(|scope| {
        let ask = || (0..1_000).filter(|_| limiter.try_acquire().is_ok()).count();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(let_in, 1_000);
    assert_eq!(limiter.standing().remaining, 0);
}

#[test]
fn windows_of_the_clock_that_are_not_aligned_forget_nothing() {
    let clock = ManualClock::new();
    clock.set(seconds(60));
    let limiter = Limiter::with_clock("100/60s fixed-window".parse().unwrap(), clock.clone());
    assert!(limiter.try_acquire_costs(100).is_ok());
    for period in 61..80 {
        limiter.set_limits(format!("10/{period}s fixed-window").parse().unwrap());
        clock.advance(Duration::from_secs(1));
        limiter.set_limits("100/60s fixed-window".parse().unwrap());
        assert!(limiter.try_acquire().is_err(), "after {period}: {limiter:?}");
    }
}

#[test]
fn no_limits_have_no_costs() {
    let limiter = Limiter::with_clock("unlimited".parse().unwrap(), ManualClock::new());
    assert_eq!(limiter.try_acquire_costs(&[]), Ok(()));
    assert!(limiter.decide_costs(&[]).unwrap().is_allowed());
    limiter.reserve(&[]).unwrap().commit_costs(&[]);
    assert_eq!(limiter.try_acquire_costs(&[1]), Err(CostsRejected::Number { limits: 0, costs: 1 }));
}

#[test]
fn a_retry_time_includes_logs_that_count_the_rejection() {
    let clock = ManualClock::new();
    let limits = "1/s burst 1, 2/min sliding-log-all".parse().unwrap();
    let limiter = Limiter::with_clock(limits, clock.clone());
    assert!(limiter.try_acquire().is_ok());
    let Err(Rejected::NotUntil(moment)) = limiter.try_acquire() else { panic!("let in") };
    assert_eq!(moment, seconds(60));
    clock.set(moment);
    assert!(limiter.try_acquire().is_ok());
}

#[test]
fn the_fuller_of_two_equal_rates_moves_to_another_place() {
    for costs in [[9, 1], [1, 9]] {
        let limiter = Limiter::with_clock("10/s, 10/s".parse().unwrap(), ManualClock::new());
        limiter.try_acquire_costs(&costs).unwrap();
        limiter.set_limits("1k/min, 1k/h, 10/s".parse().unwrap());
        let admits = |n| limiter.try_acquire_costs(&[0, 0, n]).is_ok();
        assert_eq!([admits(2), admits(1)], [false, true], "{costs:?}");
    }
}

/// The faster limit admits its own rate, although the slower limit is exhausted whenever it is in force.
#[test]
fn a_rate_that_comes_back_goes_on_with_its_own_account() {
    for (fast, slow) in [("100/s burst 1", "1/s"), ("100/s burst 10", "1/s burst 10")] {
        let both: [Limits; 2] = [fast, slow].map(|text| text.parse().unwrap());
        let mut state = both[0].fresh();
        let mut let_in = 0;
        for turn in 0..1_200_u64 {
            let [old, new] = if turn % 2 == 0 { [1, 0] } else { [0, 1] };
            let now = at(turn * 2_500_000);
            if turn > 0 {
                state = both[new].carry_over(&both[old], &state, now);
            }
            let_in += u32::from(both[new].try_acquire(&mut state, now, 1).is_ok());
        }
        assert!((290..=310).contains(&let_in), "{fast} and {slow}: {let_in}");
    }
}

/// By RFC 9651, section 3.3.3, a string has only printable ASCII, with a backslash before each quote and each
/// backslash.
#[test]
fn the_name_of_a_policy_is_a_string_of_a_structured_field() {
    let limits: Limits = "100/h".parse().unwrap();
    let decision = limits.decide(&mut limits.fresh(), at(0), 100);
    for (name, quoted) in
        [("a b", r#""a b""#), (r#"a"b"#, r#""a\"b""#), (r"a\b", r#""a\\b""#), ("a\nbü", r#""ab""#)]
    {
        assert_eq!(decision.rate_limit(name), format!("{quoted};r=0;t=3600"));
        assert_eq!(decision.rate_limit_policy(name), format!("{quoted};q=100"));
    }
}
