//! The bucket that a refill thread refills, on a clock that is moved by hand.

use crate::common::until;
use crate::laws::{Arrival, DAY, MILLI, SECOND, YEAR, at, not_until, orderly, seconds, span};
use nanopace_limits::pools::RefilledBucket;
use nanopace_limits::{Quota, QuotaError, Rejected, TryAcquire};
use nanopace_nanos::{ManualClock, Nanos};
use proptest::prelude::*;

fn bucket(quota: &str, capacity: u64, initial: u64) -> (ManualClock, RefilledBucket) {
    let clock = ManualClock::new();
    let quota = quota.parse().unwrap();
    let bucket = RefilledBucket::start(quota, capacity, initial, 1, clock.clone()).unwrap();
    (clock, bucket)
}

#[test]
fn the_thread_refills_at_each_interval() {
    for period_ns in [1_000, 1_001, 3 * MILLI + 1, 333_333_333, SECOND, DAY] {
        let clock = ManualClock::new();
        clock.set(at(12_345));
        let quota = Quota::new(2, span(period_ns)).unwrap();
        let bucket = RefilledBucket::start(quota, 1_000, 0, 1, clock.clone()).unwrap();
        for refill in 1..=20 {
            clock.advance(span(period_ns - 1));
            assert_eq!(bucket.tokens(), 2 * (refill - 1));
            clock.advance(span(1));
            until("a refill", || bucket.tokens() == 2 * refill);
        }
    }
}

#[test]
fn the_thread_catches_up_after_a_stall() {
    let (clock, bucket) = bucket("2/s", 1_000, 0);
    clock.advance(span(100 * SECOND + SECOND / 2));
    until("refills", || bucket.tokens() == 200);
    clock.advance(span(100 * YEAR));
    until("refills", || bucket.tokens() == 1_000);
}

#[test]
fn a_refill_is_due_at_its_moment_and_not_before() {
    let (_clock, bucket) = bucket("3/s", 5, 4);
    assert_eq!(bucket.try_acquire_n_at(4, Nanos::ZERO), Ok(()));
    assert_eq!(bucket.try_acquire_n_at(5, Nanos::ZERO), not_until(seconds(2)));
    assert_eq!(bucket.peek_n_at(1, Nanos::ZERO), not_until(seconds(1)));
    assert_eq!(bucket.try_acquire_at(at(SECOND - 1)), not_until(seconds(1)));
    assert_eq!(bucket.try_acquire_n_at(3, seconds(1)), Ok(()));
    assert_eq!(bucket.try_acquire_at(seconds(1)), not_until(seconds(2)));
    assert_eq!(bucket.try_acquire_n_at(5, seconds(1_000)), Ok(()));
    assert_eq!(
        bucket.try_acquire_at(seconds(1_000)),
        not_until(seconds(1_001)),
        "full, not fuller"
    );
}

#[test]
fn buckets_that_cannot_be() {
    let start = |quota: &str, capacity, initial, cost| {
        RefilledBucket::start(quota.parse().unwrap(), capacity, initial, cost, ManualClock::new())
            .unwrap_err()
    };
    assert_eq!(start("1/s", 10, 0, 0), QuotaError::ZeroCost);
    assert_eq!(start("1/s", 10, 0, 11), QuotaError::CapacityTooSmall { least: 11 });
    assert_eq!(start("1/s", 0, 0, 1), QuotaError::CapacityTooSmall { least: 1 });
    assert_eq!(start("1/s", 10, 11, 1), QuotaError::InitialTooLarge { capacity: 10 });
    assert_eq!(start("1/2days", 10, 0, 1), QuotaError::Interval);
}

#[test]
fn at_the_edges_of_the_types() {
    let clock = ManualClock::new();
    let bucket =
        RefilledBucket::start("1/day".parse().unwrap(), u64::MAX, 0, u64::MAX, clock.clone())
            .unwrap();
    assert_eq!(bucket.try_acquire_at(Nanos::ZERO), not_until(Nanos::MAX));
    assert_eq!(
        bucket.try_acquire_n_at(2, Nanos::ZERO),
        Err(Rejected::ExceedsCapacity { capacity: 1 })
    );
    assert_eq!(bucket.try_acquire_n_at(0, Nanos::MAX), Ok(()));
    assert_eq!(bucket.tokens(), 0, "nothing was asked for");
    assert!(bucket.try_acquire_at(Nanos::MAX).is_err());
    assert_eq!(bucket.tokens(), Nanos::MAX.as_nanos() / DAY);
}

