//! Runs any sequence of calls with any numbers, on a clock that jumps to any time up to its end. Checks that no call
//! panics or hangs, that no slot starts earlier than the sleep threshold allows, and that the ledger accounts for every
//! nanosecond and every granted slot.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use nanopace::{
    Claim, Clock, Grant, Lane, ManualClock, Nanos, Pacer, Rate, Refused, Shard, Strictness,
};
use std::time::Duration;

#[derive(Arbitrary, Debug)]
enum Step {
    Advance(Duration),
    SetClock(u64),
    Rate(u64, Duration),
    Hz(f64),
    /// The string need not be a valid shape.
    Shape(String),
    /// The index of the new shard, the number of shards, and the number of slots between the granted and skipped slots
    /// and the first slot of the new shard.
    Shard(u8, u8, u32),
    Strictness(f64),
    MaxBacklog(Option<Duration>),
    SkipLaterThan(Option<Duration>),
    Pause,
    Resume,
    Close,
    TryAcquire(u8),
    Acquire(u8),
    AcquireTimeout(Duration),
    AcquireMany(u32),
    Lane(u8),
    GiveBack,
    Claim(u8),
    StartClaim(u8),
    DropClaim(u8),
    Counters,
}

#[derive(Arbitrary, Debug)]
struct Setting {
    origin: u64,
    rate: (u64, Duration),
    strictness: f64,
    tolerance: Option<Duration>,
    max_backlog: Option<Duration>,
    skip_later_than: Option<Duration>,
    sleep_threshold: Option<Duration>,
    start_paused: bool,
}

impl Setting {
    fn build(&self, clock: &ManualClock) -> Option<Pacer> {
        clock.set(Nanos::from_nanos(self.origin));
        let mut builder = Pacer::builder(Rate::per(self.rate.0, self.rate.1).ok()?)
            .strictness(Strictness::new(self.strictness).unwrap_or_default())
            .clock(clock.clone());
        if let Some(tolerance) = self.tolerance {
            builder = builder.tolerance(tolerance);
        }
        if let Some(limit) = self.max_backlog {
            builder = builder.max_backlog(limit);
        }
        if let Some(limit) = self.skip_later_than {
            builder = builder.skip_later_than(limit);
        }
        if let Some(threshold) = self.sleep_threshold {
            builder = builder.sleep_threshold(threshold);
        }
        Some(if self.start_paused { builder.start_paused() } else { builder }.build())
    }
}

struct World {
    clock: ManualClock,
    pacer: Pacer,
    lane: Lane,
    claims: Vec<Claim<'static>>,
    started: u64,
    threshold: Duration,
    in_rows: u64,
}

impl World {
    fn step(&mut self, step: Step) {
        match step {
            Step::Advance(span) => self.clock.advance(span),
            Step::SetClock(nanos) => self.clock.set(Nanos::from_nanos(nanos)),
            Step::Rate(operations, period) => self.set_rate(Rate::per(operations, period)),
            Step::Hz(hz) => self.set_rate(Rate::from_hz(hz)),
            Step::Shape(text) => _ = text.parse().map(|shape| self.pacer.set_shape(shape)),
            Step::Shard(index, count, ahead) => {
                let ledger = self.pacer.ledger();
                let from =
                    ledger.granted.saturating_add(ledger.skipped).saturating_add(ahead.into());
                let shard = Shard::new(index.into(), count.into());
                let _ = shard.and_then(|shard| self.pacer.set_shard(shard, from));
            }
            Step::Strictness(number) => {
                let _ =
                    Strictness::new(number).map(|strictness| self.pacer.set_strictness(strictness));
            }
            Step::MaxBacklog(limit) => self.pacer.set_max_backlog(limit),
            Step::SkipLaterThan(limit) => self.pacer.set_skip_later_than(limit),
            Step::Pause => self.pacer.pause(),
            Step::Resume => self.pacer.resume(),
            Step::Close => self.pacer.close(),
            Step::TryAcquire(times) => self.each(times, |world| world.pacer.try_acquire()),
            Step::Acquire(times) => self.each(times, |world| Ok(world.pacer.acquire()?)),
            Step::AcquireTimeout(timeout) => {
                self.each(1, |world| world.pacer.acquire_timeout(timeout))
            }
            Step::AcquireMany(slots) => self.acquire_many(slots),
            Step::Lane(times) => self.each(times, |world| Ok(world.lane.acquire()?)),
            Step::GiveBack => self.lane.give_back(),
            Step::Claim(times) => (0..times).for_each(|_| {
                self.claims.extend(self.pacer.claim().map(Claim::into_owned));
            }),
            Step::StartClaim(which) => self.start_claim(usize::from(which)),
            Step::DropClaim(which) => {
                let kept = usize::from(which).min(self.claims.len());
                self.claims.truncate(kept);
            }
            Step::Counters => _ = self.pacer.counters(),
        }
    }

