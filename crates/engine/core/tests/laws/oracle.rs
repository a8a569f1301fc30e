//! Drives the pacer and a plain pacer under a mutex with the same random sequences, and compares their results.
//!
//! The results of all calls and the ledgers are compared after every step, on a clock that the test moves. Set
//! `PROPTEST_CASES=100000` for a long test. All results must be the same, with these exceptions:
//!
//! * A lane claims slots in advance. The test reads the number of claimed slots from the ledger, and checks only these
//!   guarantees: the number is within the lane's limit, the claimed slots are due, the lane starts them in order, no
//!   other caller gets them, and the lane gives back the slots that it does not start.
//! * In an open loop a slot may be granted with an earlier reading of the clock, and its wait time is then a lower
//!   bound. `stalls.rs` checks by how much the wait time may be too short.
//! * A slot that was held over more changes of the rate than the pacer stores exactly may get an approximate intended
//!   start.
//!
//! The pacer may round every amount by 2 ns, and add the errors that `Slack` and `PayBack` compute. If a decision
//! depends on a smaller difference, the sequence ends at that step.

use crate::common::{rate, span, strictness};
use crate::oracle_model::{Answer, Oracle, Pace, Rules, Undecided, When};
use crate::oracle_steps::{
    Item, Outline, Profile, STRICTNESSES, Setting, Split, Spread, Step, sequence,
};
use nanopace::{Claim, Ended, Grant, Lane, ManualClock, Nanos, Pacer, Refused, Shard};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::cell::Cell;
use std::time::Duration;

const MOST_LANES: usize = 4;

