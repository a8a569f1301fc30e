//! The timeline: the one shared word that slots are claimed from, and the timebase that says when they start.
//!
//! * A claim is `allocated.fetch_add(n x SLOT)`: unique and gapless, because that is all that ever happens to the word,
//!   except that the latest claim can be taken back and late slots can be skipped, both by compare-and-swap.
//! * The [`Face`] shows the current line and how far it is due. Slots within that go without clock or lock.
//! * Everything else is cold: a plan is made by reading the line, then the clock, then checking that the line is still
//!   the current one; only what changes the timebase takes the lock.

mod face;
mod last_seen;
mod returned;

use crate::clock::Clock;
use crate::line::{REACH, SLOT, ticks_between};
use crate::sync::{AtomicU64, Mutex, Relaxed};
use crate::timebase::{Account, Segment, Timebase};
use crate::{Closed, Nanos, Refused};
use crossbeam_utils::CachePadded;
pub(crate) use face::Due;
use face::View;
use face::{CLOSED, COLD, Face, Facts, INTRICATE, RETURNED};
use returned::Returned;
use std::collections::VecDeque;

#[derive(Debug)]
pub(crate) struct Timeline {
    /// The next position to be claimed, in ticks. Written by `claim` (adds), `try_claim` and `skip` (compare and swap
    /// forwards) and `give_back` (compare and swap of the latest claim).
    allocated: CachePadded<AtomicU64>,
    face: CachePadded<Face>,
    book: CachePadded<Mutex<Book>>,
}

/// What the lock guards.
#[derive(Debug)]
struct Book {
    timebase: Timebase,
    returned: Returned,
    closed: bool,
    skipped: u64,
    odometer: Odometer,
    /// The latest reading of the clock under the lock: the schedule is never changed at an earlier one.
    latest: i64,
    /// (time, slots started) every [`SAMPLE_NS`], for the last second and a little more.
    samples: VecDeque<(i64, u64)>,
}

/// Counts slots beyond the range of a position.
#[derive(Debug, Default)]
struct Odometer {
    position: u64,
    slots: u64,
}

/// How often the books are kept, at least, while slots are claimed without the lock.
const BOOKS_NS: i64 = 10_000_000;
const SAMPLE_NS: i64 = 100_000_000;
const MOST_SAMPLES: usize = 11;

/// When a slot may start, as things stood at `now`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// The state of the face that this was read from: while it stays, so does the plan.
    pub(crate) gate: u64,
    pub(crate) now: i64,
    pub(crate) intended: i64,
    /// `i64::MAX` while paused.
    pub(crate) release: i64,
}

impl Plan {
    pub(crate) fn is_due(&self) -> bool {
        self.release <= self.now
    }

    /// While paused there is no telling; then only a deadline that has come rules it out.
    pub(crate) fn can_start_by(&self, deadline: i64) -> bool {
        if self.release == i64::MAX { self.now < deadline } else { self.release <= deadline }
    }

    pub(crate) fn refusal(&self) -> Refused {
        if self.release == i64::MAX {
            Refused::Paused
        } else {
            Refused::NotUntil(Nanos::from_signed(self.release))
        }
    }
}

/// Slots granted, skipped, and overdue, beside the account of time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub(crate) account: Account,
    pub(crate) granted: u64,
    pub(crate) skipped: u64,
    pub(crate) overdue: u64,
    pub(crate) per_second: f64,
}

impl Timeline {
    pub(crate) fn new(timebase: Timebase, now: i64) -> Timeline {
        let book = Book {
            timebase,
            returned: Returned::default(),
            closed: false,
            skipped: 0,
            latest: now,
            odometer: Odometer::default(),
            samples: VecDeque::with_capacity(MOST_SAMPLES),
        };
        let timeline = Timeline {
            allocated: CachePadded::new(AtomicU64::new(0)),
            face: CachePadded::new(Face::new()),
            book: CachePadded::new(Mutex::new(book)),
        };
        timeline.publish(&timeline.book.lock(), now, true);
        timeline
    }

    #[inline]
    pub(crate) fn gate(&self) -> u64 {
        self.face.gate()
    }

