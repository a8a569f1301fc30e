//! The schedule: when each slot starts, what late starts do to it, and where its time went.
//!
//! Plain data and arithmetic: no atomics and no clock; every moment is an argument. Four rules:
//!
//! * A slot's position never changes, only the time that belongs to it. So a claim can't race a
//!   change of rate.
//! * A slot is judged once, when it starts. From then on it is *settled*: nothing changes its
//!   intended start.
//! * The time that a start forfeits moves the slots behind it. A slot that starts when a later one
//!   has started already (a straggler) moves nothing, because the later one started by the schedule
//!   as it was.
//! * A burst ratio leaves intended starts alone and adds a second line, `catch_up`. A slot may
//!   start when both lines have reached it: two rates at once, as in the dual GCRA of ATM (ITU-T
//!   I.371). The lines meet when all owed time has been paid back.
//!
//! Under strict this is GCRA's virtual scheduling algorithm without a tolerance (ITU-T I.371):
//! intended starts are its theoretical arrival times, and each one counts from the actual start
//! before it if that was late. Other strictnesses move them less. Slots of equal size on an axis
//! that time runs along at the rate are virtual time, as in `VirtualClock` (Zhang, 1990).

mod account;
mod end;
mod history;
mod line;
mod policy;

use crate::position::{RANGE, REACH, SLOT, after, before, earlier, later, ticks_between};
use crate::strictness::Rule;
use crate::{Rate, Strictness};
pub(crate) use account::Account;
pub(crate) use end::End;
use history::History;
pub(crate) use history::Stretch;
pub(crate) use line::Line;
pub(crate) use policy::Policy;
use policy::Verdict;

#[derive(Debug)]
pub(crate) struct Schedule {
    history: History,
    rate: Rate,
    policy: Policy,
    end: End,
    /// The line that pays owed time back, while time is owed.
    catch_up: Option<Line>,
    /// Slots up to this position count as started and are judged no more. Kept up to date only
    /// under a late policy.
    settled: u64,
    started: i64,
    paused_since: Option<i64>,
    /// Whether the pause ends with the first use.
    starts_on_use: bool,
    paused: i64,
    idle: i64,
}

/// What happens to a slot that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// It starts.
    Now,
    /// It is too late to start and is skipped.
    Skipped,
}

impl Schedule {
    /// A schedule whose slot 0 starts now.
    pub(crate) fn new(rate: Rate, policy: Policy, end: End, now: i64) -> Schedule {
        Schedule {
            history: History::new(Line { time: now, position: 0, scale: rate.scale() }),
            rate,
            policy,
            end,
            catch_up: None,
            settled: before(0),
            started: now,
            paused_since: None,
            starts_on_use: false,
            paused: 0,
            idle: 0,
        }
    }

    pub(crate) fn rate(&self) -> Rate {
        self.rate
    }

    pub(crate) fn policy(&self) -> &Policy {
        &self.policy
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.paused_since.is_some()
    }

    /// The straight piece that the slot at `position` lies on, as far as there are slots.
    pub(crate) fn stretch(&self, position: u64) -> Stretch {
        let stretch = self.history.stretch(position);
        Stretch { until: self.before_end(stretch.until), ..stretch }
    }

    /// The first position at which there is no slot any more; none if it is nowhere in range.
    pub(crate) fn end(&self) -> Option<u64> {
        self.end.position(&self.history)
    }

    /// The position, or the last one before the end if that comes first.
    fn before_end(&self, position: u64) -> u64 {
        self.end().map_or(position, |end| earlier(position, end.wrapping_sub(1)))
    }

    /// Whether the schedule ends before the slot at `position`.
    pub(crate) fn is_over(&self, position: u64) -> bool {
        self.end().is_some_and(|end| ticks_between(end, position) >= 0)
    }

    /// When the slot at `position` is intended to start.
    pub(crate) fn intended(&self, position: u64) -> i64 {
        self.history.time_of(position)
    }