struct Pair {
    profile: Profile,
    clock: ManualClock,
    pacer: Pacer,
    oracle: Oracle,
    claims: Vec<(Claim<'static>, u64)>,
    lanes: Vec<Lane>,
    last_start: Cell<Nanos>,
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
fn float(nanos: u64) -> f64 {
    nanos as f64
}

fn float_limit(limit_ns: Option<u64>) -> f64 {
    limit_ns.map_or(f64::INFINITY, float)
}

fn float_span(span: Duration) -> f64 {
    span.as_secs_f64() * 1e9
}

impl Pair {
    fn new(setting: &Setting) -> Pair {
        let clock = ManualClock::jumping();
        let profile = setting.profile;
        let (text, interval) = profile.rates()[setting.rate];
        let strictness = STRICTNESSES[setting.strictness];
        let builder = match &setting.shape {
            Some(outline) => Pacer::shaped(outline.shape()).clock(clock.clone()),
            None => crate::common::build(text, &clock),
        };
        let arrivals = || setting.spread.as_ref().map(Spread::arrivals);
        let shard = setting.split.as_ref().map(Split::shard);
        let builder = builder
            .arrivals(arrivals().unwrap_or_default())
            .shard(shard.clone().unwrap_or(Shard::new(0, 1).expect("one of one")))
            .strictness(crate::common::strictness(strictness))
            .tolerance(span(setting.tolerance_ns))
            .sleep_threshold(span(setting.sleep_threshold_ns));
        let builder = match setting.slots {
            Some(slots) => builder.slots(slots),
            None => builder,
        };
        let builder = match setting.until_ns {
            Some(until_ns) => builder.until(span(until_ns)),
            None => builder,
        };
        let pacer = if setting.start_paused { builder.start_paused() } else { builder }.build();
        pacer.set_max_backlog(setting.max_backlog_ns.map(span));
        pacer.set_skip_later_than(setting.skip_later_than_ns.map(span));
        let rules = Rules {
            strictness,
            tolerance: float(setting.tolerance_ns),
            max_backlog: float_limit(setting.max_backlog_ns),
            skip_later_than: float_limit(setting.skip_later_than_ns),
            lead: float(setting.sleep_threshold_ns.saturating_sub(1)),
            slots: setting.slots.unwrap_or(u64::MAX),
            until: float_limit(setting.until_ns),
        };
        let load = match &setting.shape {
            Some(outline) => outline.pace(0.0),
            None => Pace::Interval(interval),
        };
        let part = setting.split.as_ref().map(Split::part);
        let oracle = Oracle::new(load, arrivals(), shard.zip(part), rules);
        if setting.start_paused {
            oracle.pause(0.0);
        }
        Pair {
            profile,
            clock,
            pacer,
            oracle,
            claims: Vec::new(),
            lanes: Vec::new(),
            last_start: Cell::default(),
        }
    }

    fn now(&self) -> f64 {
        float(self.pacer.now().as_nanos())
    }

    fn take(&mut self, step: &Step) -> Result<(), Undecided> {
        match *step {
            Step::Clock(nanos) => self.clock.advance(span(nanos)),
            Step::TryAcquire(times) => return (0..times).try_for_each(|_| self.try_acquire()),
            Step::Acquire(times) if self.comes_back() => {
                return (0..times).try_for_each(|_| self.acquire());
            }
            Step::AcquireMany(slots) if self.comes_back() => return self.acquire_many(slots),
            Step::AcquireTimeout(nanos) => return self.acquire_timeout(nanos),
            Step::Claim => return self.claim(),
            Step::ClaimAndStart => return self.claim_and_start(),
            Step::Start(which) if !self.claims.is_empty() => {
                return self.start(which % self.claims.len());
            }
            Step::Drop(which) if !self.claims.is_empty() => {
                self.drop_claim(which % self.claims.len());
            }
            Step::OpenLane if self.lanes.len() < MOST_LANES => self.open_lane(),
            Step::LaneAcquire(which, times) if !self.lanes.is_empty() && self.comes_back() => {
                let lane = which % self.lanes.len();
                return (0..times).try_for_each(|_| self.lane_acquire(lane));
            }
            Step::LaneGiveBack(which) if !self.lanes.is_empty() => {
                let lane = which % self.lanes.len();
                self.lanes[lane].give_back();
                self.oracle.lane_gives_back(lane);
            }
            Step::DropLane(which) if !self.lanes.is_empty() => {
                self.drop_lane(which % self.lanes.len());
            }
            Step::Shard(ref split, ahead) => return self.set_shard(split, ahead),
            ref change => self.change(change),
        }
        Ok(())
    }

    fn comes_back(&self) -> bool {
        !self.pacer.is_paused() || self.pacer.is_closed()
    }

    fn change(&mut self, step: &Step) {
        let now = self.now();
        match *step {
            Step::Rate(which) => {
                let (text, interval) = self.profile.rates()[which];
                self.pacer.set_rate(rate(text));
                self.oracle.set_rate(interval, now);
            }
            Step::Shape(ref outline) => {
                self.pacer.set_shape(outline.shape());
                self.oracle.set_shape(|origin| outline.pace(origin), now);
            }
            Step::Strictness(which) => {
                self.pacer.set_strictness(strictness(STRICTNESSES[which]));
                self.oracle.set_strictness(STRICTNESSES[which], now);
            }
            Step::MaxBacklog(limit) => {
                self.pacer.set_max_backlog(limit.map(span));
                self.oracle.set_max_backlog(float_limit(limit), now);
            }
            Step::SkipLaterThan(limit) => {
                self.pacer.set_skip_later_than(limit.map(span));
                self.oracle.set_skip_later_than(float_limit(limit), now);
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
            _ => {}
        }
    }

    fn set_shard(&mut self, split: &Split, ahead: u64) -> Result<(), Undecided> {
        let ledger = self.pacer.ledger();
        let from = ledger.granted + ledger.skipped + ledger.backlog_slots + ahead;
        let real = self.pacer.set_shard(split.shard(), from).is_ok();
        let plain = self.oracle.set_shard(split.shard(), split.part(), from, self.now())?;
        assert_eq!(real, plain, "whether the change is in time");
        Ok(())
    }

    fn try_acquire(&mut self) -> Result<(), Undecided> {
        let now = self.now();
        let real = self.pacer.try_acquire();
        let plain = self.oracle.acquire_by(now, now)?;
        self.compare(real, plain);
        Ok(())
    }

    fn acquire(&mut self) -> Result<(), Undecided> {
        let now = self.now();
        let real = self.pacer.acquire();
        let plain = self.oracle.acquire_by(f64::MAX, now)?;
        self.compare(real.map_err(Refused::from), plain);
        Ok(())
    }

    fn acquire_many(&mut self, slots: u32) -> Result<(), Undecided> {
        let now = self.now();
        let real = self.pacer.acquire_many(slots);
        let plain = self.oracle.acquire_many(slots.into(), now)?;
        self.compare(real, plain);
        Ok(())
    }

    fn acquire_timeout(&mut self, nanos: u64) -> Result<(), Undecided> {
        let now = self.now();
        let real = self.pacer.acquire_timeout(span(nanos));
        let plain = self.oracle.acquire_by(now + float(nanos), now)?;
        self.compare(real, plain);
        Ok(())
    }

    fn open_lane(&mut self) {
        self.oracle.open_lane();
        self.lanes.push(self.pacer.lane());
    }

    fn lane_acquire(&mut self, lane: usize) -> Result<(), Undecided> {
        let now = self.now();
        let real = self.lanes[lane].acquire();
        let plain = self.oracle.lane_acquire(lane, now, self.pacer.ledger().granted)?;
        // The lane may start slots with an older reading of the clock than other callers use.
        self.last_start.set(Nanos::ZERO);
        self.compare(real.map_err(Refused::from), plain);
        Ok(())
    }

    fn drop_lane(&mut self, lane: usize) {
        drop(self.lanes.swap_remove(lane));
        self.oracle.drop_lane(lane);
    }

    fn drop_claim(&mut self, which: usize) {
        let (claim, slot) = self.claims.swap_remove(which);
        drop(claim);
        self.oracle.give_back(slot);
    }

    fn claim(&mut self) -> Result<(), Undecided> {
        let real = self.pacer.claim();
        match (real, self.oracle.claim()?) {
            (Ok(claim), Ok(slot)) => self.claims.push((claim.into_owned(), slot)),
            (Err(Ended::Closed), Err(Answer::Closed))
            | (Err(Ended::Finished), Err(Answer::Finished)) => {}
            (real, plain) => panic!("claim: {real:?}, should be {plain:?}"),
        }
        Ok(())
    }

    fn claim_and_start(&mut self) -> Result<(), Undecided> {
        let now = self.now();
        let (real, claim) = match self.pacer.claim() {
            Ok(mut claim) => (claim.start(), Some(claim.into_owned())),
            Err(ended) => (Err(ended.into()), None),
        };
        let is_kept = matches!(real, Err(Refused::NotUntil(_) | Refused::Paused));
        let claim = claim.filter(|_| is_kept);
        let (plain, held) = match self.oracle.claim()? {
            Ok(slot) => self.oracle.start(slot, now)?,
            Err(ended) => (ended, None),
        };
        self.compare(real, (plain, now.into()));
        assert_eq!(claim.is_some(), held.is_some());
        self.claims.extend(claim.zip(held));
        Ok(())
    }

    fn start(&mut self, which: usize) -> Result<(), Undecided> {
        let now = self.now();
        let (mut claim, slot) = self.claims.swap_remove(which);
        let real = claim.start();
        let (plain, held) = self.oracle.start(slot, now)?;
        self.compare(real, (plain, now.into()));
        self.claims.extend(held.map(|slot| (claim, slot)));
        Ok(())
    }

    fn compare(&self, real: Result<Grant, Refused>, (plain, now): (Answer, When)) {
        let slack = self.oracle.slack();
        let fits =
            |real: f64, plain: When| (plain.low - slack..=plain.high + slack).contains(&real);
        let same = match (real, plain) {
            (Ok(grant), Answer::Granted { intended, start, slot }) => {
                assert_eq!(grant.slot(), slot, "{grant:?}");
                let last = self.last_start.replace(grant.actual_start());
                assert!(grant.actual_start() >= last, "{grant:?}: the last started at {last:?}");
                let real_start = float(crate::common::actual_ns(grant));
                let start_fits =
                    fits(real_start, start) || self.oracle.is_open_loop() && real_start < start.at;
                let wait = (real_start - float(crate::common::intended_ns(grant))).max(0.0);
                let wait_fits = (float_span(grant.wait_time()) - wait).abs() < 1.0;
                fits(float(crate::common::intended_ns(grant)), intended) && start_fits && wait_fits
            }
            (Err(Refused::NotUntil(moment)), Answer::NotUntil(due)) => {
                fits(float(moment.as_nanos()), due.later(0.0.into()))
            }
            (Err(Refused::Paused), Answer::Paused)
            | (Err(Refused::Finished), Answer::Finished)
            | (Err(Refused::Closed), Answer::Closed) => true,
            _ => false,
        };
        assert!(same, "{real:?}, should be {plain:?} within {slack} ns");
        assert!(fits(self.now(), now), "came back at {} ns, should be {now:?}", self.now());
    }

    fn compare_ledgers(&self) -> Result<(), Undecided> {
        let (ledger, books) = (self.pacer.ledger(), self.oracle.books(self.now())?);
        crate::common::assert_balanced(&self.pacer);
        // Each amount that was forfeited, and each slot that was given back, is rounded one more time.
        let slack = 30.0 * self.oracle.slack() + books.off;
        let near = |real: Duration, plain: f64| (float_span(real) - plain).abs() <= slack;
        let nearly = |real: Duration, plain: f64| {
            (float_span(real) - plain).abs() <= slack + books.waiting_off.max(0.0)
        };
        let same = near(ledger.elapsed, books.elapsed)
            && near(ledger.allocated, books.allocated)
            && near(ledger.idle, books.idle)
            && near(ledger.waiting + ledger.backlog, books.waiting + books.backlog)
            && nearly(ledger.waiting, books.waiting)
            && books.overdue.contains(&ledger.backlog_slots)
            && (ledger.granted, ledger.skipped) == (books.granted, books.skipped);
        assert!(same, "{ledger:?}, should be {books:?}");
        assert_eq!(self.pacer.counters().early_starts, books.early);
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Undecided> {
        for step in [
            Step::Close,
            Step::TryAcquire(1),
            Step::Acquire(1),
            Step::AcquireMany(2),
            Step::AcquireTimeout(1),
            Step::Claim,
            Step::Start(0),
            Step::LaneAcquire(0, 1),
        ] {
            self.take(&step)?;
        }
        (0..self.claims.len()).rev().for_each(|which| self.drop_claim(which));
        (0..self.lanes.len()).rev().for_each(|lane| self.drop_lane(lane));
        self.compare_ledgers()
    }
}

fn run(setting: &Setting, steps: &[Step]) -> Result<(), Undecided> {
    let mut pair = Pair::new(setting);
    for step in steps {
        pair.take(step)?;
        pair.compare_ledgers()?;
    }
    pair.finish()
}

#[test]
fn the_pacer_does_what_the_plain_one_does() {
    let usual = ProptestConfig::default();
    // Some mistakes are visible in only one of several hundred sequences.
    let config =
        ProptestConfig { cases: usual.cases.max(2_048), failure_persistence: None, ..usual };
    let (cases, cut_short) = (config.cases, Cell::new(0));
    let mut runner = TestRunner::new(config);
    let outcome = runner.run(&sequence(), |(setting, steps)| {
        cut_short.update(|count| count + u32::from(run(&setting, &steps).is_err()));
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}\n{runner}"));
    assert!(cut_short.get() <= cases / 4, "{} of {cases} were cut short", cut_short.get());
}

fn plain() -> Setting {
    Setting {
        profile: Profile::Slow,
        rate: 0,
        shape: None,
        spread: None,
        split: None,
        strictness: 0,
        tolerance_ns: 0,
        sleep_threshold_ns: 0,
        max_backlog_ns: None,
        skip_later_than_ns: None,
        start_paused: false,
        slots: None,
        until_ns: None,
    }
}

/// The last slot is due 240 ms before the end of the ramp. The rate changes at that end.
#[test]
fn the_last_slot_of_a_recording_stays_due_where_a_shape_ends() {
    let items = vec![Item::Ramp(0, 333, 300_000_000)];
    let setting = Setting {
        shape: Some(Outline { items, forever: false }),
        spread: Some(Spread::Replay(vec![0, 0, 0, 0, 0, 0, 2_000_001_000])),
        ..plain()
    };
    let steps = [Step::Clock(300_000_000), Step::Rate(0), Step::Clock(4), Step::TryAcquire(6)];
    assert_eq!(run(&setting, &steps), Ok(()));
}

/// Slot 35 lies where the rate rises from zero, in the fifth repetition of the shape.
#[test]
fn a_slot_where_a_rate_rises_from_zero_is_due_there() {
    let items = vec![Item::Hold(33, 200_000_000), Item::Ramp(0, 10, 100_000_000)];
    let setting = Setting { shape: Some(Outline { items, forever: true }), ..plain() };
    let steps = [
        Step::Clock(181_818_185),
        Step::TryAcquire(7),
        Step::Claim,
        Step::Clock(1_187_878_788),
        Step::TryAcquire(1),
        Step::TryAcquire(27),
    ];
    assert_eq!(run(&setting, &steps), Ok(()));
}

/// Each slot of the lane waits until it is too late, and is then replaced by a slot that is not too late. At that slot
/// the catch-up begins again, at a whole nanosecond, while the rate is up to 70/s. Near the end of the ramp, the same
/// fraction of a slot takes up to twenty times as long.
#[test]
fn rounding_at_a_fast_rate_is_more_time_at_a_slow_one() {
    let setting = Setting {
        rate: 5,
        spread: Some(Spread::Jitter(12_133_675_690_282_315_353)),
        strictness: 6,
        tolerance_ns: 10_007,
        sleep_threshold_ns: 1_000,
        skip_later_than_ns: Some(337_406_498),
        ..plain()
    };
    let items = vec![Item::Hold(10, 100_000_000), Item::Ramp(70, 0, 100_000_000)];
    let steps = [
        Step::Clock(1_289_352_032),
        Step::TryAcquire(1),
        Step::Claim,
        Step::Clock(6_636_849),
        Step::Start(0),
        Step::Shape(Outline { items, forever: false }),
        Step::OpenLane,
        Step::Claim,
        Step::TryAcquire(1),
        Step::LaneAcquire(0, 2),
        Step::LaneAcquire(0, 3),
        Step::TryAcquire(1),
    ];
    assert_eq!(run(&setting, &steps), Ok(()));
}