    /// The hot path: takes a slot. With the moment at which it was seen to be due, if it was.
    ///
    /// Two loads of one line and one addition: what is read before the addition does not lengthen it.
    #[inline]
    pub(crate) fn claim_fast(&self) -> (u64, Option<u64>) {
        let (horizon, seen) = self.face.last_seen();
        let position = self.add(SLOT);
        (position, (ticks_between(position, horizon) >= 0).then_some(seen))
    }

    #[inline]
    fn add(&self, ticks: u64) -> u64 {
        // Relaxed: a claim must be unique, not ordered; nothing else is published through the word.
        // Model: `claims_are_unique`.
        self.allocated.fetch_add(ticks, Relaxed)
    }

    fn next(&self) -> u64 {
        // Relaxed: as in `add`; whoever acts on it does so by compare-and-swap. Model: `skips_are_counted_once`.
        self.allocated.load(Relaxed)
    }

    /// Moves the word from what was seen there; false when someone else has moved it.
    fn exchange(&self, seen: u64, new: u64) -> bool {
        // Relaxed: as in `add`. Models: `claims_are_unique`, `skips_are_counted_once`.
        self.allocated.compare_exchange(seen, new, Relaxed, Relaxed).is_ok()
    }

    /// Takes up to `slots` in a row, as the positions from start to end; returned ones first, one by one.
    pub(crate) fn claim(&self, slots: u64, clock: &dyn Clock) -> Result<(u64, u64), Closed> {
        if self.face.gate() & COLD == 0 {
            return Ok(self.add_slots(slots));
        }
        let mut book = self.book.lock();
        if book.closed {
            return Err(Closed);
        }
        let returned = self.take_returned(&mut book, clock);
        Ok(returned.map_or_else(|| self.add_slots(slots), |start| (start, start.wrapping_add(SLOT))))
    }

    fn add_slots(&self, slots: u64) -> (u64, u64) {
        let ticks = slots.wrapping_mul(SLOT);
        let start = self.add(ticks);
        (start, start.wrapping_add(ticks))
    }

    fn take_returned(&self, book: &mut Book, clock: &dyn Clock) -> Option<u64> {
        let position = book.returned.take_first()?;
        if book.returned.is_empty() {
            let now = book.now(clock);
            self.publish(book, now, false);
        }
        Some(position)
    }

    /// Takes exactly `slots` in a row, all of them new; refuses where positions would wrap.
    pub(crate) fn claim_row(&self, slots: u64, clock: &dyn Clock) -> Result<u64, Refused> {
        let mut book = self.book.lock();
        if book.closed {
            return Err(Refused::Closed);
        }
        let now = book.now(clock);
        book.observe(self.next(), now);
        let ahead = ticks_between(book.timebase.reached(now), self.next());
        if ahead > REACH / 4 { Err(Refused::TooFarAhead) } else { Ok(self.add_slots(slots).0) }
    }

    /// Takes the next slot if it can start by `deadline`.
    pub(crate) fn try_claim(&self, deadline: i64, clock: &dyn Clock) -> Result<u64, Refused> {
        loop {
            let mut book = self.book.lock();
            let next = self.next();
            let first = book.returned.first().unwrap_or(next);
            let plan = self.plan_with(&mut book, first, clock)?;
            if !plan.can_start_by(deadline) {
                return Err(plan.refusal());
            }
            if let Some(position) = self.take_returned(&mut book, clock) {
                return Ok(position);
            }
            if self.exchange(next, next.wrapping_add(SLOT)) {
                return Ok(next);
            }
        }
    }

    /// The hot path of `try_claim`: takes the next slot if it is due as far as anyone has seen.
    pub(crate) fn try_claim_fast(&self) -> Option<(u64, u64)> {
        let (horizon, seen) = self.face.last_seen();
        let next = self.next();
        let is_due = ticks_between(next, horizon) >= 0;
        (is_due && self.exchange(next, next.wrapping_add(SLOT))).then_some((next, seen))
    }

    /// When the slot at `position`, which started at `start`, was intended to.
    pub(crate) fn intended(&self, position: u64, start: u64) -> i64 {
        match self.face.view().filter(|view| view.tells(position)) {
            Some(view) => view.intended(position),
            None => self.book.lock().timebase.intended_at(position, start.cast_signed()),
        }
    }

