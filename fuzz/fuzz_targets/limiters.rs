//! Checks every limiter with a rule, with any numbers, on a clock that jumps forward and back. No call panics or
//! hangs. A query returns the same as the decision. A refused request changes no state. A request that is repeated at
//! its retry time is admitted, and would not be admitted earlier. Within any span, no more requests are admitted than
//! the limiter's documentation allows.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use nanopace::Nanos;
use nanopace_fuzz::{AnyQuota, Move, Number};
use nanopace_limits::{
    AggregatedWindow, Atomic, FixedWindow, Gcra, LeakyQueue, Limit, Limits,
    Locked, TryAcquire, Quota, QuotaError, Rejected, Rule, SlidingCounter, SlidingLog, SlottedRing,
    TokenBucket,
};
use std::num::NonZeroU16;

const SLOTS: usize = 8;

#[derive(Arbitrary, Debug)]
enum Kind {
    Gcra,
    TokenBucket { cost: Number, initial: Number, start: Number },
    LeakyMeter,
    LeakyQueue,
    FixedWindow,
    SlidingCounter,
    SlidingLog { counting_rejected: bool },
    SlottedRing { guarding: bool },
    AggregatedWindow { slots: NonZeroU16 },
    Pair,
}

#[derive(Arbitrary, Debug)]
enum Step {
    Move(Move),
    Ask { n: Number, retries: bool },
    AskForPart { n: Number, retries: bool },
    AskForOne { retries: bool },
}

/// The time for which a request counts, if it was made at an earlier time than requests before it.
#[derive(Clone, Copy, PartialEq)]
enum Latest {
    /// The latest time of an admitted request.
    LetIn,
    /// The latest time of any request.
    Asked,
    /// Its own time or a later one. Requests that were admitted before the clock went back are not compared with it.
    Own,
}

struct Subject {
    limiter: Box<dyn TryAcquire>,
    /// The maximum number of requests that the limiter admits at once.
    most: u64,
    /// Returns the maximum number of requests that the limiter admits within a span of the given number of
    /// nanoseconds, both ends included.
    bound: Box<dyn Fn(u64) -> u128>,
    latest: Latest,
    counts_rejected: bool,
}

impl Subject {
    fn new(
        limiter: impl TryAcquire + 'static,
        most: u64,
        bound: impl Fn(u64) -> u128 + 'static,
        latest: Latest,
    ) -> Subject {
        Subject {
            limiter: Box::new(limiter),
            most,
            bound: Box::new(bound),
            latest,
            counts_rejected: false,
        }
    }

    /// Creates a subject for a rule whose state is one word.
    fn word<R>(rule: R, most: u64, bound: impl Fn(u64) -> u128 + 'static) -> Subject
    where
        R: Rule<State: From<u64> + Into<u64>> + 'static,
    {
        Subject::new(Atomic::new(rule), most, bound, Latest::LetIn)
    }

    /// Creates a subject for a rule that admits `count` requests in each part of a span. `spans` returns the number of
    /// parts of a span of the given number of nanoseconds.
    fn locked<R: Rule + 'static>(
        rule: R,
        count: u64,
        spans: impl Fn(u64) -> u64 + 'static,
    ) -> Subject {
        let bound = move |length_ns| u128::from(spans(length_ns)) * u128::from(count);
        Subject::new(Locked::new(rule), count, bound, Latest::Asked)
    }
}

#[derive(Arbitrary, Debug)]
struct Setting {
    kind: Kind,
    quota: AnyQuota,
    /// The burst capacity. `None` means the quota's count.
    capacity: Option<Number>,
}

impl Setting {
    fn build(&self) -> Result<Subject, QuotaError> {
        let quota = self.quota.get();
        let (count, period_ns) = (quota.count(), quota.period_ns());
        let capacity = self.capacity.map_or(count, Number::get);
        let bucket = bucket(quota, capacity);
        let windows = move |length_ns| u128::from(length_ns / period_ns + 2) * u128::from(count);
        let periods = move |length_ns| length_ns / period_ns + 1;
        Ok(match self.kind {
            Kind::Gcra => Subject::word(Gcra::with_burst(quota, capacity)?, capacity, bucket),
            Kind::TokenBucket { cost, initial, start } => {
                let cost = cost.up_to(capacity.max(1));
                let rule = TokenBucket::new(quota, capacity)?.with_cost(cost)?;
                let rule =
                    rule.initially(initial.get().min(capacity), Nanos::from_nanos(start.get()))?;
                Subject::word(rule, capacity / cost, move |length_ns| {
                    bucket(length_ns) / u128::from(cost)
                })
            }
            Kind::LeakyMeter => Subject::word(TokenBucket::leaky_meter(quota, capacity)?, capacity, bucket),
            Kind::LeakyQueue => Subject::word(LeakyQueue::new(quota, capacity)?, capacity, bucket),
            Kind::FixedWindow => Subject::word(FixedWindow::new(quota), count, windows),
            Kind::SlidingCounter => {
                let counter = Locked::new(SlidingCounter::new(quota));
                Subject::new(counter, count, windows, Latest::LetIn)
            }
            Kind::SlidingLog { counting_rejected: false } => {
                Subject::locked(SlidingLog::new(quota), count, periods)
            }
            Kind::SlidingLog { counting_rejected: true } => Subject {
                counts_rejected: true,
                ..Subject::locked(SlidingLog::counting_rejected(quota), count, periods)
            },
            Kind::SlottedRing { guarding } => ring(quota, guarding),
            Kind::AggregatedWindow { slots } => {
                let rule = AggregatedWindow::new(quota, slots);
                Subject { latest: Latest::Own, ..Subject::locked(rule, count, periods) }
            }
            Kind::Pair => {
                let both = Limits::new([Limit::gcra(quota), Limit::sliding_log(quota)]);
                Subject::locked(both, count, periods)
            }
        })
    }
}

