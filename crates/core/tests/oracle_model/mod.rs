//! A plain pacer behind a mutex, from DESIGN's words and in floating point: the oracle of `tests/oracle.rs`.
//!
//! Positions are counted in slots, times in nanoseconds; both are exact to a tenth of a nanosecond here, where the real pacer is
//! allowed whole ones. It claims one slot at a time and is told the time.

mod lanes;
mod slack;
mod state;

use lanes::Lane;
use slack::Slack;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::{Mutex, MutexGuard};

/// Behind slot `from`, slots start as if `slot` started at `time` and the others `interval` apart; the rate holds since `since`.
#[derive(Clone, Copy, Debug)]
struct Piece {
    from: f64,
    since: f64,
    slot: f64,
    time: f64,
    interval: f64,
}

/// The line on which owed time is paid back.
#[derive(Clone, Copy, Debug)]
struct PayBack {
    slot: f64,
    time: f64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) strictness: f64,
    pub(crate) tolerance: f64,
    pub(crate) max_backlog: f64,
    pub(crate) skip_later_than: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Answer {
    /// Slot, intended start, wait time.
    Granted(u64, f64, f64),
    Held(u64),
    NotUntil(f64),
    Paused,
    Closed,
}

/// From here on more than one outcome is right: a comparison came out within the rounding that the real pacer is allowed, a slot
/// is from before what it remembers, or a lane's choice can't be told from outside.
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
    /// Slots due and not claimed: so many, as far as that can be told.
    pub(crate) overdue: RangeInclusive<u64>,
}

#[derive(Debug)]
struct State {
    rules: Rules,
    pieces: Vec<Piece>,
    pay_back: Option<PayBack>,
    next: u64,
    returned: BTreeSet<u64>,
    lanes: Vec<Lane>,
    /// The slots that have forfeited time, in their order, and how much.
    forfeited: Vec<(f64, f64)>,
    paused_since: Option<f64>,
    paused: f64,
    skipped: u64,
    closed: bool,
    slack: Slack,
}

#[derive(Debug)]
pub(crate) struct Oracle(Mutex<State>);

impl Oracle {
    pub(crate) fn new(interval: f64, rules: Rules) -> Oracle {
        let piece = Piece { from: -1.0, since: 0.0, slot: 0.0, time: 0.0, interval };
        Oracle(Mutex::new(State {
            rules,
            pieces: vec![piece],
            pay_back: None,
            next: 0,
            returned: BTreeSet::new(),
            lanes: Vec::new(),
            forfeited: Vec::new(),
            paused_since: None,
            paused: 0.0,
            skipped: 0,
            closed: false,
            slack: Slack::new(interval),
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no panic under the lock")
    }

    pub(crate) fn slack(&self) -> f64 {
        self.state().slack.get()
    }

    /// Whether no lateness is the policy's business; then a slot may be granted on an earlier reading of the clock.
    pub(crate) fn is_endless(&self) -> bool {
        self.state().is_endless()
    }

    /// A 2^16th of the interval, in nanoseconds.
    pub(crate) fn tick(&self) -> f64 {
        self.state().current().interval / 65_536.0
    }

    /// Takes the next slot and starts it when it is due.
    pub(crate) fn acquire(&self, now: f64) -> Result<Answer, Undecided> {
        self.state().acquire(now)
    }

    /// The same, unless it can't be by `deadline`.
    pub(crate) fn acquire_by(&self, deadline: f64, now: f64) -> Result<Answer, Undecided> {
        self.state().acquire_by(deadline, now)
    }

    pub(crate) fn acquire_many(&self, slots: u64, now: f64) -> Result<Answer, Undecided> {
        let mut state = self.state();
        match slots {
            0 => Ok(Answer::Granted(state.next, now, 0.0)),
            1 => state.acquire(now),
            _ => state.acquire_many(slots, now),
        }
    }

    pub(crate) fn claim(&self, now: f64) -> Result<Answer, Undecided> {
        self.state().claim(now)
    }

    pub(crate) fn start(&self, slot: u64, now: f64) -> Result<Answer, Undecided> {
        self.state().start(slot, now)
    }

    pub(crate) fn give_back(&self, slot: u64) {
        self.state().give_back(slot);
    }

    pub(crate) fn open_lane(&self, now: f64) {
        self.state().open_lane(now);
    }

    /// As the pacer's `acquire`, through a lane; `granted` is what the ledger says afterwards.
    pub(crate) fn lane_acquire(&self, lane: usize, now: f64, granted: u64) -> Result<Answer, Undecided> {
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
        let now = state.schedule_time(now);
        let old_interval = state.current().interval;
        state.append(interval, now);
        state.re_anchor_pay_back(old_interval, now);
        state.slack.change(old_interval, interval);
    }

    pub(crate) fn set_strictness(&self, strictness: f64, now: f64) {
        let mut state = self.state();
        let now = state.schedule_time(now);
        let interval = state.current().interval;
        if strictness > 1.0 {
            state.re_anchor_pay_back(interval, now);
        } else {
            state.pay_back = None;
        }
        state.rules.strictness = strictness;
    }

    pub(crate) fn set_max_backlog(&self, limit: f64) {
        self.state().rules.max_backlog = limit;
    }

    pub(crate) fn set_skip_later_than(&self, limit: f64) {
        self.state().rules.skip_later_than = limit;
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
            piece.time += pause;
            piece.since += pause;
        }
        if let Some(line) = &mut state.pay_back {
            line.time += pause;
        }
        let interval = state.current().interval;
        state.append(interval, now);
    }

    pub(crate) fn close(&self) {
        self.state().closed = true;
    }

    pub(crate) fn books(&self, now: f64) -> Result<Books, Undecided> {
        self.state().books(now)
    }
}
