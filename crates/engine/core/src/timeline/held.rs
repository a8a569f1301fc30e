//! Records which slots callers *hold*: slots that are claimed, and neither started nor given back. The schedule keeps
//! the pieces on which held slots lie.
//!
//! These slots are registered:
//!
//! * Slots that are claimed under the timeline's lock and do not start at once.
//! * The slots of a `Claim`, and the slot of a `Poller` that polled before the slot was due.
//! * The slots of a lane's run or block (both are called runs here), unless there is only one, which starts at once.
//!
//! The sleepers record the slots of callers that sleep in an open loop. While such a caller spins, yields, or is about
//! to sleep or start, its slot is not recorded. The schedule keeps its last pieces for such slots.

use super::attempt::Claimed;
use crate::position::{REACH, earlier, last_up_to, ticks_between};
use crate::sync::Mutex;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

#[derive(Debug)]
pub(super) struct Held {
    /// Maps the position of each holder's first slot to the position after its last one. No slot has two holders.
    ranges: Mutex<BTreeMap<u64, u64>>,
    lanes: Mutex<Lanes>,
}

/// Each run has its own lock, because lanes share as little as possible.
#[derive(Debug)]
pub(crate) struct LaneRun(Mutex<Option<(u64, u64)>>);

#[derive(Debug)]
struct Lanes {
    all: Vec<Weak<LaneRun>>,
    runs_allowed: bool,
    /// Whether any lane may have a run. When runs are no longer allowed, this stays set until no lane has one. (A lane
    /// that claims a run at that time gives it back at once, because the version has changed.)
    runs_possible: bool,
}

impl LaneRun {
    pub(crate) fn set(&self, range: Option<(u64, u64)>) {
        *self.0.lock() = range;
    }
}

impl Held {
    pub(super) fn new() -> Held {
        let lanes = Lanes { all: Vec::new(), runs_allowed: false, runs_possible: false };
        Held { ranges: Mutex::new(BTreeMap::new()), lanes: Mutex::new(lanes) }
    }

    pub(super) fn enter(&self, claimed: &mut Claimed) {
        if !claimed.is_entered {
            self.ranges.lock().insert(claimed.position, claimed.end());
            claimed.is_entered = true;
        }
    }

    pub(super) fn leave(&self, claimed: &Claimed) {
        if claimed.is_entered {
            self.ranges.lock().remove(&claimed.position);
        }
    }

    pub(super) fn lane(&self) -> Arc<LaneRun> {
        let run = Arc::new(LaneRun(Mutex::new(None)));
        let mut lanes = self.lanes.lock();
        lanes.all.retain(|lane| lane.strong_count() > 0);
        lanes.all.push(Arc::downgrade(&run));
        run
    }

    pub(super) fn allow_runs(&self, runs_allowed: bool) {
        let mut lanes = self.lanes.lock();
        lanes.runs_allowed = runs_allowed;
        lanes.runs_possible |= runs_allowed;
    }

    pub(super) fn earliest(&self) -> Option<u64> {
        let in_a_run = self.lanes.lock().runs().map(|(start, _)| start).reduce(earlier);
        let ranges = self.ranges.lock();
        let Some((first, _)) = ranges.first_key_value() else { return in_a_run };
        // If positions wrap around between the ranges, the earliest range has the lowest key that is at least `REACH`
        // above the lowest key of all.
        let behind = ranges.range(first.wrapping_add_signed(REACH)..).next();
        let first = behind.map_or(*first, |(&start, _)| start);
        Some(in_a_run.map_or(first, |run| earlier(run, first)))
    }

    /// A range that ends at `from` also counts: at worst a piece of the schedule is kept longer than needed.
    pub(super) fn has(&self, from: u64, to: u64) -> bool {
        let last = last_up_to(&self.ranges.lock(), to).map(|(_, &end)| end);
        last.is_some_and(|end| ticks_between(from, end) >= 0) || self.lanes.lock().ask(from, to)
    }
}