/// Returns the bound of a bucket: its content plus its inflow. If an interval is not a whole number of nanoseconds,
/// requests may be admitted less than 2 ns early.
fn bucket(quota: Quota, capacity: u64) -> impl Fn(u64) -> u128 + Copy + 'static {
    let early_ns = if quota.period_ns().is_multiple_of(quota.count()) { 0 } else { 2 };
    move |length_ns| {
        let earned = u128::from(length_ns + early_ns) * u128::from(quota.count())
            / u128::from(quota.period_ns());
        u128::from(capacity) + earned
    }
}

fn ring(quota: Quota, guarding: bool) -> Subject {
    let slots = SLOTS as u64;
    let rule =
        if guarding { SlottedRing::<SLOTS>::guarding(quota) } else { SlottedRing::new(quota) };
    let slot_ns = quota.period_ns().div_ceil(if guarding { slots - 1 } else { slots });
    let guarded_ns = slot_ns.saturating_mul(slots - 1);
    let spans = move |length_ns: u64| length_ns.div_ceil(guarded_ns).max(1);
    Subject::locked(rule, quota.count(), spans)
}

struct World {
    subject: Subject,
    /// The same limiter, which receives only the requests that were admitted.
    twin: Subject,
    now: Nanos,
    latest: Nanos,
    /// The admissions: the time for which each counts, and its number of requests.
    let_in: Vec<(Nanos, u64)>,
}

impl World {
    fn ask(&mut self, n: u64, retries: bool) {
        match self.decide(n) {
            Ok(()) => {}
            Err(Rejected::ExceedsCapacity { capacity }) => {
                assert!(capacity == self.subject.most && n > capacity, "{n} exceed {capacity}");
            }
            Err(Rejected::NotUntil(moment)) => {
                assert!((1..=self.subject.most).contains(&n), "{n} can be admitted later");
                assert!(
                    moment > self.now || moment == Nanos::MAX,
                    "{n} at {:?}: {moment:?}",
                    self.now
                );
                if retries && moment < Nanos::MAX {
                    self.come_back(n, moment);
                }
            }
        }
    }

    fn come_back(&mut self, n: u64, moment: Nanos) {
        let before = Nanos::from_nanos(moment.as_nanos() - 1);
        let early = self.subject.limiter.peek_n_at(n, before);
        assert!(early.is_err(), "{n}: the retry time is {moment:?}, but {before:?} would do");
        let late = self.twin.limiter.peek_n_at(n, before);
        assert_eq!(early, late);
        self.now = moment;
        assert_eq!(self.decide(n), Ok(()), "{n} at the retry time {moment:?}");
    }

    fn decide(&mut self, n: u64) -> Result<(), Rejected> {
        let looked = self.subject.limiter.peek_n_at(n, self.now);
        let answer = self.subject.limiter.try_acquire_n_at(n, self.now);
        assert_eq!(answer.is_ok(), looked.is_ok(), "{n} at {:?}", self.now);
        let twins = self.twin.limiter.peek_n_at(n, self.now);
        if self.subject.counts_rejected {
            let _ = self.twin.limiter.try_acquire_n_at(n, self.now);
        } else {
            assert_eq!(answer, looked, "{n} at {:?}", self.now);
            assert_eq!(answer, twins, "{n} at {:?}", self.now);
            if answer.is_ok() {
                assert_eq!(self.twin.limiter.try_acquire_n_at(n, self.now), Ok(()));
            }
        }
        let counts = match self.subject.latest {
            Latest::LetIn => answer.is_ok() && n > 0,
            Latest::Asked => true,
            Latest::Own => {
                if self.now < self.latest {
                    self.let_in.clear();
                    self.latest = self.now;
                }
                true
            }
        };
        if counts {
            self.latest = self.latest.max(self.now);
        }
        if answer.is_ok() && n > 0 {
            self.let_in.push((self.latest, n));
        }
        answer
    }

    fn check_bound(&self) {
        for (start, (from, _)) in self.let_in.iter().enumerate() {
            let mut sum = 0;
            for (to, n) in &self.let_in[start..] {
                sum += u128::from(*n);
                let length_ns = to.as_nanos() - from.as_nanos();
                assert!(sum <= (self.subject.bound)(length_ns), "{sum} from {from:?} to {to:?}");
            }
        }
    }
}

fuzz_target!(|input: (Setting, Vec<Step>)| {
    let (setting, steps) = input;
    let (Ok(subject), Ok(twin)) = (setting.build(), setting.build()) else { return };
    let quota = setting.quota.get();
    let mut world =
        World { subject, twin, now: Nanos::ZERO, latest: Nanos::ZERO, let_in: Vec::new() };
    for step in steps {
        match step {
            Step::Move(change) => world.now = change.from(world.now, quota),
            Step::Ask { n, retries } => world.ask(n.get(), retries),
            Step::AskForPart { n, retries } => world.ask(n.up_to(world.subject.most), retries),
            Step::AskForOne { retries } => world.ask(1, retries),
        }
    }
    world.check_bound();
});
