//! Computes when each slot starts, how late starts change the schedule, and how its time was used.
//!
//! This module is plain data and arithmetic, without atomics and without a clock: every time is an argument, in
//! nanoseconds. The timeline has the lock under which a schedule is read and changed.
//!
//! # Words
//!
//! * `now` is the clock's reading. `time` is the schedule's time, which stops while the pacer is paused. When the
//!   pacer is resumed, all times of the schedule move later by the length of the pause. The segments of the history do
//!   not contain pauses: all their times are times of the schedule.
//! * A slot's *intended* start is its time on the schedule. Its *release* is the time from which it may start. The two
//!   differ only while time is owed.
//! * A slot is *settled* once it has been judged, or counts as judged: `settled` is the last such position.
//! * Time is *forfeited* when a late start moves the slots after it. The forfeited time is `idle` in the account.
//! * `asked` counts the slots that the load would have if no time had been forfeited.
//! * Time is *owed* when a late start moves no slot, but the slots after it may start at no more than a multiple of
//!   the rate. The segment with that multiple of the rate is the *catch-up*. Slots that the catch-up has reached are
//!   *paid*. No more time is owed when the catch-up has reached the schedule.
//!
//! # Rules
//!
//! * A slot's position never changes, only the time of that position. A claim therefore can't race with a change of
//!   the rate.
//! * A slot is judged once, when it starts. Nothing changes the intended start of a settled slot.
//! * The time that a start forfeits moves the slots after it. A *straggler* is a slot that starts after a later slot
//!   has started. It moves no slots, because the later slot had started by the schedule from before the straggler's
//!   start.
//! * A burst ratio does not move intended starts, but adds a second line, `catch_up`. A slot may start when both lines
//!   have reached it. This applies two rates at once, as in the dual GCRA of ATM (ITU-T I.371). The lines meet when
//!   all owed time has been made up for.
//!
//! Under strict this is GCRA's virtual scheduling algorithm without a tolerance (ITU-T I.371): intended starts are its
//! theoretical arrival times, and each one counts from the previous actual start if that start was late. Other
//! strictnesses move the intended starts less. Slots of equal size, on an axis along which time runs at the rate, are
//! virtual time, as in `VirtualClock` (Zhang, 1990).

mod account;
mod asked;
mod curve;
mod curve_fit;
mod end;
mod history;
mod late_starts;
mod line;
mod load;
mod policy;
mod progress;
mod segment;
mod slots;
mod stretch;

use crate::lease::Lease;
use crate::position::{RANGE, after, before, earlier, first_after, later, ticks_between};
use crate::shape::Shape;
use crate::shard::Shard;
use crate::strictness::Rule;
use crate::{Rate, Strictness};
pub(crate) use account::Account;
use asked::Asked;
use curve::ONE_Q32;
pub(crate) use end::End;
use history::History;
pub(crate) use late_starts::Fate;
pub(crate) use line::Line;
pub(crate) use load::Load;
pub(crate) use policy::Policy;
use segment::{Segment, Speed};
pub(crate) use slots::Slots;
use std::cell::Cell;
pub(crate) use stretch::{Numbering, Stretch};

/// The maximum number of past recorded arrivals that are kept, for slots that callers hold.
const MOST_ARRIVALS: u64 = 1 << 20;

/// The schedule of one pacer. The lock of the timeline guards it.
#[derive(Debug)]
pub(crate) struct Schedule {
    history: History,
    load: Load,
    /// The time at which the load began.
    origin: i64,
    policy: Policy,
    end: End,
    /// The revision for which the end was last computed, and the position of the end in that revision.
    found_end: Cell<(u64, Option<u64>)>,
    /// The segment along which owed time is made up for, or `None` if no time is owed. A slot may start only when this
    /// segment has reached it, too.
    catch_up: Option<Segment>,
    /// Slots up to this position count as started and are not judged again. Kept up to date only under a late policy.
    settled: u64,
    /// The time at which the schedule began.
    began: i64,
    /// The time at which the pause began, or `None` if the pacer is not paused.
    paused_since: Option<i64>,
    /// Whether the pause ends at the first use.
    starts_on_use: bool,
    /// The total length of all completed pauses, in nanoseconds.
    pauses_ns: i64,
    /// The total time that has been forfeited, in nanoseconds.
    idle: i64,
    /// The load's own count of slots. `None` until time is forfeited.
    asked: Option<Box<Asked>>,
}

