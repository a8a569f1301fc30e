//! Tests that every grant has the number of its slot in the whole load.

use crate::common::{MILLI, SECOND, at, build, intended_ns, rate, span};
use nanopace::driver::{self, Drive as _, Lease};
use nanopace::{Arrivals, Grant, Lane, ManualClock, Pacer, Rate, Shard};
use proptest::prelude::*;
use std::iter;

#[derive(Clone, Debug)]
enum Change {
    Rate(u64),
    Ramp(u64, u64),
    Pause(u64),
    /// New shares, which begin the given number of slots after the next slot.
    Shares([u32; 3], u64),
}

fn shares() -> impl Strategy<Value = [u32; 3]> {
    prop_oneof![Just([1; 3]), [1_u32..4, 1_u32..4, 1_u32..4]]
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (1_u64..5_000).prop_map(Change::Rate),
        (1_u64..5_000, 1_u64..5_000).prop_map(|(from, to)| Change::Ramp(from, to)),
        (1_u64..SECOND).prop_map(Change::Pause),
        (shares(), 1_u64..50).prop_map(|(shares, ahead)| Change::Shares(shares, ahead)),
    ]
}

struct Process {
    pacer: Pacer,
    lane: Lane,
    grants: Vec<Grant>,
}

impl Process {
    fn new(shard: Shard, is_poisson: bool, clock: &ManualClock) -> Process {
        let arrivals = if is_poisson { Arrivals::poisson(7) } else { Arrivals::even() };
        let pacer = build("1k/s", clock).shard(shard).arrivals(arrivals).build();
        Process { lane: pacer.lane(), pacer, grants: Vec::new() }
    }

    fn start_what_is_due(&mut self) {
        for turn in 0.. {
            let grant = match turn % 3 {
                0 => self.lane.try_acquire(),
                1 => {
                    self.lane.give_back();
                    let claim = self.pacer.claim();
                    claim.map_err(Into::into).and_then(|mut claim| claim.start())
                }
                _ => self.pacer.try_acquire(),
            };
            let Ok(grant) = grant else { return };
            self.grants.push(grant);
        }
    }

    fn take(&self, change: &Change, index: u32, next: u64) {
        match *change {
            Change::Rate(hz) => self.pacer.set_rate(Rate::per_second(hz).unwrap()),
            Change::Ramp(from, to) => {
                self.pacer.set_shape(format!("ramp {from}/s..{to}/s 2s").parse().unwrap());
            }
            Change::Pause(_) if self.pacer.is_paused() => self.pacer.resume(),
            Change::Pause(_) => self.pacer.pause(),
            Change::Shares(shares, ahead) => {
                let shard = Shard::weighted(index, &shares).unwrap();
                self.pacer.set_shard(shard, next + ahead).expect("no process has reached it");
            }
        }
    }
}

proptest! {
    #[test]
    fn every_slot_has_one_number(
        first in shares(),
        is_poisson: bool,
        changes in prop::collection::vec((1_u64..SECOND / 4, change()), 0..8),
    ) {
        let clock = ManualClock::new();
        let part = |index| Shard::weighted(index, &first).unwrap();
        let mut parts = [0, 1, 2].map(|index| Process::new(part(index), is_poisson, &clock));
        let mut whole = Process::new(Shard::new(0, 1).unwrap(), is_poisson, &clock);
        for (ahead_ns, change) in changes.iter().chain([&(SECOND, Change::Rate(1))]) {
            clock.advance(span(*ahead_ns));
            parts.iter_mut().chain([&mut whole]).for_each(Process::start_what_is_due);
            let next = whole.grants.len() as u64;
            for (index, process) in (0..).zip(&parts) {
                process.take(change, index, next);
            }
            if !matches!(change, Change::Shares(..)) {
                whole.take(change, 0, next);
            }
            if let Change::Pause(ns) = change {
                clock.advance(span(*ns));
                for (index, process) in (0..).zip(parts.iter().chain([&whole])) {
                    process.take(change, index, next);
                }
            }
        }
        let in_order = |grants: &[Grant]| {
            grants.is_sorted_by_key(|grant| grant.slot())
                && grants.is_sorted_by_key(|grant| grant.intended_start())
        };
        prop_assert!(parts.iter().chain([&whole]).all(|process| in_order(&process.grants)));
        prop_assert!(whole.grants.iter().map(|grant| grant.slot()).eq(0..whole.grants.len() as u64));
        let mut slots: Vec<u64> =
            parts.iter().flat_map(|process| &process.grants).map(|grant| grant.slot()).collect();
        slots.sort_unstable();
        prop_assert!(slots.iter().copied().eq(0..slots.len() as u64), "{slots:?}");
        prop_assert!(slots.len().abs_diff(whole.grants.len()) <= 1, "except for rounding");
    }
}

