//! Computes when each slot starts, how late starts move later slots, and how the schedule's time was used.
//!
//! The schedule uses no atomics and no clock: every time is an argument, in nanoseconds. The timeline's lock guards the
//! schedule.
//!
//! # Terms
//!
//! * `now` is the clock's reading. `time` is the schedule's time, which stops while the pacer is paused. A resume moves
//!   all times of the schedule later by the length of the pause.
//! * A slot's *intended* start is its time on the schedule. Its *release* is the time from which it may start. The two
//!   differ only while time is owed.
//! * A slot is *judged* when the late policy decides whether its lateness moves later slots. It is *settled* once it
//!   has been judged, or counts as judged.
//! * Time is *forfeited* when a late start moves the slots after it, or when lateness exceeds the range of positions.
//! * `asked` counts the slots that the load would have if no time had been forfeited.
//! * Time is *owed* when a late start moves no slot, but the slots after it may start at no more than a multiple of the
//!   rate. These slots follow the segment `catch_up` until `catch_up` reaches the schedule. Slots that `catch_up` has
//!   reached are *paid*.
//!
//! # Rules
//!
//! * A slot's position never changes, only the time of that position. A claim therefore can't race with a change of the
//!   rate.
//! * A slot is judged at most once, when it starts. The late policy never moves a settled slot.
//! * A *straggler* is a slot that starts after a later slot has started. It moves no slots, because the later slot has
//!   already started by the unchanged schedule.
//! * A slot may start when both the schedule and `catch_up` have reached it. This applies two rates at once, as in the
//!   dual GCRA of ATM (ITU-T I.371).
//!
//! Under strict, the schedule is GCRA's virtual scheduling algorithm without a tolerance (ITU-T I.371): intended starts
//! are GCRA's theoretical arrival times. Other strictnesses move the intended starts less. An axis with slots of equal
//! size, along which time runs at the rate, is virtual time, as in `VirtualClock` (Zhang, 1990).

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

/// The approximate maximum number of past recorded arrivals that are kept, for slots that callers hold.
const MOST_ARRIVALS: u64 = 1 << 20;

#[derive(Debug)]
pub(crate) struct Schedule {
    history: History,
    load: Load,
    origin: i64,
    policy: Policy,
    end: End,
    found_end: Cell<(u64, Option<u64>)>,
    /// The segment along which owed time is made up for. A slot may start only when this segment has reached it, too.
    catch_up: Option<Segment>,
    /// Slots up to this position are settled. Starts without the lock, in an open loop, do not move it.
    settled: u64,
    began: i64,
    paused_since: Option<i64>,
    starts_on_use: bool,
    pauses_ns: i64,
    idle: i64,
    /// `None` if no time has been forfeited since the beginning or the last correction of the load.
    asked: Option<Box<Asked>>,
}

impl Schedule {
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

    pub(crate) fn revision(&self) -> u64 {
        self.history.revision() + self.end.revision()
    }

    pub(crate) fn policy(&self) -> &Policy {
        &self.policy
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.paused_since.is_some()
    }

    pub(crate) fn has_arrivals(&self) -> bool {
        self.history.slots().has_arrivals()
    }

    pub(crate) fn stretch(&self, position: u64) -> Option<Stretch> {
        let stretch = self.history.stretch(position)?;
        Some(Stretch { ends_at: self.before_end(stretch.ends_at), ..stretch })
    }

    /// Returns the first position after the last slot. Returns `None` if there is no end, or if that position is out of
    /// range or not known yet.
    #[inline]
    pub(crate) fn end(&self) -> Option<u64> {
        if self.found_end.get().0 != self.revision() {
            let end = self.end.position(&self.history);
            self.found_end.set((self.revision(), end));
        }
        self.found_end.get().1
    }

    fn before_end(&self, position: u64) -> u64 {
        self.end().map_or(position, |end| earlier(position, end.wrapping_sub(1)))
    }

    pub(crate) fn ends_before(&self, position: u64) -> bool {
        self.is_after_end(position) || !self.history.slots().has(position)
    }

    /// Covers the ends by count, duration and shape. Recordings and leases may end earlier.
    #[inline]
    fn is_after_end(&self, position: u64) -> bool {
        match self.end() {
            Some(end) => ticks_between(end, position) >= 0,
            // The position of an end by time, if there is one, is not known yet.
            None => self.end.is_by_time() && self.end.is_past(self.intended(position)),
        }
    }

    #[inline]
    pub(crate) fn slot(&self, position: u64) -> Option<u64> {
        self.history.slots().slot(position)
    }

    #[inline]
    pub(crate) fn intended(&self, position: u64) -> i64 {
        self.history.time_of(position)
    }

    pub(crate) fn due_from(&self, position: u64, now: i64) -> impl Iterator<Item = (i64, u64)> {
        (0..).map_while(move |slots| {
            let position = after(position, slots);
            let intended = self.intended(position);
            let is_due = intended <= now && !self.is_after_end(position);
            Some(intended).filter(|_| is_due).zip(self.slot(position))
        })
    }

    /// When a shape ends, all its slots may start, even if time is owed.
    pub(crate) fn release(&self, position: u64) -> i64 {
        let caught_up = self.catch_up.as_ref().map_or(i64::MIN, |segment| {
            segment.time_of(position, self.history.slots()).min(self.end.of_shape())
        });
        self.intended(position).max(caught_up)
    }

    pub(crate) fn reached(&self, now: i64) -> u64 {
        let time = self.schedule_time(now);
        let intended = self.intended_within(0, now);
        self.paid(time).map_or(intended, |paid| earlier(paid, intended))
    }