impl Schedule {
    /// Creates a schedule that begins now.
    pub(crate) fn new(load: Load, slots: Slots, policy: Policy, end: End, now: i64) -> Schedule {
        let end = end.with_shape(load.end(now));
        Schedule {
            history: History::new(&load.speed(&slots, now, ONE_Q32), slots, now),
            load,
            origin: now,
            policy,
            end,
            found_end: Cell::new((u64::MAX, None)),
            catch_up: None,
            settled: before(0),
            began: now,
            paused_since: None,
            starts_on_use: false,
            pauses_ns: 0,
            idle: 0,
            asked: None,
        }
    }

    pub(crate) fn load(&self) -> &Load {
        &self.load
    }

    /// Returns the rate at `now`, or the slowest rate if the rate is lower or zero.
    pub(crate) fn rate(&self, now: i64) -> Rate {
        match &self.load {
            Load::Rate(rate) => *rate,
            Load::Shape(shape) => {
                let elapsed = self.schedule_time(now).saturating_sub(self.origin);
                Rate::from_hz(shape.rate_at_ns(elapsed).min(Rate::FASTEST.as_hz()))
                    .unwrap_or(Rate::SLOWEST)
            }
        }
    }

    /// Returns a number that grows with every change that moves a slot or the end.
    pub(crate) fn revision(&self) -> u64 {
        self.history.revision() + self.end.revision()
    }

    pub(crate) fn policy(&self) -> &Policy {
        &self.policy
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.paused_since.is_some()
    }

    /// Returns whether an arrival process determines the times of slots.
    pub(crate) fn has_arrivals(&self) -> bool {
        self.history.slots().has_arrivals()
    }

    /// Returns the longest stretch around the slot at `position` on which slots lie on one line, straight or bent. The
    /// stretch ends where the schedule has no more slots. Returns `None` if slots are unevenly spaced at that
    /// position, are not known yet or never start, or if the slot at `position` lies on a piece that was forgotten.
    pub(crate) fn stretch(&self, position: u64) -> Option<Stretch> {
        let stretch = self.history.stretch(position)?;
        Some(Stretch { ends_at: self.before_end(stretch.ends_at), ..stretch })
    }

    /// Returns the first position after the last slot, or `None` if that position is out of range or not known yet.
    #[inline]
    pub(crate) fn end(&self) -> Option<u64> {
        if self.found_end.get().0 != self.revision() {
            let end = self.end.position(&self.history);
            self.found_end.set((self.revision(), end));
        }
        self.found_end.get().1
    }

    /// Returns `position`, or the last position before the end if that is earlier.
    fn before_end(&self, position: u64) -> u64 {
        self.end().map_or(position, |end| earlier(position, end.wrapping_sub(1)))
    }

    /// Returns whether the schedule ends before the slot at `position`, so that there is no such slot.
    pub(crate) fn ends_before(&self, position: u64) -> bool {
        self.is_after_end(position) || !self.history.slots().has(position)
    }

    /// Returns whether `position` lies after the end by count, duration or shape. A recording or leases may have fewer
    /// slots.
    #[inline]
    fn is_after_end(&self, position: u64) -> bool {
        match self.end() {
            Some(end) => ticks_between(end, position) >= 0,
            // The end lies farther ahead than the slots that are known.
            None => self.end.is_by_time() && self.end.is_past(self.intended(position)),
        }
    }

    /// Returns the number of the slot at `position` in the whole load, or `None` if it is not known yet.
    #[inline]
    pub(crate) fn slot(&self, position: u64) -> Option<u64> {
        self.history.slots().slot(position)
    }

    /// Returns the time at which the slot at `position` is intended to start.
    #[inline]
    pub(crate) fn intended(&self, position: u64) -> i64 {
        self.history.time_of(position)
    }