#[test]
fn numbers_go_on_where_positions_wrap_around() {
    let twenty_minutes = span(1_200 * SECOND); // 1.2 x 10^13 slots
    for (shard, stride) in
        [(Shard::new(0, 1), 1), (Shard::new(2, 3), 3), (Shard::of(3, &[1, 2]), 0)]
    {
        let clock = ManualClock::new();
        let builder = build("10G/s", &clock).shard(shard.unwrap());
        let pacer = builder.skip_later_than(span(0)).build();
        for turn in 1..=25 {
            clock.advance(twenty_minutes);
            let slot = pacer.acquire().unwrap().slot();
            assert!(slot.abs_diff(turn * 12_000_000_000_000) < 1_000_000, "{slot}");
            pacer.set_skip_later_than(None);
            clock.advance(span(1_000));
            let mut lane = pacer.lane();
            let mut slots: Vec<u64> = (0..1_000).map(|_| lane.acquire().unwrap().slot()).collect();
            drop(lane);
            slots.extend((0..1_000).map(|_| pacer.acquire().unwrap().slot()));
            slots.insert(0, slot);
            let step = |pair: &[u64]| pair[1] - pair[0];
            assert!(
                slots.windows(2).all(|pair| stride == 0 && step(pair) < 3 || step(pair) == stride)
            );
            pacer.set_skip_later_than(Some(span(0)));
        }
    }
}

/// A fleet leases slots again fifty times per second, and a caller may hold its slot for a minute.
#[test]
fn a_slot_that_is_held_over_many_leases_keeps_its_number() {
    let clock = ManualClock::new();
    let pacer = driver::leased(Pacer::builder(rate("1k/s"))).clock(clock.clone()).build();
    let lease = |frame: u64| {
        let shard = Shard::new(u32::try_from(frame % 2).unwrap(), 2).unwrap();
        pacer.lease(frame * 20, &[Lease::of(shard, (frame + 1) * 20)]).unwrap();
    };
    lease(0);
    lease(1);
    let (_first, mut held) = (pacer.claim().unwrap(), pacer.claim().unwrap()); // slots 0 and 2
    let mut row = pacer.claim_many(9).unwrap(); // slots 4 to 18 and 21
    for frame in 2..3_000 {
        clock.set(at((frame - 1) * 20 * MILLI));
        lease(frame);
        let started: Vec<Grant> = iter::from_fn(|| pacer.try_acquire().ok()).collect();
        assert!(started.iter().all(|grant| grant.slot() * MILLI == intended_ns(*grant)));
    }
    for (claim, slot) in [(&mut held, 2), (&mut row, 4)] {
        let grant = claim.start().unwrap();
        assert_eq!((grant.slot(), intended_ns(grant)), (slot, slot * MILLI));
    }
}

#[test]
fn no_slots_have_no_number() {
    let pacer = build("1k/s", &ManualClock::new()).build();
    assert_eq!(pacer.acquire_many(0).unwrap().slot(), u64::MAX);
    assert_eq!(pacer.acquire_many(3).unwrap().slot(), 0);
}