impl Lanes {
    /// Also records whether lanes must be checked again.
    fn ask(&mut self, from: u64, to: u64) -> bool {
        if !self.runs_possible {
            return false;
        }
        self.runs_possible = self.runs_allowed || self.runs().next().is_some();
        let meets = |(start, end)| ticks_between(start, to) >= 0 && ticks_between(from, end) >= 0;
        self.runs().any(meets)
    }

    fn runs(&self) -> impl Iterator<Item = (u64, u64)> {
        self.all.iter().filter_map(|lane| *lane.upgrade()?.0.lock())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Attempt, Next, Timeline};
    use super::*;
    use crate::position::{SLOT, after};
    use crate::schedule::{End, Load, Policy, Schedule, Slots};
    use crate::sleepers::Sleeper;
    use crate::{Arrivals, ManualClock, Pacer, Parker, Shard, Strictness};
    use std::time::Duration;

    fn has(held: &Held, from: u64, to: u64) -> bool {
        held.has(after(0, from), after(0, to))
    }

    fn before(slots: u64) -> u64 {
        0_u64.wrapping_sub(slots)
    }

    #[test]
    fn held_slots_are_found_even_where_positions_wrap_around() {
        let held = Held::new();
        let mut row = Claimed::new(0_u64.wrapping_sub(3 * SLOT), 5);
        let mut one = Claimed::new(7 * SLOT, 1);
        assert!(!has(&held, 0, 100));
        held.enter(&mut row);
        held.enter(&mut one);
        for (from, to, is_held) in [
            (before(9), before(4), false),
            (before(9), before(3), true),
            (before(2), before(1), true),
            (1, 1, true),
            (3, 6, false),
            (3, 7, true),
            (7, 9, true),
            (9, 12, false),
        ] {
            assert_eq!(has(&held, from, to), is_held, "{from} to {to}");
        }
        assert_eq!(held.earliest(), Some(row.position));
        held.leave(&row);
        assert_eq!(held.earliest(), Some(one.position));
        assert!(!has(&held, before(9), 6) && has(&held, before(9), 7));
        held.leave(&one);
        assert!(!has(&held, before(9), 12));
    }

    #[test]
    fn a_run_is_held_until_it_ends_even_if_no_more_may_be_taken() {
        let held = Held::new();
        let (run, other) = (held.lane(), held.lane());
        held.allow_runs(true);
        assert!(!has(&held, 0, 100));
        run.set(Some((after(0, 5), after(0, 8))));
        held.allow_runs(false);
        for (from, to, is_held) in [(0, 4, false), (0, 5, true), (8, 9, true), (9, 10, false)] {
            assert_eq!(has(&held, from, to), is_held, "{from} to {to}");
        }
        drop(other);
        run.set(None);
        assert!(!has(&held, 0, 100));
        assert!(!held.lanes.lock().runs_possible, "lanes are no longer checked");
    }

    fn timeline(strictness: Strictness) -> (Timeline, ManualClock) {
        let load = Load::Rate("1k/s".parse().unwrap());
        let slots = Slots::new(&Arrivals::even(), Shard::whole());
        let policy = Policy { strictness, tolerance: 0, max_backlog: None, skip_later_than: None };
        let schedule = Schedule::new(load, slots, policy, End::new(None, None), 0);
        let (timeline, clock) = (Timeline::new(schedule, 0, 0), ManualClock::new());
        change(&timeline, &clock, "500/s");
        (timeline, clock)
    }

    fn change(timeline: &Timeline, clock: &ManualClock, rate: &str) {
        let rate = rate.parse().unwrap();
        timeline.change(clock, |schedule, now| schedule.set_rate(rate, now));
        while let Next::Start(_) = timeline.go_on(&mut Attempt::if_due(1), clock) {}
    }