    /// When the slot at `position` may start.
    pub(crate) fn plan(&self, position: u64, clock: &dyn Clock) -> Result<Plan, Closed> {
        match self.face.view().filter(|view| view.is_open() && view.tells(position)) {
            Some(view) => {
                let now = clock.now().signed();
                let intended = view.intended(position);
                // A clock read under a line that has been replaced says nothing: the lock then tells.
                if self.face.gate() == view.gate() {
                    return Ok(Plan { gate: view.gate(), now, intended, release: intended });
                }
                self.plan_with(&mut self.book.lock(), position, clock)
            }
            None => self.plan_with(&mut self.book.lock(), position, clock),
        }
    }

    fn plan_with(&self, book: &mut Book, position: u64, clock: &dyn Clock) -> Result<Plan, Closed> {
        if book.closed {
            return Err(Closed);
        }
        let now = book.now(clock);
        self.tidy(book, now);
        Ok(self.plan_at(book, position, now))
    }

    fn plan_at(&self, book: &Book, position: u64, now: i64) -> Plan {
        let (intended, release) = (book.timebase.intended(position), book.timebase.release(position));
        Plan { gate: self.face.gate(), now, intended, release }
    }

    /// Shows a claim to the late policy. `None`: the claim was skipped.
    pub(crate) fn admit(
        &self,
        position: u64,
        slots: u64,
        plan: Plan,
        clock: &dyn Clock,
    ) -> Result<Option<Plan>, Closed> {
        match self.view_of(&plan, position) {
            Some(view) if plan.now.saturating_sub(plan.release) <= view.patience.limit_ns => Ok(Some(plan)),
            _ => self.judge(position, slots, clock),
        }
    }

    /// What tells when the slot at `position` starts, if it is still what the plan was made by.
    fn view_of(&self, plan: &Plan, position: u64) -> Option<View> {
        self.face.view().filter(|view| view.gate() == plan.gate && view.is_open() && view.tells(position))
    }

    /// Moves the last-seen clock for the callers to come, to what the plan of these slots has shown.
    pub(crate) fn refresh(&self, position: u64, slots: u64, plan: &Plan) {
        let last = position.wrapping_add(slots.wrapping_mul(SLOT)).wrapping_sub(SLOT);
        let (_, seen) = self.face.last_seen();
        if let Some(view) = self.view_of(plan, last).filter(|_| plan.is_due()) {
            self.face.extend(plan.gate, view.horizon(last, plan.now), plan.now);
        }
        self.keep_books(seen.cast_signed(), plan.now);
    }

    /// Every now and then, if nobody else is about to: nothing waits for it, and the lock is everybody's.
    pub(crate) fn keep_books(&self, before: i64, now: i64) {
        if before / BOOKS_NS == now / BOOKS_NS {
            return;
        }
        if let Some(mut book) = self.book.try_lock() {
            book.observe(self.next(), now);
            if book.timebase.tidy(self.next(), now) {
                self.publish(&book, now, true);
            }
        }
    }

    /// How many slots a lane may take at once from `position` on; one where that takes more than a look at the face.
    pub(crate) fn block(&self, plan: &Plan, position: u64) -> u64 {
        let ticks = self.view_of(plan, position).map_or(0, |view| view.stride(position, plan.now));
        (ticks.unsigned_abs() / SLOT).max(1)
    }

    /// The same for a lane that has not looked yet.
    pub(crate) fn first_block(&self, clock: &dyn Clock) -> u64 {
        let next = self.next();
        self.plan(next, clock).map_or(1, |plan| self.block(&plan, next))
    }

    /// Of the slots from `start` to `end`, those that are due by the plan's reading of the clock.
    pub(crate) fn due(&self, plan: &Plan, start: u64, end: u64) -> Due {
        self.view_of(plan, start).map_or_else(Due::default, |view| view.due(start, end, plan.now))
    }

    fn tidy(&self, book: &mut Book, now: i64) {
        let changed = book.timebase.tidy(self.next(), now);
        self.publish(book, now, changed);
    }

