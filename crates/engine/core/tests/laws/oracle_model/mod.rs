//! Implements a plain pacer under a mutex, in floating point, from the definitions on the design page. Positions are
//! counted in slots and times in nanoseconds, exact to a tenth of a nanosecond. The plain pacer claims one slot or row
//! at a time, drops no data, and receives the time as an argument.

mod lanes;
mod pay_back;
mod segment;
mod slack;
mod slots;
mod state;

use lanes::Lane;
use nanopace::{Arrivals, Shard};
use pay_back::PayBack;
use segment::Segment;
pub(crate) use segment::{Curve, Pace, Part};
use slack::Slack;
pub(crate) use slack::When;
use slots::Slots;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::{Mutex, MutexGuard};

#[derive(Clone, Debug)]
struct Piece {
    from: f64,
    since: f64,
    segment: Segment,
    /// Whether the piece begins with a slot that has forfeited time, and not with a change of the pace.
    is_forfeit: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) strictness: f64,
    pub(crate) tolerance: f64,
    pub(crate) max_backlog: f64,
    pub(crate) skip_later_than: f64,
    pub(crate) lead: f64,
    pub(crate) slots: u64,
    pub(crate) until: f64,
}

impl Rules {
    /// Returns whether the policy never acts on lateness. If so, a slot may be granted with an earlier reading of the
    /// clock.
    fn is_open_loop(&self) -> bool {
        self.strictness == 0.0
            && self.max_backlog.is_infinite()
            && self.skip_later_than.is_infinite()
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Answer {
    /// `slot` is the slot's number in the whole load.
    Granted {
        intended: When,
        start: When,
        slot: u64,
    },
    NotUntil(When),
    Paused,
    Finished,
    Closed,
}

/// The error for a step with more than one correct outcome. A comparison is within the rounding that the real pacer is
/// allowed, or depends on a slot that the real pacer need not store exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Undecided;

#[derive(Clone, Debug)]
pub(crate) struct Books {
    pub(crate) elapsed: f64,
    pub(crate) allocated: f64,
    pub(crate) idle: f64,
    pub(crate) waiting: f64,
    pub(crate) backlog: f64,
    pub(crate) granted: u64,
    pub(crate) skipped: u64,
    pub(crate) early: u64,
    /// The maximum error of the amounts, in addition to the slack.
    pub(crate) off: f64,
    /// The maximum error of waiting and backlog, in addition to the slack and `off`.
    pub(crate) waiting_off: f64,
    /// The possible numbers of slots that are due and not claimed.
    pub(crate) overdue: RangeInclusive<u64>,
}

#[derive(Debug)]
struct State {
    rules: Rules,
    pieces: Vec<Piece>,
    pay_back: Option<PayBack>,
    load: Pace,
    interval: Option<f64>,
    origin: f64,
    shape_ends: f64,
    had_shape: bool,
    slots: RefCell<Slots>,
    next: u64,
    returned: BTreeSet<u64>,
    lanes: Vec<Lane>,
    /// The slot before which the policy treats all slots as started.
    settled: u64,
    idle: f64,
    idle_off: f64,
    paused_since: Option<f64>,
    paused: f64,
    skipped: u64,
    early: u64,
    closed: bool,
    undecided: bool,
    slack: Slack,
}

#[derive(Debug)]
pub(crate) struct Oracle(Mutex<State>);

impl Oracle {
    pub(crate) fn new(
        load: Pace,
        arrivals: Option<Arrivals>,
        shard: Option<(Shard, (usize, u64))>,
        rules: Rules,
    ) -> Oracle {
        let slack = Slack::new(arrivals.is_none());
        let mut slots = Slots::new(arrivals);
        if let Some((shard, part)) = shard {
            slots.set_shard(shard, part, 0);
        }
        let interval = load.interval();
        let load = load.over(&slots, 0.0);
        let segment = Segment::through(&load, 1.0, 0.0, 0.0);
        let piece = Piece { from: -1.0, since: 0.0, segment, is_forfeit: false };
        Oracle(Mutex::new(State {
            rules,
            pieces: vec![piece],
            pay_back: None,
            had_shape: load.is_shape(),
            shape_ends: load.ends(),
            interval,
            load,
            origin: 0.0,
            slack,
            slots: slots.into(),
            next: 0,
            returned: BTreeSet::new(),
            lanes: Vec::new(),
            settled: 0,
            idle: 0.0,
            idle_off: 0.0,
            paused_since: None,
            paused: 0.0,
            skipped: 0,
            early: 0,
            closed: false,
            undecided: false,
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no panic under the lock")
    }

    pub(crate) fn slack(&self) -> f64 {
        self.state().slack.nanos
    }

    pub(crate) fn is_open_loop(&self) -> bool {
        self.state().rules.is_open_loop()
    }

    pub(crate) fn acquire_by(&self, deadline: f64, now: f64) -> Result<(Answer, When), Undecided> {
        self.state().acquire_by(deadline, 1, now)
    }

    pub(crate) fn acquire_many(&self, slots: u64, now: f64) -> Result<(Answer, When), Undecided> {
        let mut state = self.state();
        match slots {
            0 if !state.closed => {
                let now = When::from(now);
                Ok((Answer::Granted { intended: now, start: now, slot: u64::MAX }, now))
            }
            slots => state.acquire_by(f64::MAX, slots, now),
        }
    }

    pub(crate) fn claim(&self) -> Result<Result<u64, Answer>, Undecided> {
        let mut state = self.state();
        if state.closed {
            return Ok(Err(Answer::Closed));
        }
        let is_over = state.is_over(state.first(1))?;
        Ok(if is_over { Err(Answer::Finished) } else { Ok(state.take()) })
    }

    pub(crate) fn start(&self, slot: u64, now: f64) -> Result<(Answer, Option<u64>), Undecided> {
        self.state().start_held(slot, now)
    }

    pub(crate) fn give_back(&self, slot: u64) {
        self.state().give_back(slot);
    }

    pub(crate) fn open_lane(&self) {
        self.state().lanes.push(Lane::default());
    }

    /// `granted` is the ledger's count after the call.
    pub(crate) fn lane_acquire(
        &self,
        lane: usize,
        now: f64,
        granted: u64,
    ) -> Result<(Answer, When), Undecided> {
        self.state().lane_acquire(lane, now, granted)
    }

    pub(crate) fn lane_gives_back(&self, lane: usize) {
        self.state().lane_gives_back(lane);
    }

    pub(crate) fn drop_lane(&self, lane: usize) {
        let mut state = self.state();
        state.lane_gives_back(lane);
        state.lanes.swap_remove(lane);
    }

    pub(crate) fn set_rate(&self, interval: f64, now: f64) {
        let mut state = self.state();
        if state.interval.is_some_and(|current| current.total_cmp(&interval).is_eq()) {
            return;
        }
        let now = state.schedule_time(now);
        state.origin = now;
        state.set_load(Pace::Interval(interval), now);
    }

    pub(crate) fn set_shape(&self, pace: impl Fn(f64) -> Pace, now: f64) {
        let mut state = self.state();
        let now = state.schedule_time(now);
        state.origin = now;
        state.set_load(pace(now), now);
    }

    pub(crate) fn set_shard(
        &self,
        shard: Shard,
        part: (usize, u64),
        from: u64,
        now: f64,
    ) -> Result<bool, Undecided> {
        let mut state = self.state();
        let first = state.slots.borrow_mut().own_before(from) as u64;
        let [least, most] = state.granted_about(now);
        if first < state.due_until(least)? {
            return Ok(false);
        }
        if first < state.due_until(most)? {
            return Err(Undecided);
        }
        // The change may move the slot before which the schedule has ended. Whether this makes the schedule end later
        // depends on how the real pacer stores the past.
        if first <= state.rules.slots && state.ends()?.low <= state.schedule_time(now) {
            return Err(Undecided);
        }
        if state.slots.borrow().is_plain {
            let now = state.schedule_time(now);
            state.slots.borrow_mut().is_plain = false;
            state.over_slots();
            state.go_on(now);
        }
        state.slots.borrow_mut().set_shard(shard, part, from);
        Ok(true)
    }

    pub(crate) fn set_strictness(&self, strictness: f64, now: f64) {
        let mut state = self.state();
        let rules = Rules { strictness, ..state.rules };
        state.set_rules(rules, now);
        if strictness > 1.0 {
            let now = state.schedule_time(now);
            state.re_anchor_pay_back(now);
        } else {
            state.pay_back = None;
        }
    }

    pub(crate) fn set_max_backlog(&self, max_backlog: f64, now: f64) {
        let mut state = self.state();
        let rules = Rules { max_backlog, ..state.rules };
        state.set_rules(rules, now);
    }

    pub(crate) fn set_skip_later_than(&self, skip_later_than: f64, now: f64) {
        let mut state = self.state();
        let rules = Rules { skip_later_than, ..state.rules };
        state.set_rules(rules, now);
    }

    pub(crate) fn pause(&self, now: f64) {
        self.state().paused_since.get_or_insert(now);
    }

    pub(crate) fn resume(&self, now: f64) {
        let mut state = self.state();
        let Some(since) = state.paused_since.take() else { return };
        let pause = now - since;
        state.paused += pause;
        for piece in &mut state.pieces {
            piece.segment.shift(pause);
            piece.since += pause;
        }
        if let Some(paid) = &mut state.pay_back {
            paid.shift(pause);
        }
        state.load.shift(pause);
        state.origin += pause;
        state.shape_ends += pause;
    }

    pub(crate) fn close(&self) {
        self.state().closed = true;
    }

    pub(crate) fn books(&self, now: f64) -> Result<Books, Undecided> {
        self.state().books(now)
    }
}