/// From one per day to 10 M/s: a request that comes back at its retry time gets in, and a nanosecond
/// earlier it would not have.
#[test]
fn who_obeys_gets_in_at_every_rate() {
    for period_ns in [DAY, SECOND, MILLI + 1, 333, 100] {
        let quota = Quota::new(1, span(period_ns)).unwrap();
        let bucket = RefilledBucket::unattended(quota, 3, 0, 1, ManualClock::new()).unwrap();
        let mut now = at(12_345);
        for rejection in 0..1_000 {
            while bucket.try_acquire_at(now).is_ok() {}
            let n = rejection % 3 + 1;
            let Err(Rejected::NotUntil(moment)) = bucket.try_acquire_n_at(n, now) else {
                panic!("it is empty")
            };
            assert!(bucket.peek_n_at(n, at(moment.as_nanos() - 1)).is_err(), "{quota} at {now:?}");
            assert_eq!(bucket.try_acquire_n_at(n, moment), Ok(()), "{quota} at {now:?}");
            now = moment;
        }
    }
}

#[test]
fn unattended_it_is_refilled_by_requests_and_by_hand() {
    let clock = ManualClock::new();
    let bucket =
        RefilledBucket::unattended("3/s".parse().unwrap(), 5, 0, 1, clock.clone()).unwrap();
    assert!(!bucket.is_attended());
    clock.advance(span(SECOND));
    assert_eq!(bucket.tokens(), 0);
    bucket.refill();
    assert_eq!(bucket.tokens(), 3);
    assert_eq!(bucket.try_acquire_n_at(5, seconds(2)), Ok(()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn is_its_definition(
        count in 1..10_u64, capacity in 4..30_u64, cost in 1..4_u64, arrivals in orderly(SECOND, 5, 30),
    ) {
        let quota = Quota::new(count, span(SECOND)).unwrap();
        let bucket = RefilledBucket::start(quota, capacity, capacity / 2, cost, ManualClock::new()).unwrap();
        let (mut tokens, mut refills) = (capacity / 2, 0);
        for Arrival { now, n } in arrivals {
            let due = now.as_nanos() / SECOND;
            tokens = capacity.min(tokens.saturating_add((due - refills).saturating_mul(count)));
            refills = due;
            let expected = if n > capacity / cost {
                Err(Rejected::ExceedsCapacity { capacity: capacity / cost })
            } else if n * cost <= tokens {
                tokens -= n * cost;
                Ok(())
            } else {
                let missing = (n * cost - tokens).div_ceil(count);
                not_until(at((refills + missing).saturating_mul(SECOND)))
            };
            prop_assert_eq!(bucket.peek_n_at(n, now), expected);
            prop_assert_eq!(bucket.try_acquire_n_at(n, now), expected);
            if (1..=capacity / cost).contains(&n) {
                prop_assert_eq!(bucket.tokens(), tokens);
            }
        }
    }

    #[test]
    fn what_is_rejected_changes_nothing(capacity in 4..30_u64, arrivals in orderly(SECOND, 5, 30)) {
        let make = || RefilledBucket::unattended("5/s".parse().unwrap(), capacity, 2, 1, ManualClock::new()).unwrap();
        let (asked, untouched) = (make(), make());
        for Arrival { now, n } in arrivals {
            let answer = asked.try_acquire_n_at(n, now);
            prop_assert_eq!(untouched.peek_n_at(n, now), answer);
            if answer.is_ok() {
                untouched.try_acquire_n_at(n, now).unwrap();
            }
        }
    }

    #[test]
    fn looking_changes_nothing(
        capacity in 4..30_u64, cost in 1..4_u64, arrivals in crate::laws::arrivals(SECOND, 5, 30),
    ) {
        let quota = Quota::new(5, span(SECOND)).unwrap();
        let bucket = || RefilledBucket::unattended(quota, capacity, 3, cost, ManualClock::new()).unwrap();
        crate::laws::looking_changes_nothing(bucket, &arrivals)?;
    }

    #[test]
    fn never_lets_in_more_than_capacity_and_refills(capacity in 4..30_u64, arrivals in crate::laws::arrivals(SECOND, 5, 30)) {
        let (_clock, bucket) = bucket("5/s", capacity, capacity);
        // A refill that any request has seen once is there, also when the clock goes
        // back.
        let mut latest = Nanos::ZERO;
        let mut let_in = Vec::new();
        for one in arrivals {
            if (1..=capacity).contains(&one.n) {
                latest = latest.max(one.now);
            }
            if bucket.try_acquire_n_at(one.n, one.now).is_ok() {
                let_in.push(Arrival { now: latest, ..one });
            }
        }
        crate::laws::let_in_is_bounded(&let_in, |length_ns| {
            u128::from(capacity) + 5 * (u128::from(length_ns) / u128::from(SECOND) + 1)
        })?;
    }
}

#[test]
fn the_thread_does_not_wait_out_the_old_period() {
    let (clock, bucket) = bucket("1/h", 1_000, 0);
    bucket.set_quota("1/s".parse().unwrap()).unwrap();
    for refill in 1..=20 {
        clock.advance(span(SECOND - 1));
        assert_eq!(bucket.tokens(), refill - 1);
        clock.advance(span(1));
        until("a refill", || bucket.tokens() == refill);
    }
}

#[test]
fn a_period_that_has_passed_already_brings_one_refill() {
    let (clock, bucket) = bucket("5/h", 1_000, 0);
    clock.advance(span(1_800 * SECOND));
    bucket.set_quota("3/s".parse().unwrap()).unwrap();
    assert_eq!(bucket.tokens(), 3);
    assert_eq!(bucket.try_acquire_n_at(4, seconds(1_800)), not_until(seconds(1_801)));
}

#[test]
fn changes_that_cannot_be_change_nothing() {
    let bucket =
        RefilledBucket::unattended("1/s".parse().unwrap(), 10, 5, 2, ManualClock::new()).unwrap();
    assert_eq!(bucket.set_quota("1/2days".parse().unwrap()), Err(QuotaError::Interval));
    assert_eq!(bucket.set_capacity(1), Err(QuotaError::CapacityTooSmall { least: 2 }));
    assert_eq!((bucket.quota(), bucket.capacity()), ("1/s".parse().unwrap(), 10));
    assert_eq!(bucket.try_acquire_n_at(5, Nanos::ZERO), not_until(seconds(5)));
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Advance(u64),
    Ask(u64),
    SetQuota(u64, u64),
    SetCapacity(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..300_u64).prop_map(Step::Advance),
        4 => (1..6_u64).prop_map(Step::Ask),
        1 => (1..10_u64, 10..200_u64).prop_map(|(count, period_ns)| Step::SetQuota(count, period_ns)),
        1 => (1..20_u64).prop_map(Step::SetCapacity),
    ];
    prop::collection::vec(step, 1..150)
}

/// What is in force from a change on.
#[derive(Clone, Copy, Debug)]
struct Terms {
    count: u64,
    period_ns: u64,
    capacity: u64,
}

impl Terms {
    fn each_highest(self, other: Terms) -> Terms {
        Terms {
            count: self.count.max(other.count),
            period_ns: self.period_ns.min(other.period_ns),
            capacity: self.capacity.max(other.capacity),
        }
    }
}

/// One refill after the other, in plain numbers.
struct Model {
    terms: Terms,
    tokens: u64,
    last_ns: u64,
}

impl Model {
    fn refill(&mut self, now: u64) {
        while self.last_ns + self.terms.period_ns <= now {
            self.last_ns += self.terms.period_ns;
            self.tokens = self.terms.capacity.min(self.tokens + self.terms.count);
        }
    }

    fn set(&mut self, terms: Terms, now: u64) {
        self.refill(now);
        self.terms = terms;
        self.tokens = self.tokens.min(terms.capacity);
        // No more than one, however long ago the last one was.
        self.last_ns = self.last_ns.max(now.saturating_sub(terms.period_ns));
        self.refill(now);
    }
}

proptest! {
    /// Whatever is changed and when, the bucket is its definition, and no more gets in within any
    /// span than under the highest of what was in force meanwhile.
    #[test]
    fn changes_let_in_no_more(steps in steps(), attended in any::<bool>()) {
        let terms = Terms { count: 5, period_ns: 100, capacity: 10 };
        let clock = ManualClock::new();
        let make = if attended { RefilledBucket::start } else { RefilledBucket::unattended };
        let bucket = make("5/100ns".parse().unwrap(), 10, 0, 1, clock.clone()).unwrap();
        let mut model = Model { terms, tokens: 0, last_ns: 0 };
        let mut now = 0;
        let mut in_force = vec![terms];
        let mut let_in: Vec<(u64, u64, usize)> = Vec::new();
        for step in steps {
            match step {
                Step::Advance(ns) => {
                    now += ns;
                    clock.advance(span(ns));
                }
                Step::Ask(n) => {
                    model.refill(now);
                    let gets_in = n <= model.tokens;
                    prop_assert_eq!(bucket.peek_n_at(n, at(now)).is_ok(), gets_in);
                    prop_assert_eq!(bucket.try_acquire_n_at(n, at(now)).is_ok(), gets_in);
                    if gets_in {
                        model.tokens -= n;
                        let_in.push((now, n, in_force.len() - 1));
                    }
                }
                Step::SetQuota(count, period_ns) => {
                    bucket.set_quota(Quota::new(count, span(period_ns)).unwrap()).unwrap();
                    model.set(Terms { count, period_ns, ..model.terms }, now);
                    in_force.push(model.terms);
                    prop_assert_eq!(bucket.tokens(), model.tokens);
                }
                Step::SetCapacity(capacity) => {
                    bucket.set_capacity(capacity).unwrap();
                    model.set(Terms { capacity, ..model.terms }, now);
                    in_force.push(model.terms);
                    prop_assert_eq!(bucket.tokens(), model.tokens);
                }
            }
        }
        for (first, &(from, _, terms_from)) in let_in.iter().enumerate() {
            let mut sum = 0;
            for &(to, n, terms_to) in &let_in[first..] {
                sum += n;
                let terms = in_force[terms_from..=terms_to].iter().copied().reduce(Terms::each_highest).unwrap();
                let refills = (to - from) / terms.period_ns + 1;
                prop_assert!(sum <= terms.capacity + refills * terms.count, "{} from {} to {}", sum, from, to);
            }
        }
    }
}