    /// Whether lateness is never made up for; also where that can't be told just now.
    pub(crate) fn is_strict(&self) -> bool {
        self.face.view().is_none_or(|view| view.patience.limit_ns == 0)
    }

    /// How long a pause may overrun where slots are less than `spared_ns` apart: half of the lateness that is freely made up
    /// for. The other half is for what it overruns unasked.
    pub(crate) fn leeway_ns(&self, spared_ns: i64) -> i64 {
        let view = self.face.view().filter(|view| view.interval_ns() < spared_ns);
        view.map_or(0, |view| view.patience.limit_ns / 2)
    }

    /// A strict schedule does not make up for what its own pauses overrun either.
    pub(crate) fn overslept(&self, position: u64, plan: &Plan, clock: &dyn Clock) {
        if self.is_strict() && plan.now > plan.release {
            let mut book = self.book.lock();
            let now = book.now(clock);
            if book.timebase.overslept(position, now) {
                self.publish(&book, now, true);
            }
        }
    }

    /// The late policy, under the lock.
    fn judge(&self, position: u64, slots: u64, clock: &dyn Clock) -> Result<Option<Plan>, Closed> {
        let mut book = self.book.lock();
        if book.closed {
            return Err(Closed);
        }
        let now = book.now(clock);
        book.observe(self.next(), now);
        let cut = book.timebase.cut_to_range(position, now);
        if let Some(target) = book.timebase.skip_target(position, now) {
            self.skip(&mut book, slots, target, now);
            return Ok(None);
        }
        let changed = cut | book.timebase.late(position, now) | book.timebase.tidy(self.next(), now);
        self.publish(&book, now, changed);
        Ok(Some(self.plan_at(&book, position, now)))
    }

    /// Moves claims on to `target`; every slot passed over is counted, once.
    fn skip(&self, book: &mut Book, claimed: u64, target: u64, now: i64) {
        book.skipped += claimed;
        loop {
            let next = self.next();
            let passed = ticks_between(next, target);
            if passed <= 0 {
                break;
            }
            if self.exchange(next, target) {
                book.skipped += passed.unsigned_abs() / SLOT;
                break;
            }
        }
        book.timebase.skipped_to(self.next(), now);
        self.publish(book, now, true);
    }

    /// Gives back what was taken and not started. True when sleepers should look again.
    pub(crate) fn give_back(&self, start: u64, end: u64, clock: &dyn Clock) -> bool {
        let mut book = self.book.lock();
        if start == end {
            return false;
        }
        let now = book.now(clock);
        if self.exchange(end, start) {
            // Who claims it next is not to start on the reading that it was first seen to be due by.
            if ticks_between(start, self.face.last_seen().0) >= 0 {
                self.publish(&book, now, true);
            }
            return false;
        }
        book.returned.put(start, end);
        self.publish(&book, now, true);
        true
    }

    /// Swaps a slot that was taken and not started for an earlier one that was given back, if there is one.
    pub(crate) fn prefer_returned(&self, position: u64, clock: &dyn Clock) -> u64 {
        if self.face.gate() & RETURNED == 0 {
            return position;
        }
        let mut book = self.book.lock();
        let is_earlier = book.returned.first().is_some_and(|first| ticks_between(first, position) > 0);
        if is_earlier && self.exchange(position.wrapping_add(SLOT), position) {
            return self.take_returned(&mut book, clock).unwrap_or(position);
        }
        book.returned.exchange(position)
    }

    /// Changes the timebase in one step. The caller wakes the sleepers.
    pub(crate) fn change(&self, clock: &dyn Clock, edit: impl FnOnce(&mut Timebase, i64)) {
        let mut book = self.book.lock();
        let now = book.now(clock);
        book.observe(self.next(), now);
        edit(&mut book.timebase, now);
        self.publish(&book, now, true);
    }

    pub(crate) fn close(&self, clock: &dyn Clock) {
        let mut book = self.book.lock();
        book.closed = true;
        let now = book.now(clock);
        self.publish(&book, now, true);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.face.gate() & CLOSED != 0
    }