    /// Returns the slots that are due at `now`, beginning at `position`: the intended start of each, and its number in
    /// the whole load. A slot that does not exist is never due.
    pub(crate) fn due_from(&self, position: u64, now: i64) -> impl Iterator<Item = (i64, u64)> {
        (0..).map_while(move |slots| {
            let position = after(position, slots);
            let intended = self.intended(position);
            let is_due = intended <= now && !self.is_after_end(position);
            Some(intended).filter(|_| is_due).zip(self.slot(position))
        })
    }

    /// Returns the time from which the slot at `position` may start, unless the pacer is paused. It is later than the
    /// intended start while time is owed. At the end of a shape, all its slots may start, even if time is owed.
    pub(crate) fn release(&self, position: u64) -> i64 {
        let caught_up = self.catch_up.as_ref().map_or(i64::MIN, |segment| {
            segment.time_of(position, self.history.slots()).min(self.end.of_shape())
        });
        self.intended(position).max(caught_up)
    }

    /// Returns the last position that is released by `now`.
    pub(crate) fn reached(&self, now: i64) -> u64 {
        let time = self.schedule_time(now);
        let intended = self.intended_within(0, now);
        self.paid(time).map_or(intended, |paid| earlier(paid, intended))
    }

    /// Returns the position that the catch-up has reached by `time`: slots after it have to wait. Returns `None` if no
    /// time is owed. When a shape ends, owed time becomes backlog, so no time is owed after that.
    fn paid(&self, time: i64) -> Option<u64> {
        let segment = self.catch_up.as_ref().filter(|_| time < self.end.of_shape())?;
        let paid = segment.position_at(time, self.history.slots());
        (ticks_between(paid, self.history.position_at(time)) > 0).then_some(paid)
    }

    /// Returns the last position that is intended to start at most `span_ns` after now. If the pacer is paused,
    /// `span_ns` counts from the beginning of the pause.
    pub(crate) fn intended_within(&self, span_ns: i64, now: i64) -> u64 {
        let time = self.schedule_time(now).saturating_add(span_ns);
        self.before_end(self.history.position_at(time))
    }

    /// Returns the schedule's time, which stops while the pacer is paused.
    fn schedule_time(&self, now: i64) -> i64 {
        self.paused_since.unwrap_or(now)
    }