    /// Returns `None` if no time is owed. At the end of a shape, owed time becomes backlog.
    fn paid(&self, time: i64) -> Option<u64> {
        let segment = self.catch_up.as_ref().filter(|_| time < self.end.of_shape())?;
        let paid = segment.position_at(time, self.history.slots());
        (ticks_between(paid, self.history.position_at(time)) > 0).then_some(paid)
    }

    /// While the pacer is paused, the span begins at the beginning of the pause.
    pub(crate) fn intended_within(&self, span_ns: i64, now: i64) -> u64 {
        let time = self.schedule_time(now).saturating_add(span_ns);
        self.before_end(self.history.position_at(time))
    }

    fn schedule_time(&self, now: i64) -> i64 {
        self.paused_since.unwrap_or(now)
    }

    /// Returns the average time between this process's slots from `position` on.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "saturates, as it should"
    )]
    pub(crate) fn interval_ns(&self, position: u64, now: i64) -> i64 {
        let of_load = self.history.current().interval_ns(self.schedule_time(now));
        (of_load as f64 / self.history.slots().share_from(position)) as i64
    }

    /// The schedule's time stops at the schedule's end, so that the backlog does not grow after the end.
    fn time_until_end(&self, now: i64) -> i64 {
        self.schedule_time(now).min(self.end.moment(&self.history))
    }

    /// `claimed` slots in total lie before the position `next`. Must be called at least once for every 2^47 claimed
    /// slots, because positions that are farther apart cannot be compared.
    pub(crate) fn count_claimed(&mut self, next: u64, claimed: u64) {
        self.history.count_claimed(next, claimed);
        self.end.count_claimed(next, claimed);
    }

    pub(crate) fn set_rate(&mut self, rate: Rate, now: i64) {
        if !matches!(self.load, Load::Rate(current) if current == rate) {
            self.set_load(Load::Rate(rate), self.schedule_time(now));
        }
    }

    pub(crate) fn set_shape(&mut self, shape: Shape, now: i64) {
        self.set_load(shape.into(), self.schedule_time(now));
    }

    /// There must not have been another load before the current one.
    pub(crate) fn correct_shape(&mut self, shape: Shape, now: i64) {
        let time = self.schedule_time(now);
        self.drop_paid(time);
        if self.end.is_over(time) {
            // The end by duration is past, so the new shape is ignored. The old load is anchored at `time`, so that
            // slots which are leased later get starts after the end.
            return self.follow_load(time);
        }
        self.history.correct(&shape, self.origin, time);
        // Slots now have the times of the load, as if no time had been forfeited.
        self.idle = 0;
        self.asked = None;
        // A constant rate becomes a shape, too: a line can't begin at `origin`, which is before its anchor.
        self.load = Load::Shape(Box::new(shape));
        // A shape that would already have ended ends at `time`.
        self.end = self.end.with_shape(self.load.end(self.origin).max(time));
        self.rescale_catch_up(time);
    }

    fn set_load(&mut self, load: Load, time: i64) {
        self.drop_paid(time);
        self.change_asked(time);
        (self.load, self.origin) = (load, time);
        self.end = self.end.with_shape(self.load.end(time));
        self.follow_load(time);
    }

    fn follow_load(&mut self, time: i64) {
        self.history.append(&self.speed(ONE_Q32), time);
        self.rescale_catch_up(time);
    }

    fn speed(&self, ratio_q32: u64) -> Speed {
        self.load.speed(self.history.slots(), self.origin, ratio_q32)
    }

    pub(crate) fn set_shard(&mut self, shard: Shard, from: u64, next: u64, now: i64) -> bool {
        self.leave_line(from, next, now);
        self.history.set_shard(shard, from, next)
    }

    /// Turns a line into a curve of the same rate: only a curve can have the slots of a shard or lease. Does nothing if
    /// the slot with the number `from` lies before the position `first`, because the shard or lease will be refused.
    fn leave_line(&mut self, from: u64, first: u64, now: i64) {
        if self.history.slots().is_plain() && self.history.set_shard(Shard::whole(), from, first) {
            self.follow_load(self.schedule_time(now));
        }
    }

    /// A slot that is intended to start within `sleep_threshold_ns` after `now` counts as started, because another
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

    /// Returns the number of the slot at which the leases begin.
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

    /// Without a burst ratio, owed time becomes backlog.
    fn rescale_catch_up(&mut self, time: i64) {
        self.catch_up = match (self.policy.strictness.rule(), &self.catch_up) {
            (Rule::Burst(ratio), Some(segment)) => {
                Some(segment.continued(&self.speed(ratio), time, self.history.slots()))
            }
            _ => None,
        };
    }

    pub(crate) fn pause(&mut self, now: i64) {
        self.starts_on_use = false;
        self.paused_since.get_or_insert(now);
    }

    pub(crate) fn pause_until_used(&mut self, now: i64) {
        self.pause(now);
        self.starts_on_use = true;
    }

    pub(crate) fn resume_on_use(&mut self, now: i64) -> bool {
        let is_first = self.starts_on_use;
        if is_first {
            self.resume(now);
        }
        is_first
    }

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

    /// Moves anchors forward long before they are out of reach, and drops data that is no longer needed. `free` is the
    /// earliest position that a caller can get, and `is_held` is that of [`History::trim`].
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

    /// `earliest` returns the first slot that a caller holds or can get again.
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
            // One more slot is kept, because the count of a position between two slots depends on both slots.
            slots
                .forget_before(before(later(earliest, next.wrapping_sub(after(0, MOST_ARRIVALS)))));
        }
    }

    fn drop_paid(&mut self, time: i64) {
        if self.paid(time).is_none() {
            self.catch_up = None;
        }
    }

    fn forget(&mut self, position: u64) {
        self.history.forget(position);
        self.settled = later(self.settled, position);
    }
}