    pub(crate) fn with_timebase<T>(&self, read: impl FnOnce(&Timebase) -> T) -> T {
        read(&self.book.lock().timebase)
    }

    pub(crate) fn read(&self, clock: &dyn Clock) -> Reading {
        let mut book = self.book.lock();
        let now = book.now(clock);
        let next = self.next();
        book.observe(next, now);
        book.reading(next, now)
    }

    /// Publishes the timebase, as far as it is due at `now`; plans that were made stay good unless it `changed`.
    fn publish(&self, book: &Book, now: i64, changed: bool) {
        let next = self.next();
        let (&Segment { from, line, .. }, _) = book.timebase.segment(next);
        let unusable = book.closed || book.timebase.is_paused() || !book.returned.is_empty();
        let flag = |set: bool, flag: u64| if set { flag } else { 0 };
        let flags = flag(unusable, COLD)
            | flag(book.closed, CLOSED)
            | flag(!book.returned.is_empty(), RETURNED)
            | flag(!book.timebase.is_plain(next), INTRICATE);
        let horizon = if unusable {
            next.wrapping_add_signed(-REACH)
        } else {
            book.timebase.horizon(next.wrapping_sub(SLOT), now)
        };
        let facts =
            Facts { flags, from, line, horizon, seen: now.max(0), patience: book.timebase.patience() };
        if changed || !self.face.shows(&facts) {
            self.face.write(&facts);
        } else {
            self.face.extend(self.face.gate(), horizon, facts.seen);
        }
    }
}

impl Book {
    fn now(&mut self, clock: &dyn Clock) -> i64 {
        self.latest = self.latest.max(clock.now().signed());
        self.latest
    }

    /// Keeps the counts; every cold path comes by here.
    fn observe(&mut self, next: u64, now: i64) {
        let slots = self.odometer.roll(next);
        let due = self.samples.back().is_none_or(|&(time, _)| now.saturating_sub(time) >= SAMPLE_NS);
        if due {
            if self.samples.len() == MOST_SAMPLES {
                self.samples.pop_front();
            }
            let started = self.started_slots(slots, next, now);
            self.samples.push_back((now, started));
        }
    }

    /// Of `slots` claimed, those that may have started by now.
    fn started_slots(&self, slots: u64, next: u64, now: i64) -> u64 {
        let reached = self.timebase.reached(now);
        let ahead = (ticks_between(reached, next) - 1).max(0).unsigned_abs() / SLOT;
        slots.saturating_sub(ahead + self.skipped + self.returned.due_slots(reached))
    }

    fn reading(&self, next: u64, now: i64) -> Reading {
        let slots = self.odometer.slots;
        let mut account = self.timebase.account(next, now);
        for &(start, end) in self.returned.ranges() {
            // Exact while the pieces it lies on are remembered; never more than there is.
            let unused = self.timebase.unused(start, end, now).min(account.allocated);
            account.allocated -= unused;
            account.backlog += unused;
        }
        let reached = self.timebase.reached(now);
        let unclaimed = (ticks_between(next, reached) + SLOT.cast_signed()).max(0).unsigned_abs() / SLOT;
        Reading {
            account,
            granted: slots.saturating_sub(self.skipped + self.returned.slots()),
            skipped: self.skipped,
            overdue: unclaimed + self.returned.due_slots(reached),
            per_second: self.per_second(self.started_slots(slots, next, now), now),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a figure to be shown")]
    fn per_second(&self, started: u64, now: i64) -> f64 {
        let a_second_ago = |&&(time, _): &&(i64, u64)| now.saturating_sub(time) >= 1_000_000_000;
        let since = self.samples.iter().rev().find(a_second_ago).or(self.samples.front());
        let Some(&(time, before)) = since else { return 0.0 };
        let nanos = now.saturating_sub(time);
        if nanos <= 0 { 0.0 } else { started.saturating_sub(before) as f64 * 1e9 / nanos as f64 }
    }
}

impl Odometer {
    fn roll(&mut self, position: u64) -> u64 {
        let slots = ticks_between(self.position, position) / SLOT.cast_signed();
        self.slots = self.slots.saturating_add_signed(slots);
        self.position = position;
        self.slots
    }
}
