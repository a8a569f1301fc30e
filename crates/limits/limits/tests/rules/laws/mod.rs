//! The laws that rules keep, and random arrivals to test them.

use nanopace_limits::{Locked, Quota, Rejected, Rule, TryAcquire};
use nanopace_nanos::Nanos;
use proptest::prelude::*;
use std::time::Duration;

pub(crate) const MILLI: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1_000_000_000;
pub(crate) const DAY: u64 = 86_400 * SECOND;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    pub(crate) now: Nanos,
    pub(crate) n: u64,
}

pub(crate) type Answer = Result<(), Rejected>;

pub(crate) fn at(nanos: u64) -> Nanos {
    Nanos::from_nanos(nanos)
}

pub(crate) fn seconds(seconds: u64) -> Nanos {
    at(seconds * SECOND)
}

pub(crate) fn span(nanos: u64) -> Duration {
    Duration::from_nanos(nanos)
}

pub(crate) fn not_until(moment: Nanos) -> Answer {
    Err(Rejected::NotUntil(moment))
}

pub(crate) fn answers<R: Rule>(rule: &R, arrivals: &[Arrival]) -> Vec<Answer> {
    let mut state = rule.fresh();
    arrivals.iter().map(|arrival| rule.try_acquire(&mut state, arrival.now, arrival.n)).collect()
}

pub(crate) fn admitted<R: Rule>(rule: &R, arrivals: &[Arrival]) -> Vec<Arrival> {
    let answers = answers(rule, arrivals);
    arrivals
        .iter()
        .zip(answers)
        .filter(|(_, answer)| answer.is_ok())
        .map(|(arrival, _)| *arrival)
        .collect()
}

#[derive(Clone, Copy, Debug)]
enum Step {
    On(u64),
    Back(u64),
}

impl Step {
    fn from(self, now: u64) -> u64 {
        match self {
            Step::On(gap) => at(now.saturating_add(gap)).as_nanos(),
            Step::Back(gap) => now.saturating_sub(gap),
        }
    }
}

fn steps(interval_ns: u64, period_ns: u64, backwards: bool) -> impl Strategy<Value = Step> {
    let on = prop_oneof![
        4 => Just(0),
        4 => 0..=interval_ns.saturating_mul(2),
        1 => interval_ns.saturating_sub(1)..=interval_ns.saturating_add(1),
        2 => 0..=period_ns.saturating_mul(2),
        1 => period_ns.saturating_sub(1)..=period_ns.saturating_add(1),
        1 => (0_u32..63).prop_flat_map(|bits| 0..=1_u64 << bits),
    ]
    .prop_map(Step::On);
    let back = (0..=period_ns.saturating_mul(2)).prop_map(Step::Back);
    prop_oneof![9 => on, u32::from(backwards) => back]
}

fn sizes(capacity: u64) -> impl Strategy<Value = u64> {
    prop_oneof![
        8 => Just(1),
        1 => Just(0),
        2 => 0..=capacity,
        1 => Just(capacity),
        1 => capacity.saturating_add(1)..=capacity.saturating_mul(2).saturating_add(1),
        1 => Just(u64::MAX),
    ]
}

fn sequence(
    period_ns: u64,
    count: u64,
    capacity: u64,
    backwards: bool,
) -> impl Strategy<Value = Vec<Arrival>> {
    let step = steps(period_ns / count, period_ns, backwards);
    prop::collection::vec((step, sizes(capacity)), 1..60).prop_map(|steps| {
        let mut now = 0;
        let mut arrive = |(step, n): (Step, u64)| {
            now = step.from(now);
            Arrival { now: at(now), n }
        };
        steps.into_iter().map(&mut arrive).collect()
    })
}

pub(crate) fn arrivals(
    period_ns: u64,
    count: u64,
    capacity: u64,
) -> impl Strategy<Value = Vec<Arrival>> {
    sequence(period_ns, count, capacity, true)
}

pub(crate) fn orderly(
    period_ns: u64,
    count: u64,
    capacity: u64,
) -> impl Strategy<Value = Vec<Arrival>> {
    sequence(period_ns, count, capacity, false)
}

