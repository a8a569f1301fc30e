//! Tests the bucket that a thread refills, in virtual time.

use crate::common::until;
use crate::laws::{DAY, MILLI, SECOND, at, not_until, seconds, span};
use nanopace_limits::pools::RefilledBucket;
use nanopace_limits::{Quota, QuotaError, Rejected, TryAcquire};
use nanopace_nanos::{ManualClock, Nanos};
use proptest::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

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
    clock.advance(span(36_500 * DAY));
    until("refills", || bucket.tokens() == 1_000);
}

#[test]
fn a_bucket_with_invalid_settings_is_an_error() {
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
fn the_largest_numbers_work() {
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

#[test]
fn without_its_thread_a_bucket_is_refilled_by_requests_and_by_hand() {
    let clock = ManualClock::new();
    let bucket =
        RefilledBucket::unattended("3/s".parse().unwrap(), 5, 0, 1, clock.clone()).unwrap();
    clock.advance(span(SECOND));
    assert_eq!(bucket.tokens(), 0);
    bucket.refill();
    assert_eq!(bucket.tokens(), 3);
    assert_eq!(bucket.try_acquire_n_at(5, seconds(2)), Ok(()));
}

#[test]
fn the_thread_follows_a_new_period_at_once() {
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
fn a_new_period_that_has_passed_brings_one_refill() {
    let (clock, bucket) = bucket("5/h", 1_000, 0);
    clock.advance(span(1_800 * SECOND));
    bucket.set_quota("3/s".parse().unwrap()).unwrap();
    assert_eq!(bucket.tokens(), 3);
    assert_eq!(bucket.try_acquire_n_at(4, seconds(1_800)), not_until(seconds(1_801)));
}

#[test]
fn an_invalid_change_has_no_effect() {
    let bucket =
        RefilledBucket::unattended("1/s".parse().unwrap(), 10, 5, 2, ManualClock::new()).unwrap();
    assert_eq!(bucket.set_quota("1/2days".parse().unwrap()), Err(QuotaError::Interval));
    assert_eq!(bucket.set_capacity(1), Err(QuotaError::CapacityTooSmall { least: 2 }));
    assert_eq!((bucket.quota(), bucket.capacity()), ("1/s".parse().unwrap(), 10));
    assert_eq!(bucket.try_acquire_n_at(5, Nanos::ZERO), not_until(seconds(5)));
}

/// A step of a test. `Ask` makes a request of size `n` at a moment `back` nanoseconds before the clock's time.
#[derive(Clone, Copy, Debug)]
enum Step {
    Advance(u64),
    Ask { n: u64, back: u64 },
    SetQuota(u64, u64),
    SetCapacity(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let back = prop_oneof![3 => Just(0), 1 => 0..400_u64];
    let step = prop_oneof![
        3 => (0..300_u64).prop_map(Step::Advance),
        5 => (0..9_u64, back).prop_map(|(n, back)| Step::Ask { n, back }),
        1 => (1..10_u64, 10..200_u64).prop_map(|(count, period_ns)| Step::SetQuota(count, period_ns)),
        1 => (4..20_u64).prop_map(Step::SetCapacity),
    ];
    prop::collection::vec(step, 1..150)
}

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

struct Model {
    terms: Terms,
    cost: u64,
    tokens: u64,
    last_ns: u64,
    latest_ns: u64,
}

impl Model {
    fn refill(&mut self, now: u64) {
        self.latest_ns = self.latest_ns.max(now);
        while self.last_ns + self.terms.period_ns <= now {
            self.last_ns += self.terms.period_ns;
            self.tokens = self.terms.capacity.min(self.tokens + self.terms.count);
        }
    }

    fn answer(&mut self, n: u64, now: u64) -> Result<(), Rejected> {
        let capacity = self.terms.capacity / self.cost;
        if n == 0 || n > capacity {
            return if n == 0 { Ok(()) } else { Err(Rejected::ExceedsCapacity { capacity }) };
        }
        self.refill(now);
        let missing = (n * self.cost).saturating_sub(self.tokens).div_ceil(self.terms.count);
        if missing > 0 {
            return not_until(at(self.last_ns + missing * self.terms.period_ns));
        }
        self.tokens -= n * self.cost;
        Ok(())
    }

    fn set(&mut self, terms: Terms, now: u64) {
        self.refill(now);
        self.terms = terms;
        self.tokens = self.tokens.min(terms.capacity);
        // At most one refill follows the new quota at once, however long ago the last refill was.
        self.last_ns = self.last_ns.max(now.saturating_sub(terms.period_ns));
        self.refill(now);
    }
}

proptest! {
    #[test]
    fn answers_are_the_models_and_changes_admit_no_more(
        steps in steps(), attended in any::<bool>(), cost in 1..4_u64, initial in 0..=10_u64,
    ) {
        let terms = Terms { count: 5, period_ns: 100, capacity: 10 };
        let clock = ManualClock::new();
        let make = if attended { RefilledBucket::start } else { RefilledBucket::unattended };
        let bucket = make("5/100ns".parse().unwrap(), 10, initial, cost, clock.clone()).unwrap();
        let mut model = Model { terms, cost, tokens: initial, last_ns: 0, latest_ns: 0 };
        let mut now = 0;
        let mut in_force = vec![terms];
        let mut let_in: Vec<(u64, u64, usize)> = Vec::new();
        for step in steps {
            let terms = match step {
                Step::Advance(ns) => {
                    now += ns;
                    clock.advance(span(ns));
                    continue;
                }
                Step::Ask { n, back } => {
                    // With a thread, requests are made at the clock's moment, because the thread may have done the
                    // refills that are due by then.
                    let moment = if attended { now } else { now.saturating_sub(back) };
                    let expected = model.answer(n, moment);
                    let _ = bucket.peek_n_at(n, at(now + 1_000));
                    prop_assert_eq!(bucket.peek_n_at(n, at(moment)), expected);
                    prop_assert_eq!(bucket.try_acquire_n_at(n, at(moment)), expected);
                    if expected.is_ok() && n > 0 {
                        let_in.push((model.latest_ns, n * cost, in_force.len() - 1));
                    }
                    continue;
                }
                Step::SetQuota(count, period_ns) => {
                    bucket.set_quota(Quota::new(count, span(period_ns)).unwrap()).unwrap();
                    Terms { count, period_ns, ..model.terms }
                }
                Step::SetCapacity(capacity) => {
                    bucket.set_capacity(capacity).unwrap();
                    Terms { capacity, ..model.terms }
                }
            };
            model.set(terms, now);
            in_force.push(terms);
            prop_assert_eq!(bucket.tokens(), model.tokens);
        }
        for (first, &(from, _, terms_from)) in let_in.iter().enumerate() {
            let mut sum = 0;
            for &(to, tokens, terms_to) in &let_in[first..] {
                sum += tokens;
                let terms = in_force[terms_from..=terms_to].iter().copied().reduce(Terms::each_highest).unwrap();
                let refills = (to - from) / terms.period_ns + 1;
                prop_assert!(sum <= terms.capacity + refills * terms.count, "{} from {} to {}", sum, from, to);
            }
        }
    }
}

#[test]
fn threads_lose_no_token_and_make_none() {
    let clock = ManualClock::new();
    let bucket =
        RefilledBucket::unattended("100/s".parse().unwrap(), 1_000_000, 0, 1, clock).unwrap();
    let moment = AtomicU64::new(1);
    let ask = || {
        let mut taken = 0;
        while let now @ 0..=2_000 = moment.fetch_add(1, Ordering::Relaxed) {
            taken += (0..60).filter(|_| bucket.try_acquire_at(seconds(now)).is_ok()).count();
        }
        taken
    };
    let taken: usize = thread::scope(|scope| {
        [(); 4].map(|()| scope.spawn(ask)).into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(taken as u64 + bucket.tokens(), 200_000);
}