    /// When it may start if the pacer is not paused: later than intended while time is owed.
    pub(crate) fn release(&self, position: u64) -> i64 {
        let caught_up = self.catch_up.map_or(i64::MIN, |line| line.time_of(position));
        self.intended(position).max(caught_up)
    }

    /// The last position that may have started by now.
    pub(crate) fn reached(&self, now: i64) -> u64 {
        let now = self.schedule_time(now);
        let due = self.before_end(self.history.current().position_at(now));
        self.catch_up.map_or(due, |line| earlier(line.position_at(now), due))
    }

    /// The schedule's time, which stands still while the pacer is paused.
    fn schedule_time(&self, now: i64) -> i64 {
        self.paused_since.unwrap_or(now)
    }

    /// How long an interval lasts, in nanoseconds, rounded up.
    pub(crate) fn interval_ns(&self) -> i64 {
        self.history.current().scale.nanos(SLOT)
    }

    /// The schedule's time, which stands still when the schedule has ended: then nothing becomes
    /// backlog any more.
    fn time_until_end(&self, now: i64) -> i64 {
        self.schedule_time(now).min(self.end.moment(&self.history))
    }

    /// `claimed` slots lie before the position `next`. To be called before positions wrap around.
    pub(crate) fn see_claimed(&mut self, next: u64, claimed: u64) {
        self.end.see(next, claimed);
    }