    fn set_rate(&self, rate: Result<Rate, nanopace::RateError>) {
        let _ = rate.map(|rate| self.pacer.set_rate(rate));
    }

    /// Returns whether a caller would block forever: the pacer is paused, or the slot is due at the end of the clock.
    fn would_block(&self) -> bool {
        self.pacer.claim().and_then(|claim| claim.due()).is_ok_and(|due| due == Nanos::MAX)
    }

    fn each(&mut self, times: u8, acquire: impl Fn(&mut World) -> Result<Grant, Refused>) {
        for _ in 0..times {
            if self.would_block() {
                return;
            }
            if let Ok(grant) = acquire(self) {
                self.start(1, grant);
            }
        }
    }

    fn acquire_many(&mut self, slots: u32) {
        if self.comes_to_its_turn(slots)
            && let Ok(grant) = self.pacer.acquire_many(slots)
        {
            self.start(slots.into(), grant);
        }
    }

    /// Adds `slots` to the total of all calls of `acquire_many`. Returns false if the next call might not start within
    /// the clock's range, or would block forever.
    fn comes_to_its_turn(&mut self, slots: u32) -> bool {
        self.in_rows += u64::from(slots);
        let years_left =
            self.clock.now().as_nanos() < u64::MAX / 4 && self.pacer.rate().as_hz() > 100.0;
        years_left && self.in_rows < 1 << 36 && !self.would_block()
    }

    fn start_claim(&mut self, which: usize) {
        if which < self.claims.len()
            && let Ok(grant) = self.claims[which].start()
        {
            drop(self.claims.swap_remove(which));
            self.start(1, grant);
        }
    }

    fn start(&mut self, slots: u64, grant: Grant) {
        self.started += slots;
        assert!(
            grant.intended_start() <= self.clock.now() + self.threshold,
            "{grant:?} at {:?}",
            self.clock.now()
        );
        assert_eq!(grant.actual_start() - grant.intended_start(), grant.wait_time());
    }

    fn check_ledger(&self) {
        let ledger = self.pacer.ledger();
        let sum = ledger.allocated + ledger.idle + ledger.waiting + ledger.backlog;
        assert_eq!(ledger.elapsed, sum, "{ledger:?}");
    }
}

fuzz_target!(|input: (Setting, Vec<Step>)| {
    let (setting, steps) = input;
    let clock = ManualClock::jumping();
    let Some(pacer) = setting.build(&clock) else { return };
    let lane = pacer.lane();
    let threshold = setting.sleep_threshold.unwrap_or_default();
    let mut world =
        World { clock, pacer, lane, claims: Vec::new(), started: 0, threshold, in_rows: 0 };
    for step in steps {
        world.step(step);
        world.check_ledger();
    }
    world.claims.clear();
    world.lane.give_back();
    world.check_ledger();
    assert_eq!(world.pacer.ledger().granted, world.started);
});
