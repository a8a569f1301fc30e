//! The differential test: the pacer and a plain one behind a mutex, driven by the same random sequences.
//!
//! Both are told what to do, one step after the other, on a clock that moves by hand; after every step the answers and the
//! ledgers are compared. `PROPTEST_CASES=100000` makes it long.
//!
//! The rounding that the pacer is allowed: 2 ns in every amount (a time is rounded to a whole nanosecond where it is read and where
//! it is counted from), and for every rate change 2^-16 of the longest interval beside 2 ns at the faster rate, which at the slower
//! one stand for more: see `Slack`. Where a decision hangs on less than that, a sequence is cut short: one in twenty is.

mod common;
mod oracle_model;

use common::{at, rate, span, strictness};
use nanopace::{Claim, Closed, Grant, LazyGrant, ManualClock, Pacer, Refused};
use oracle_model::{Answer, Oracle, Rules, TooClose};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::cell::Cell;
use std::time::Duration;

/// Rates and their intervals in nanoseconds; all below 100 k/s, so that no reading of the clock serves two slots.
const RATES: [(&str, f64); 6] = [
    ("10/s", 100e6),
    ("33/s", 1e9 / 33.0),
    ("70/s", 1e9 / 70.0),
    ("333.3/s", 1e9 / 333.3),
    ("1000/s", 1e6),
    ("5000/s", 200e3),
];
const STRICTNESSES: [f64; 8] = [0.0, 0.1, 0.5, 0.9, 1.0, 1.1, 1.5, 4.0];

#[derive(Clone, Debug)]
enum Step {
    Clock(u64),
    TryAcquire(u8),
    Claim,
    Start(usize),
    Drop(usize),
    Rate(usize),
    Strictness(usize),
    Pause,
    Resume,
    Close,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (0_u64..20_000_000).prop_map(Step::Clock),
        4 => (0_u64..3_000_000_000).prop_map(Step::Clock),
        16 => (1_u8..30).prop_map(Step::TryAcquire),
        8 => Just(Step::Claim),
        6 => any::<usize>().prop_map(Step::Start),
        4 => any::<usize>().prop_map(Step::Drop),
        3 => (0..RATES.len()).prop_map(Step::Rate),
        3 => (0..STRICTNESSES.len()).prop_map(Step::Strictness),
        1 => Just(Step::Pause),
        3 => Just(Step::Resume),
    ]
}

#[derive(Clone, Debug)]
struct Setting {
    rate: usize,
    strictness: usize,
    tolerance_ns: u64,
    max_backlog_ns: Option<u64>,
    skip_later_than_ns: Option<u64>,
}

fn setting() -> impl Strategy<Value = Setting> {
    let limit = || prop_oneof![3 => Just(None), 1 => (5_000_001_u64..700_000_000).prop_map(Some)];
    let tolerance = prop_oneof![Just(0_u64), 10_007_u64..5_000_000];
    (0..RATES.len(), 0..STRICTNESSES.len(), tolerance, limit(), limit()).prop_map(
        |(rate, strictness, tolerance_ns, max_backlog_ns, skip_later_than_ns)| Setting {
            rate,
            strictness,
            tolerance_ns,
            max_backlog_ns,
            skip_later_than_ns,
        },
    )
}

/// Both pacers, and the claims that are held, with their slots.
struct Pair {
    clock: ManualClock,
    pacer: Pacer,
    oracle: Oracle,
    claims: Vec<(Claim, u64)>,
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
fn float(nanos: u64) -> f64 {
    nanos as f64
}

fn float_span(span: Duration) -> f64 {
    span.as_secs_f64() * 1e9
}

impl Pair {
    fn new(setting: &Setting) -> Pair {
        let clock = ManualClock::new();
        let (text, interval) = RATES[setting.rate];
        let mut builder = common::build(text, &clock)
            .strictness(strictness(STRICTNESSES[setting.strictness]))
            .tolerance(span(setting.tolerance_ns));
        if let Some(limit) = setting.max_backlog_ns {
            builder = builder.max_backlog(span(limit));
        }
        if let Some(limit) = setting.skip_later_than_ns {
            builder = builder.skip_later_than(span(limit));
        }
        let rules = Rules {
            strictness: STRICTNESSES[setting.strictness],
            tolerance: float(setting.tolerance_ns),
            max_backlog: setting.max_backlog_ns.map_or(f64::INFINITY, float),
            skip_later_than: setting.skip_later_than_ns.map_or(f64::INFINITY, float),
        };
        Pair { clock, pacer: builder.build(), oracle: Oracle::new(interval, rules), claims: Vec::new() }
    }

    fn now(&self) -> f64 {
        float(self.pacer.now().as_nanos())
    }