/// Checks each decision against `definition`, which gets all earlier admissions in their order.
pub(crate) fn agrees<R: Rule>(
    rule: &R,
    arrivals: &[Arrival],
    definition: impl Fn(&[Arrival], Arrival) -> Answer,
) -> Result<(), TestCaseError> {
    let mut let_in = Vec::new();
    for (&arrival, answer) in arrivals.iter().zip(answers(rule, arrivals)) {
        prop_assert_eq!(answer, definition(&let_in, arrival), "{:?} after {:?}", arrival, let_in);
        if answer.is_ok() && arrival.n > 0 {
            let_in.push(arrival);
        }
    }
    Ok(())
}

/// Checks that the admissions stay within `bound`, which gets the length of a span in nanoseconds, both ends included.
pub(crate) fn is_bounded<R: Rule>(
    rule: &R,
    arrivals: &[Arrival],
    bound: impl Fn(u64) -> u128,
) -> Result<(), TestCaseError> {
    let_in_is_bounded(&admitted(rule, arrivals), bound)
}

pub(crate) fn let_in_is_bounded(
    let_in: &[Arrival],
    bound: impl Fn(u64) -> u128,
) -> Result<(), TestCaseError> {
    for from in let_in {
        for to in let_in.iter().filter(|to| to.now >= from.now) {
            let within = let_in.iter().filter(|one| (from.now..=to.now).contains(&one.now));
            let sum: u128 = within.map(|one| u128::from(one.n)).sum();
            let length = to.now.as_nanos() - from.now.as_nanos();
            prop_assert!(sum <= bound(length), "{} from {:?} to {:?}", sum, from.now, to.now);
        }
    }
    Ok(())
}

pub(crate) fn rejections_count_for_nothing<R: Rule>(
    rule: &R,
    arrivals: &[Arrival],
) -> Result<(), TestCaseError> {
    let let_in = admitted(rule, arrivals);
    prop_assert!(answers(rule, &let_in).iter().all(Result::is_ok));
    let mut state = rule.fresh();
    let mut untouched = rule.fresh();
    for arrival in arrivals {
        let answer = rule.try_acquire(&mut state, arrival.now, arrival.n);
        let mut asked = untouched.clone();
        prop_assert_eq!(answer, rule.try_acquire(&mut asked, arrival.now, arrival.n));
        if answer.is_ok() {
            untouched = asked;
        }
    }
    Ok(())
}

pub(crate) fn retries_get_in<R: Rule>(rule: &R, arrivals: &[Arrival]) -> Result<(), TestCaseError> {
    let mut state = rule.fresh();
    for &Arrival { now, n } in arrivals {
        let Err(Rejected::NotUntil(moment)) = rule.try_acquire(&mut state, now, n) else {
            continue;
        };
        if moment == Nanos::MAX {
            continue; // the retry time may be after the last moment
        }
        prop_assert!(moment > now, "{:?} at {:?}", moment, now);
        let before = at(moment.as_nanos() - 1);
        prop_assert!(
            rule.try_acquire(&mut state.clone(), before, n).is_err(),
            "also at {:?}",
            before
        );
        prop_assert_eq!(rule.try_acquire(&mut state.clone(), moment, n), Ok(()), "at {:?}", moment);
    }
    Ok(())
}

pub(crate) fn idle_is_fresh<R: Rule>(rule: &R, arrivals: &[Arrival]) -> Result<(), TestCaseError> {
    for (i, &first) in arrivals.iter().enumerate() {
        let mut state = rule.fresh();
        for arrival in &arrivals[..i] {
            let _ = rule.try_acquire(&mut state, arrival.now, arrival.n);
        }
        if !rule.is_idle(&state, first.now) {
            continue;
        }
        let mut fresh = rule.fresh();
        for later in arrivals[i..].iter().filter(|later| later.now >= first.now) {
            let answer = rule.try_acquire(&mut state, later.now, later.n);
            prop_assert_eq!(
                answer,
                rule.try_acquire(&mut fresh, later.now, later.n),
                "{:?}",
                later
            );
        }
    }
    Ok(())
}

pub(crate) fn sizes_are_told_apart<R: Rule>(
    rule: &R,
    capacity: u64,
    arrivals: &[Arrival],
) -> Result<(), TestCaseError> {
    for (arrival, answer) in arrivals.iter().zip(answers(rule, arrivals)) {
        match arrival.n {
            0 => prop_assert_eq!(answer, Ok(())),
            n if n > capacity => {
                prop_assert_eq!(answer, Err(Rejected::ExceedsCapacity { capacity }));
            }
            _ => prop_assert!(
                !matches!(answer, Err(Rejected::ExceedsCapacity { .. })),
                "{:?}",
                arrival
            ),
        }
    }
    let nothing = |arrival: &Arrival| [Arrival { n: 0, ..*arrival }, *arrival];
    let with_nothing: Vec<Arrival> = arrivals.iter().flat_map(nothing).collect();
    let with_nothing = answers(rule, &with_nothing);
    prop_assert!(with_nothing.iter().skip(1).step_by(2).eq(&answers(rule, arrivals)));
    Ok(())
}