    /// The caller holds slot 1, which is due at 2 ms, during 100 changes or more that are 10 ms apart. In an open loop,
    /// a caller that does not sleep is not recorded, so its slot gets a later intended start.
    #[test]
    fn a_caller_that_is_held_back_never_gets_too_long_a_wait_time() {
        let (average, strict) = (Strictness::AVERAGE, Strictness::STRICT);
        let callers = [(average, true, true), (average, false, false), (strict, false, true)];
        for (changes, (strictness, sleeps, is_known)) in
            (50..60).flat_map(|half| callers.map(|caller| (half, caller)))
        {
            let (timeline, clock) = timeline(strictness);
            let mut attempt = Attempt::new(1, i64::MAX);
            let Next::Pause(plan) = timeline.go_on(&mut attempt, &clock) else {
                panic!("slot 1 is due in 2 ms")
            };
            if sleeps {
                let (release, deadline) = (plan.release, i64::MAX);
                let unparker = Parker::new().unparker();
                let sleeper = Sleeper { release, deadline, takes_others: true, unparker };
                assert!(timeline.sleepers.enter(plan.position, sleeper, || true));
            }
            for rate in ["900/s", "1100/s"].repeat(changes) {
                clock.advance(Duration::from_millis(10));
                change(&timeline, &clock, rate);
            }
            timeline.sleepers.leave(plan.position);
            let Next::Start(grant) = timeline.go_on(&mut attempt, &clock) else {
                panic!("it is due")
            };
            let wait_ms = grant.wait_nanos() / 1_000_000;
            // For a slot that is not recorded at all, only the last 32 changes are kept.
            let truth_ms = 20 * u64::try_from(changes).unwrap() - 2;
            assert!(if is_known { wait_ms == truth_ms } else { wait_ms < truth_ms });
            assert!(wait_ms >= 310, "{wait_ms}");
        }
    }

    #[test]
    fn slots_that_have_started_or_come_back_are_not_held() {
        let uses: [fn(&Pacer, &ManualClock); 8] = [
            |pacer, _| assert!(pacer.acquire().is_ok()),
            |pacer, _| assert!(pacer.acquire_many(3).is_ok()),
            |pacer, _| drop(pacer.claim_many(3)),
            |pacer, _| {
                let mut claim = pacer.claim().unwrap();
                let _ = claim.start(); // the slot is not due yet
                drop(claim);
            },
            |pacer, _| {
                let mut claim = pacer.claim().unwrap();
                assert!(claim.start().is_err(), "it is ahead");
                pacer.acquire().unwrap(); // the next slot, so that the clock reaches the intended start of the first
                claim.start().unwrap();
            },
            |pacer, _| {
                let mut row = pacer.claim_many(3).unwrap();
                pacer.acquire().unwrap();
                row.start().unwrap();
            },
            |pacer, clock| {
                clock.advance(Duration::from_millis(1)); // slots are late, so the lane claims runs
                let mut lane = pacer.lane();
                (0..5).for_each(|_| assert!(lane.acquire().is_ok()));
                lane.give_back();
                std::mem::forget(lane); // the lane holds no slot, and is never dropped
            },
            |pacer, clock| {
                let mut lane = pacer.lane();
                for _ in 0..2 {
                    clock.advance(Duration::from_millis(1)); // the lane is so slow that it claims one slot at a time
                    assert!(lane.acquire().is_ok());
                }
                lane.give_back();
                std::mem::forget(lane);
            },
        ];
        for (index, uses) in uses.into_iter().enumerate() {
            let open = Strictness::AVERAGE;
            for (strictness, arrivals) in
                [(open, "even"), (open, "poisson"), (Strictness::STRICT, "even")]
            {
                let clock = ManualClock::jumping();
                let rate = "1M/s".parse().unwrap();
                let builder = Pacer::builder(rate).arrivals(arrivals.parse().unwrap());
                let pacer = builder.strictness(strictness).clock(clock.clone()).build();
                pacer.acquire().unwrap();
                for _ in 0..3 {
                    uses(&pacer, &clock);
                    assert!(
                        !pacer.0.timeline.held.has(0, after(0, 1 << 20)),
                        "use {index}, {arrivals}"
                    );
                }
            }
        }
    }
}
