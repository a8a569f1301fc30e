//! A plain pacer behind a mutex, from DESIGN's words and in floating point: the oracle of `tests/oracle.rs`.
//!
//! Positions are counted in slots, times in nanoseconds. It claims one slot at a time and is told the time; it keeps every
//! piece of schedule there ever was.

mod slack;
mod state;

use slack::Slack;
use std::collections::BTreeSet;
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

/// A comparison came out within the rounding that the real pacer is allowed: from here on either may be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooClose;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Books {
    pub(crate) elapsed: f64,
    pub(crate) allocated: f64,
    pub(crate) idle: f64,
    pub(crate) late: f64,
    pub(crate) granted: u64,
    pub(crate) skipped: u64,
}

#[derive(Debug)]
struct State {
    rules: Rules,
    pieces: Vec<Piece>,
    pay_back: Option<PayBack>,
    next: u64,
    returned: BTreeSet<u64>,
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

    pub(crate) fn try_acquire(&self, now: f64) -> Result<Answer, TooClose> {
        self.state().try_acquire(now)
    }

    pub(crate) fn claim(&self, now: f64) -> Result<Answer, TooClose> {
        self.state().claim(now)
    }

    pub(crate) fn start(&self, slot: u64, now: f64) -> Result<Answer, TooClose> {
        self.state().start(slot, now)
    }

    /// The latest slot becomes the next one again.
    pub(crate) fn give_back(&self, slot: u64) {
        let mut state = self.state();
        if state.next == slot + 1 {
            state.next = slot;
        } else {
            state.returned.insert(slot);
        }
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
    }

    pub(crate) fn close(&self) {
        self.state().closed = true;
    }

    pub(crate) fn books(&self, now: f64) -> Result<Books, TooClose> {
        self.state().books(now)
    }
}