    /// Returns the average time between this process's slots at `now`, in nanoseconds, for the slots from `position`
    /// on.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "saturates, as it should"
    )]
    pub(crate) fn interval_ns(&self, position: u64, now: i64) -> i64 {
        let of_load = self.history.current().interval_ns(self.schedule_time(now));
        (of_load as f64 / self.history.slots().share_from(position)) as i64
    }

    /// Returns the schedule's time, which stops when the schedule has ended, so that the backlog does not grow after
    /// the end.
    fn time_until_end(&self, now: i64) -> i64 {
        self.schedule_time(now).min(self.end.moment(&self.history))
    }

    /// Records that `claimed` slots lie before the position `next`. Must be called at least once for every 2^47 slots
    /// that are claimed, because positions wrap around after more.
    pub(crate) fn count_claimed(&mut self, next: u64, claimed: u64) {
        self.history.count_claimed(next, claimed);
        self.end.count_claimed(next, claimed);
    }

    /// Sets the rate at `now`. The fraction of the current interval that has passed stays passed.
    pub(crate) fn set_rate(&mut self, rate: Rate, now: i64) {
        if !matches!(self.load, Load::Rate(current) if current == rate) {
            self.set_load(Load::Rate(rate), self.schedule_time(now));
        }
    }

    /// Sets the shape, which begins at `now`.
    pub(crate) fn set_shape(&mut self, shape: Shape, now: i64) {
        self.set_load(shape.into(), self.schedule_time(now));
    }

    /// From `now` on, gives slots the times of a load that has followed `shape` since the current load began, with
    /// slot 0 at that beginning. There must not have been another load before the current one.
    pub(crate) fn correct_shape(&mut self, shape: Shape, now: i64) {
        let time = self.schedule_time(now);
        self.drop_paid(time);
        if self.end.is_over(time) {
            // The end by duration is past, so the new shape is ignored. The old load is anchored at `time`, so that slots
            // which are leased later get starts after the end.
            return self.follow_load(time);
        }
        self.history.correct(&shape, self.origin, time);
        // Slots now have the times of the load, as if no time had been forfeited.
        self.idle = 0;
        self.asked = None;
        // A constant rate becomes a shape, too, because the load began at `origin`, before the anchor, and a
        // line can't begin before its anchor.
        self.load = Load::Shape(Box::new(shape));
        // A shape that has already ended ends now.
        self.end = self.end.with_shape(self.load.end(self.origin).max(time));
        self.rescale_catch_up(time);
    }

    /// Replaces the load from `time` on.
    fn set_load(&mut self, load: Load, time: i64) {
        self.drop_paid(time);
        self.change_asked(time);
        (self.load, self.origin) = (load, time);
        self.end = self.end.with_shape(self.load.end(time));
        self.follow_load(time);
    }

    /// Gives slots the times of the current load, from `time` on.
    fn follow_load(&mut self, time: i64) {
        self.history.append(&self.speed(ONE_Q32), time);
        self.rescale_catch_up(time);
    }

    /// Returns the load's speed at `ratio_q32` times its rate. The ratio is in units of 2^-32.
    fn speed(&self, ratio_q32: u64) -> Speed {
        self.load.speed(self.history.slots(), self.origin, ratio_q32)
    }

    /// Gives this process the slots of `shard`, beginning with the slot with the number `from` in the whole load. If
    /// the process has a slot with that number or a higher one whose position is before `next`, returns false, and no
    /// slot moves. Slots at `next` and later may still move.
    pub(crate) fn set_shard(&mut self, shard: Shard, from: u64, next: u64, now: i64) -> bool {
        self.leave_line(from, next, now);
        self.history.set_shard(shard, from, next)
    }

    /// Turns a line into a curve of the same rate, because only a curve can have the slots of a shard or lease. For
    /// this, before the first shard or lease is set, the whole load is entered as a shard. That moves no slot: the
    /// curve begins at the count that the line has reached. If the slot with the number `from` lies before the
    /// position `first`, this method changes nothing, because the shard or lease will be refused.
    fn leave_line(&mut self, from: u64, first: u64, now: i64) {
        if self.history.slots().is_plain() && self.history.set_shard(Shard::whole(), from, first) {
            self.follow_load(self.schedule_time(now));
        }
    }

    /// Gives this process the slots of these leases, beginning with the slot with the number `from` in the whole load,
    /// and no slots yet after the leases. If a slot in this range may have started, returns false, and no slot moves.
    /// A slot that is intended to start within `sleep_threshold_ns` counts as one that may have started, because another
    /// thread may start it without the lock.
    pub(crate) fn lease(
        &mut self,
        from: u64,
        leases: &[Lease],
        sleep_threshold_ns: i64,
        now: i64,
    ) -> bool {
        let not_started = first_after(self.intended_within(sleep_threshold_ns, now));
        self.leave_line(from, not_started, now);
        self.history.lease(from, leases, not_started)
    }

    /// Gives this process the slots of these leases, beginning with the first slot that may be leased, but not before
    /// `from`. Returns the number of the slot at which the leases begin.
    pub(crate) fn lease_rest(
        &mut self,
        from: u64,
        leases: &[Lease],
        sleep_threshold_ns: i64,
        now: i64,
    ) -> u64 {
        let not_started = first_after(self.intended_within(sleep_threshold_ns, now));
        let from = from.max(self.history.first_leasable(not_started));
        self.lease(from, leases, sleep_threshold_ns, now);
        from
    }

    pub(crate) fn set_strictness(&mut self, strictness: Strictness, now: i64) {
        self.policy.strictness = strictness;
        self.rescale_catch_up(self.schedule_time(now));
    }

    pub(crate) fn set_max_backlog(&mut self, limit: Option<i64>) {
        self.policy.max_backlog = limit;
    }

    pub(crate) fn set_skip_later_than(&mut self, limit: Option<i64>) {
        self.policy.skip_later_than = limit;
    }

    /// From `time` on, makes up for owed time at the current burst ratio. Without a ratio, owed time becomes backlog,
    /// which the new policy judges.
    fn rescale_catch_up(&mut self, time: i64) {
        self.catch_up = match (self.policy.strictness.rule(), &self.catch_up) {
            (Rule::Burst(ratio), Some(segment)) => {
                Some(segment.continued(&self.speed(ratio), time, self.history.slots()))
            }
            _ => None,
        };
    }

    /// Stops the schedule's time.
    pub(crate) fn pause(&mut self, now: i64) {
        self.starts_on_use = false;
        self.paused_since.get_or_insert(now);
    }

    /// Stops the schedule's time until a caller first tries to claim a slot.
    pub(crate) fn pause_until_used(&mut self, now: i64) {
        self.pause(now);
        self.starts_on_use = true;
    }

    /// Ends the pause if it was to last until a caller tries to claim a slot.
    pub(crate) fn resume_on_use(&mut self, now: i64) {
        if self.starts_on_use {
            self.resume(now);
        }
    }

    /// Continues the schedule's time. The lateness of each slot stays the same.
    pub(crate) fn resume(&mut self, now: i64) {
        self.starts_on_use = false;
        let Some(since) = self.paused_since.take() else { return };
        let pause = now.saturating_sub(since).max(0);
        self.pauses_ns = self.pauses_ns.saturating_add(pause);
        self.history.shift(pause);
        self.end.shift(pause);
        self.origin = self.origin.saturating_add(pause);
        if let Some(segment) = &mut self.catch_up {
            segment.shift(pause);
        }
        if let Some(asked) = &mut self.asked {
            asked.shift(pause);
        }
    }

    /// Tidies up: ends a catch-up that has reached the schedule, moves anchors forward long before they are out of
    /// reach, and drops data that is no longer needed. `next` is the next position to be claimed, and `free` is the
    /// earliest position that a caller can get. `is_held` returns whether a caller may read a slot between two
    /// positions, although it lies before `free`.
    pub(crate) fn tidy(
        &mut self,
        next: u64,
        free: u64,
        now: i64,
        is_held: impl Fn(u64, u64) -> bool,
    ) {
        let time = self.schedule_time(now);
        self.drop_paid(time);
        let slots = self.history.slots();
        if let Some(segment) = self.catch_up.as_mut().filter(|segment| segment.is_far(next, time)) {
            *segment = segment.continued(&segment.speed(), time, slots);
        }
        if self.history.current().is_far(next, time) && !self.ends_before(next) {
            self.history.append(&self.history.current().speed(), time);
        }
        // A slot that a caller holds can still forfeit time when it starts.
        let is_judged = !self.policy.is_open_loop();
        let free = if is_judged { earlier(free, after(self.settled, 1)) } else { free };
        self.history.trim(free, is_held);
        self.forget(next.wrapping_add_signed(-RANGE));
    }

    /// Reads recorded arrivals ahead of `next` and drops past ones, if many arrivals before `next` are in memory.
    /// `next` is the next position to be claimed. `earliest` returns the first slot that a caller holds or can get
    /// again.
    pub(crate) fn follow_arrivals(
        &mut self,
        next: u64,
        now: i64,
        earliest: impl FnOnce() -> Option<u64>,
    ) {
        let slots = self.history.slots();
        if slots.remembers_many_before(next) {
            if slots.read_ahead(next) {
                self.end.look_again();
            }
            let next = earlier(next, self.reached(now));
            let earliest = earliest().map_or(next, |earliest| earlier(earliest, next));
            // One more slot is kept: the count of a position between it and the next slot lies between their counts.
            slots
                .forget_before(before(later(earliest, next.wrapping_sub(after(0, MOST_ARRIVALS)))));
        }
    }

    /// Ends a catch-up if all owed time has been made up for, or if the shape has ended.
    fn drop_paid(&mut self, time: i64) {
        if self.paid(time).is_none() {
            self.catch_up = None;
        }
    }

    /// Drops everything before `position`: positions are unambiguous only within a range.
    fn forget(&mut self, position: u64) {
        self.history.forget(position);
        self.settled = later(self.settled, position);
    }
}