    /// From now on the schedule runs at `rate`. The part of the current interval that has passed
    /// stays passed.
    pub(crate) fn set_rate(&mut self, rate: Rate, now: i64) {
        if rate == self.rate {
            return;
        }
        let now = self.schedule_time(now);
        self.rate = rate;
        self.history.append(rate.scale(), now);
        self.rescale_catch_up(now);
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

    /// Owed time is paid back at the ratio now in force. Without a ratio it becomes backlog, which
    /// the new policy judges.
    fn rescale_catch_up(&mut self, now: i64) {
        self.catch_up = match (self.policy.strictness.rule(), self.catch_up) {
            (Rule::Burst(ratio), Some(line)) => {
                Some(line.continued(now, self.rate.scale_at(ratio)))
            }
            _ => None,
        };
    }

    /// The schedule's time stops.
    pub(crate) fn pause(&mut self, now: i64) {
        self.starts_on_use = false;
        self.paused_since.get_or_insert(now);
    }

    /// The schedule's time stops, until the first caller wants a slot.
    pub(crate) fn pause_until_used(&mut self, now: i64) {
        self.pause(now);
        self.starts_on_use = true;
    }

    /// A caller wants a slot.
    pub(crate) fn used(&mut self, now: i64) {
        if self.starts_on_use {
            self.resume(now);
        }
    }

    /// The schedule's time goes on. What was late stays as late as it was.
    pub(crate) fn resume(&mut self, now: i64) {
        self.starts_on_use = false;
        let Some(since) = self.paused_since.take() else { return };
        let pause = now.saturating_sub(since).max(0);
        self.paused = self.paused.saturating_add(pause);
        self.history.shift(pause);
        self.end.shift(pause);
        if let Some(line) = &mut self.catch_up {
            line.time = line.time.saturating_add(pause);
        }
    }

    /// Everything before `next` that is due by `moment` counts as started. To be called when the
    /// policy begins to judge, because starts were not tracked before.
    pub(crate) fn settle_before(&mut self, next: u64, moment: i64) {
        self.settled = later(self.settled, earlier(before(next), self.reached(moment)));
    }

    /// The `slots` slots from `first` on are due. They start now as one operation, unless the
    /// policy skips them.
    pub(crate) fn start(&mut self, first: u64, slots: u64, now: i64) -> Start {
        let (intended, release) = (self.intended(first), self.release(first));
        let gap = now.saturating_sub(intended);
        if self.skip_limit().is_some_and(|limit| gap > limit) {
            return Start::Skipped;
        }
        if ticks_between(self.settled, first) > 0 {
            self.settled = before(after(first, slots));
            let Verdict { forfeits, owes_at } = self.policy.judge(now.saturating_sub(release), gap);
            self.move_behind(first, intended.saturating_add(forfeits));
            if let Some(ratio) = owes_at {
                self.catch_up =
                    Some(Line { time: now, position: first, scale: self.rate.scale_at(ratio) });
            }
        }
        Start::Now
    }

    /// The slots behind the one at `position` start as if that one started at `time`, unless they
    /// start later than that already. The time between is idle time.
    fn move_behind(&mut self, position: u64, time: i64) {
        let passes = self.history.passes(position);
        if time > passes {
            let idle = self.end.before(time).saturating_sub(self.end.before(passes));
            self.idle = self.idle.saturating_add(idle);
            self.history.forfeit(position, time);
        }
    }

    /// Slots that are later than this are skipped. A limit beyond the range is never reached,
    /// because lateness beyond the range is forfeited.
    fn skip_limit(&self) -> Option<i64> {
        self.policy.skip_later_than.filter(|&limit| limit < self.range_ns())
    }

    /// The range of positions, in nanoseconds.
    fn range_ns(&self) -> i64 {
        self.history.current().scale.nanos(RANGE.unsigned_abs())
    }

    /// The first slot that is not too late to start, if the one at `position` is too late.
    pub(crate) fn skip_target(&self, position: u64, now: i64) -> Option<u64> {
        let oldest = now.saturating_sub(self.skip_limit()?);
        if self.is_paused() || self.intended(position) >= oldest || self.is_over(position) {
            return None;
        }
        let target = later(self.history.first_from(oldest), after(position, 1));
        Some(self.end().map_or(target, |end| earlier(target, end)))
    }

    /// Claims now go on at `position`, and what was owed for slots before it is no longer owed.
    pub(crate) fn skipped_to(&mut self, position: u64, now: i64) {
        if let Some(line) = &mut self.catch_up {
            *line = Line { time: now, position, scale: line.scale };
        }
    }

    /// Housekeeping: ends a catch-up that has caught up, moves the anchors of lines forward long
    /// before their reach ends, and forgets what is past. `next` is the next position to be
    /// claimed, `open` the earliest that is there to be claimed.
    pub(crate) fn tidy(&mut self, next: u64, open: u64, now: i64) {
        let now = self.schedule_time(now);
        let current = *self.history.current();
        // Multiplications only, because this is done at every start that is judged.
        let is_far = |line: &Line| line.has_come(RANGE, now) && !line.has_come(REACH, now);
        let is_owed =
            |line: &Line| ticks_between(line.position_at(now), current.position_at(now)) > 0;
        self.catch_up = self.catch_up.filter(is_owed);
        if let Some(line) = self.catch_up.as_mut().filter(|line| is_far(line)) {
            *line = line.continued(now, line.scale);
        }
        if is_far(&current) && !self.is_over(next) {
            self.history.append(current.scale, now);
        }
        self.history.trim(open);
        self.forget(next.wrapping_add_signed(-RANGE));
    }

    /// Forgets what lies before `position`: positions can be told apart only within a range.
    fn forget(&mut self, position: u64) {
        self.history.forget(position);
        self.settled = later(self.settled, position);
    }

    /// Slots from `next` on, the next to be claimed, are late by the range at most, because later
    /// ones can't be told from early ones. Lateness beyond the range is forfeited.
    pub(crate) fn cut_to_range(&mut self, next: u64, now: i64) {
        let oldest = self.time_until_end(now).saturating_sub(self.range_ns());
        if self.intended(next) < oldest && !self.is_over(next) {
            let last = before(next);
            self.move_behind(last, oldest.saturating_sub(self.interval_ns()));
            self.settled = later(self.settled, last);
        }
    }

    /// Whether the slot at `position` may go back to be the next one to be claimed: nothing has
    /// moved because of it, or because of slots behind it.
    pub(crate) fn is_unsettled(&self, position: u64) -> bool {
        ticks_between(self.settled, position) > 0
    }
}