pub(crate) fn looking_changes_nothing<L: TryAcquire>(
    make: impl Fn() -> L,
    arrivals: &[Arrival],
) -> Result<(), TestCaseError> {
    let (asked, left_alone) = (make(), make());
    for (i, arrival) in arrivals.iter().enumerate() {
        for question in &arrivals[i..] {
            let _ = asked.peek_n_at(question.n, question.now);
        }
        let told = asked.peek_n_at(arrival.n, arrival.now);
        let answer = left_alone.try_acquire_n_at(arrival.n, arrival.now);
        prop_assert_eq!(told, answer, "{:?}", arrival);
        prop_assert_eq!(asked.try_acquire_n_at(arrival.n, arrival.now), answer, "{:?}", arrival);
    }
    Ok(())
}

pub(crate) fn a_standing_is_true<R: Rule>(
    rule: &R,
    arrivals: &[Arrival],
) -> Result<(), TestCaseError> {
    let mut state = rule.fresh();
    for arrival in arrivals {
        let decision = rule.decide(&mut state, arrival.now, arrival.n);
        let standing = rule.standing(&state, arrival.now);
        prop_assert_eq!(standing.limit, rule.most());
        let check = |now, n| rule.peek(&state, now, n);
        prop_assert!(check(arrival.now, standing.remaining).is_ok(), "{:?}", standing);
        let more = standing.remaining.saturating_add(1);
        prop_assert!(check(arrival.now, more).is_err() || more > rule.most(), "{:?}", standing);
        let reset = arrival.now + standing.reset;
        prop_assert!(reset == Nanos::MAX || check(reset, rule.most()).is_ok(), "{:?}", standing);
        let is_whole_before = || check(reset - Duration::from_nanos(1), rule.most()).is_ok();
        prop_assert!(standing.reset.is_zero() || !is_whole_before(), "{:?}", standing);
        let retry = decision.retry().map(|retry| arrival.now + retry);
        let moment = match decision.answer() {
            Err(Rejected::NotUntil(moment)) => Some(moment),
            _ => None,
        };
        prop_assert_eq!(retry, moment);
    }
    Ok(())
}

pub(crate) fn common<R: Rule + Clone>(
    rule: &R,
    capacity: u64,
    arrivals: &[Arrival],
) -> Result<(), TestCaseError> {
    rejections_count_for_nothing(rule, arrivals)?;
    retries_get_in(rule, arrivals)?;
    idle_is_fresh(rule, arrivals)?;
    a_standing_is_true(rule, arrivals)?;
    looking_changes_nothing(|| Locked::new(rule.clone()), arrivals)?;
    sizes_are_told_apart(rule, capacity, arrivals)
}

pub(crate) fn quotas() -> impl Strategy<Value = Quota> {
    let period_ns = (0_u32..63).prop_flat_map(|bits| 1..=Nanos::MAX.as_nanos() >> bits);
    let quota = period_ns.prop_flat_map(|period_ns| {
        let count = prop_oneof![
            1..=period_ns,
            1..=period_ns.min(20),
            Just(period_ns),
            Just(period_ns / 2 + 1)
        ];
        (count, Just(period_ns))
    });
    quota.prop_map(|(count, period_ns)| Quota::new(count, span(period_ns)).expect("a quota"))
}

pub(crate) fn whole_quotas() -> impl Strategy<Value = Quota> {
    let interval_ns = (5_u32..63).prop_flat_map(|bits| 1..=Nanos::MAX.as_nanos() >> bits);
    (1..=20_u64, interval_ns).prop_map(|(count, interval_ns)| {
        Quota::new(count, span(count * interval_ns)).expect("a quota")
    })
}

pub(crate) fn arrivals_for(quota: Quota) -> impl Strategy<Value = Vec<Arrival>> {
    arrivals(quota.period_ns(), quota.count(), quota.count())
}