    fn take(&mut self, step: &Step) -> Result<(), TooClose> {
        let now = self.now();
        match *step {
            Step::Clock(nanos) => self.clock.advance(span(nanos)),
            Step::TryAcquire(times) => return (0..times).try_for_each(|_| self.try_acquire()),
            Step::Claim => return self.claim(),
            Step::Start(which) if !self.claims.is_empty() => return self.start(which % self.claims.len()),
            Step::Drop(which) if !self.claims.is_empty() => {
                let (claim, slot) = self.claims.swap_remove(which % self.claims.len());
                drop(claim);
                self.oracle.give_back(slot);
            }
            Step::Start(_) | Step::Drop(_) => {}
            Step::Rate(which) => {
                self.pacer.set_rate(rate(RATES[which].0));
                self.oracle.set_rate(RATES[which].1, now);
            }
            Step::Strictness(which) => {
                self.pacer.set_strictness(strictness(STRICTNESSES[which]));
                self.oracle.set_strictness(STRICTNESSES[which], now);
            }
            Step::Pause => {
                self.pacer.pause();
                self.oracle.pause(now);
            }
            Step::Resume => {
                self.pacer.resume();
                self.oracle.resume(now);
            }
            Step::Close => {
                self.pacer.close();
                self.oracle.close();
            }
        }
        Ok(())
    }

    fn try_acquire(&mut self) -> Result<(), TooClose> {
        let real = self.pacer.try_acquire().map(LazyGrant::settled);
        let plain = self.oracle.try_acquire(self.now())?;
        // The slot may have been seen to be due on an earlier reading: its wait time is then a lower bound.
        self.compare(real, plain, true);
        Ok(())
    }

    fn claim(&mut self) -> Result<(), TooClose> {
        let real = self.pacer.claim();
        match (real, self.oracle.claim(self.now())?) {
            (Ok(claim), Answer::Held(slot)) => self.claims.push((claim, slot)),
            (Err(Closed), Answer::Closed) => {}
            (real, plain) => panic!("claim: {real:?}, should be {plain:?}"),
        }
        Ok(())
    }

    fn start(&mut self, which: usize) -> Result<(), TooClose> {
        let (claim, slot) = &mut self.claims[which];
        let (real, slot) = (claim.start(), *slot);
        let plain = self.oracle.start(slot, self.now())?;
        self.compare(real, plain, false);
        if real.is_ok() {
            drop(self.claims.swap_remove(which));
        }
        Ok(())
    }

    fn compare(&self, real: Result<Grant, Refused>, plain: Answer, may_be_early_reading: bool) {
        let near = |real: f64, plain: f64| (real - plain).abs() <= self.oracle.slack();
        let same = match (real, plain) {
            (Ok(grant), Answer::Granted(_, intended, wait)) => {
                let real_wait = float_span(grant.wait_time());
                let wait_fits = near(real_wait, wait) || may_be_early_reading && real_wait < wait;
                near(float(common::intended_ns(grant)), intended) && wait_fits
            }
            (Err(Refused::NotUntil(moment)), Answer::NotUntil(release)) => {
                near(float(moment.as_nanos()), release) && moment > at(0)
            }
            (Err(Refused::Paused), Answer::Paused) | (Err(Refused::Closed), Answer::Closed) => true,
            _ => false,
        };
        assert!(same, "{real:?}, should be {plain:?} within {} ns", self.oracle.slack());
    }

    fn compare_ledgers(&self) -> Result<(), TooClose> {
        let (ledger, books) = (self.pacer.ledger(), self.oracle.books(self.now())?);
        common::assert_balanced(&self.pacer);
        let near = |real: Duration, plain: f64, slots: f64| {
            (float_span(real) - plain).abs() <= self.oracle.slack() * slots
        };
        // Each amount that was forfeited, or each slot that came back, is rounded once more.
        let late = ledger.waiting + ledger.backlog;
        let same = near(ledger.elapsed, books.elapsed, 1.0)
            && near(ledger.allocated, books.allocated, 30.0)
            && near(ledger.idle, books.idle, 30.0)
            && near(late, books.late, 30.0)
            && (ledger.granted, ledger.skipped) == (books.granted, books.skipped);
        assert!(same, "{ledger:?}, should be {books:?}");
        Ok(())
    }
}

/// Runs the sequence; to its end, where no decision on the way is too close.
fn run(setting: &Setting, steps: &[Step]) -> Result<(), TooClose> {
    let mut pair = Pair::new(setting);
    for step in steps {
        pair.take(step)?;
        pair.compare_ledgers()?;
    }
    for step in [Step::Close, Step::TryAcquire(1), Step::Claim, Step::Start(0)] {
        pair.take(&step).expect("closed is never close");
    }
    Ok(())
}

#[test]
fn the_pacer_does_what_the_plain_one_does() {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let (cases, cut_short) = (config.cases, Cell::new(0));
    let mut runner = TestRunner::new(config);
    let outcome = runner.run(&(setting(), prop::collection::vec(step(), 1..80)), |(setting, steps)| {
        cut_short.update(|count| count + u32::from(run(&setting, &steps).is_err()));
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}\n{runner}"));
    // At most a tenth; 16 more for the scatter of few cases, more than 3 sqrt(256 x 0.1 x 0.9) = 14.4 for the usual 256.
    assert!(cut_short.get() <= cases / 10 + 16, "{} of {cases} were cut short", cut_short.get());
}
