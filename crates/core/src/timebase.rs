//! The timebase: when each slot starts, as a list of straight lines that rate changes append to.
//!
//! Plain data and arithmetic: no atomics, no clock; every moment is an argument. The timeline publishes what is
//! decided here. Three rules shape it:
//!
//! * A slot's position never changes; only the time that belongs to it does. So a claim can't race a rate change.
//! * What a policy forfeits moves the schedule later *from the late slot on* ([`Timebase::late`]); older slots keep
//!   their intended starts, and a slot from before the last such move forfeits nothing, so that two late callers
//!   never give away the same gap.
//! * A burst ratio leaves the schedule alone and adds a second line, [`Timebase::catch_up`]: a slot may start when both
//!   lines have reached it (two rates at once, as in ATM's dual GCRA, I.371). The lines meet when all owed time is paid.

use crate::line::{Line, REACH, SLOT, Scale, ticks_between};
use crate::strictness::{ONE, Rule};
use crate::{Rate, Strictness};
use std::collections::VecDeque;

/// Straight pieces kept, so that late slots from before a rate change keep their intended starts; beyond that the
/// oldest two become one, exact at its ends.
const MOST_SEGMENTS: usize = 32;

/// Of the schedule, how much may be granted on one reading of the clock, and how much a lane may take at once.
const STRIDE_NS: u64 = 10_000;

/// Or this part of what the caller is late, if that is more and no policy minds: wait times stay right to that part.
const STRIDE_PART: i64 = 64;

/// But never more slots than this.
const MOST_STRIDE: i64 = 2048 * SLOT.cast_signed();

/// How far from its anchor a line may get, in ticks, and how much of the past is remembered; also the greatest backlog.
const FAR: i64 = REACH / 4;

/// What to do about late claims; spans in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    pub(crate) strictness: Strictness,
    pub(crate) tolerance: i64,
    pub(crate) max_backlog: Option<i64>,
    pub(crate) skip_later_than: Option<i64>,
}

/// How late a claim may be before the policy has to see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Patience {
    pub(crate) limit_ns: i64,
    /// Whether no lateness that occurs in practice is the policy's business.
    pub(crate) is_endless: bool,
}

impl Patience {
    /// How many ticks may be granted on one reading of the clock, when that many are due and the next slot is so late: few
    /// enough for wait times to stay right, and none that the policy would have to see.
    pub(crate) fn stride(self, scale: Scale, late: i64, next_late_ns: i64) -> i64 {
        if self.limit_ns == 0 || next_late_ns > self.limit_ns {
            return 0;
        }
        let part_of_lateness = if self.is_endless { late / STRIDE_PART } else { 0 };
        scale.ticks(STRIDE_NS).max(part_of_lateness).min(MOST_STRIDE)
    }
}

/// A piece of schedule: slots from position `from` on follow `line`, which holds since the time `since`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) from: u64,
    since: i64,
    pub(crate) line: Line,
}

#[derive(Debug)]
pub(crate) struct Timebase {
    /// Oldest first, never empty; positions and times both ascend.
    segments: Vec<Segment>,
    rate: Rate,
    pub(crate) policy: Policy,
    /// While time is owed: the line that pays it back.
    catch_up: Option<Line>,
    /// Slots before this position forfeit no time: one behind them has, and their gap with its own.
    anchored: u64,
    started: i64,
    paused_since: Option<i64>,
    paused: i64,
    /// (when it ended, how long it was) of the latest pauses.
    pauses: VecDeque<(i64, i64)>,
    idle: i64,
}

/// Where the time went, in nanoseconds; see [`Ledger`](crate::Ledger).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) elapsed: i64,
    pub(crate) allocated: i64,
    pub(crate) idle: i64,
    pub(crate) waiting: i64,
    pub(crate) backlog: i64,
}

impl Timebase {
    /// A schedule whose slot 0 starts now.
    pub(crate) fn new(rate: Rate, policy: Policy, now: i64) -> Timebase {
        let line = Line { time: now, position: 0, scale: rate.scale() };
        Timebase {
            segments: vec![Segment { from: 0, since: now, line }],
            rate,
            policy,
            catch_up: None,
            anchored: 0,
            started: now,
            paused_since: None,
            paused: 0,
            pauses: VecDeque::new(),
            idle: 0,
        }
    }

    pub(crate) fn rate(&self) -> Rate {
        self.rate
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.paused_since.is_some()
    }

    /// Whether one straight line says all there is to say about slots from `from` on.
    pub(crate) fn is_plain(&self, from: u64) -> bool {
        self.catch_up.is_none() && ticks_between(self.current().from, from) >= 0
    }

    fn current(&self) -> &Segment {
        &self.segments[self.segments.len() - 1]
    }

    fn index_of(&self, position: u64) -> usize {
        self.segments.iter().rposition(|s| ticks_between(s.from, position) >= 0).unwrap_or(0)
    }

    /// The piece that `position` lies on, and the position at which the next one begins.
    pub(crate) fn segment(&self, position: u64) -> (&Segment, Option<u64>) {
        let index = self.index_of(position);
        (&self.segments[index], self.segments.get(index + 1).map(|next| next.from))
    }

    /// When the schedule says that the slot at `position` starts.
    pub(crate) fn intended(&self, position: u64) -> i64 {
        self.segment(position).0.line.time_of(position)
    }

    /// When it may start: later than intended while time is owed. A paused pacer releases nothing.
    pub(crate) fn release(&self, position: u64) -> i64 {
        if self.is_paused() {
            return i64::MAX;
        }
        let caught_up = self.catch_up.map_or(i64::MIN, |line| line.time_of(position));
        self.intended(position).max(caught_up)
    }

    /// The last position that may have started by now.
    pub(crate) fn reached(&self, now: i64) -> u64 {
        let now = self.schedule_time(now);
        let due = self.current().line.position_at(now);
        match self.catch_up.map(|line| line.position_at(now)) {
            Some(released) if ticks_between(released, due) > 0 => released,
            _ => due,
        }
    }

    /// Up to where fast grants may go on this reading of the clock, after `position`: to what is due, but not so far that
    /// the reading would be old news.
    pub(crate) fn horizon(&self, position: u64, now: i64) -> u64 {
        let due = ticks_between(position, self.reached(now));
        let within = self.segment(position).1.map_or(REACH, |end| ticks_between(position, end) - 1);
        position.wrapping_add_signed(due.min(within).min(self.stride(position, now)))
    }

    /// How many ticks may be granted after `position` on one reading of the clock.
    pub(crate) fn stride(&self, position: u64, now: i64) -> i64 {
        let late = ticks_between(position, self.reached(now));
        let next_late_ns = now.saturating_sub(self.release(position.wrapping_add(SLOT)));
        self.patience().stride(self.current().line.scale, late, next_late_ns)
    }

    /// While paused the schedule's time stands still.
    fn schedule_time(&self, now: i64) -> i64 {
        self.paused_since.unwrap_or(now)
    }

    /// From now on the schedule runs at `rate`; what has passed of the current interval stays passed.
    pub(crate) fn set_rate(&mut self, rate: Rate, now: i64) {
        let now = self.schedule_time(now);
        self.rate = rate;
        self.append(rate.scale(), now);
        self.rescale_catch_up(now);
    }

    pub(crate) fn set_strictness(&mut self, strictness: Strictness, now: i64) {
        self.policy.strictness = strictness;
        self.rescale_catch_up(self.schedule_time(now));
    }

    /// Owed time is paid back at the ratio now in force; without one it is backlog, for the new policy to judge.
    fn rescale_catch_up(&mut self, now: i64) {
        self.catch_up = match (self.policy.strictness.rule(), self.catch_up) {
            (Rule::Burst(ratio), Some(line)) => Some(line.continued(now, self.rate.scale_at(ratio))),
            _ => None,
        };
    }

    fn append(&mut self, scale: Scale, now: i64) {
        let current = *self.current();
        let line = current.line.continued(now, scale);
        // The position reached is the old line's; the new one takes over with the next tick.
        let segment = Segment { from: line.position.wrapping_add(1), since: now.max(current.since), line };
        if ticks_between(current.from, segment.from) <= 0 {
            self.segments.pop();
        }
        self.push(segment);
    }

    fn push(&mut self, segment: Segment) {
        self.segments.push(segment);
        if self.segments.len() > MOST_SEGMENTS {
            let (first, third) = (self.segments.remove(0), self.segments[1]);
            self.segments[0] = Segment { from: first.from, line: chord(&first, &third), ..self.segments[0] };
        }
    }

    /// The schedule's time stops.
    pub(crate) fn pause(&mut self, now: i64) {
        self.paused_since.get_or_insert(now);
    }

    /// The schedule's time goes on; whatever was late is as late as it was.
    pub(crate) fn resume(&mut self, now: i64) {
        let Some(since) = self.paused_since.take() else { return };
        let pause = now.saturating_sub(since).max(0);
        self.paused = self.paused.saturating_add(pause);
        let lines = self.segments.iter_mut().map(|segment| &mut segment.line).chain(&mut self.catch_up);
        lines.for_each(|line| line.time = line.time.saturating_add(pause));
        self.segments.iter_mut().for_each(|segment| segment.since = segment.since.saturating_add(pause));
        // What starts from now on is on a piece of its own: of anything older, `intended_at` has to be asked.
        let line = self.current().line;
        self.push(Segment { from: line.position_at(now).wrapping_add(1), since: now, line });
        self.pauses.push_back((now, pause));
        if self.pauses.len() > MOST_SEGMENTS {
            self.pauses.pop_front();
        }
    }

    /// When the slot at `position`, which started at `start`, was intended: pauses since then have moved the schedule,
    /// but not this slot.
    pub(crate) fn intended_at(&self, position: u64, start: i64) -> i64 {
        let later_pauses =
            self.pauses.iter().filter(|&&(resumed, _)| resumed > start).map(|&(_, pause)| pause);
        self.intended(position).saturating_sub(later_pauses.sum())
    }

    pub(crate) fn patience(&self) -> Patience {
        let Policy { strictness, max_backlog, skip_later_than, tolerance } = self.policy;
        let rule = match strictness.rule() {
            Rule::Average => i64::MAX,
            Rule::Close(ONE) => 0,
            Rule::Close(_) | Rule::Burst(_) => tolerance,
        };
        let is_endless =
            strictness.rule() == Rule::Average && max_backlog.is_none() && skip_later_than.is_none();
        Patience {
            limit_ns: rule.min(self.max_backlog()).min(skip_later_than.unwrap_or(i64::MAX)),
            is_endless,
        }
    }

    /// The user's limit, or the range.
    fn max_backlog(&self) -> i64 {
        self.policy.max_backlog.unwrap_or(i64::MAX).min(self.range())
    }

    /// A quarter of the range in which positions can be told apart.
    fn range(&self) -> i64 {
        self.current().line.scale.nanos(FAR.unsigned_abs())
    }

    /// Where late slots are skipped: forfeits what the slot at `position` is late beyond the range, which is as far as skipping
    /// gets. True when the schedule changed.
    pub(crate) fn cut_to_range(&mut self, position: u64, now: i64) -> bool {
        let intended = self.intended(position);
        let beyond = now.saturating_sub(intended).saturating_sub(self.range());
        let skips = self.policy.skip_later_than.is_some_and(|limit| limit < self.range());
        let cut = skips && beyond > 0 && !self.is_paused() && ticks_between(self.anchored, position) >= 0;
        if cut {
            self.forfeit(position, intended, beyond);
        }
        cut
    }

    /// The slot at `position` is claimed now: applies the policy to its lateness. True when the schedule changed.
    pub(crate) fn late(&mut self, position: u64, now: i64) -> bool {
        let late = now.saturating_sub(self.release(position));
        if late <= 0 || ticks_between(self.anchored, position) < 0 {
            return false;
        }
        let intended = self.intended(position);
        let gap = now.saturating_sub(intended);
        let mut closed = 0;
        match self.policy.strictness.rule() {
            Rule::Close(ONE) => closed = gap,
            Rule::Close(fraction) if late > self.policy.tolerance => closed = fraction_of(gap, fraction),
            Rule::Burst(ratio) if late > self.policy.tolerance => {
                self.catch_up = Some(Line { time: now, position, scale: self.rate.scale_at(ratio) });
            }
            _ => {}
        }
        closed = closed.max(gap.saturating_sub(self.max_backlog()));
        if closed > 0 {
            self.forfeit(position, intended, closed);
        }
        closed > 0 || self.catch_up.is_some_and(|line| line.position == position)
    }

    /// The slot at `position` was held back, and longer than it should have been: strict forfeits that too.
    pub(crate) fn overslept(&mut self, position: u64, now: i64) -> bool {
        self.policy.strictness.rule() == Rule::Close(ONE) && self.late(position, now)
    }

    /// Every slot behind `position` starts `closed` nanoseconds later; the rate changes keep their times. The slot itself
    /// keeps its intended start: it is late, and says so.
    fn forfeit(&mut self, position: u64, intended: i64, closed: i64) {
        let time = intended.saturating_add(closed);
        let index = self.segments.iter().rposition(|s| s.since <= time).unwrap_or(0);
        let later: Vec<Segment> = self.segments[index..].to_vec();
        let from = position.wrapping_add(1);
        self.segments.retain(|s| ticks_between(s.from, from) > 0);
        let line = Line { time, position, scale: later[0].line.scale };
        self.push(Segment { from, since: time, line });
        for segment in &later[1..] {
            self.append(segment.line.scale, segment.since);
        }
        self.anchored = from;
        self.idle = self.idle.saturating_add(closed);
    }

    /// Where claims go on when everything later than the limit is skipped, if `position` is.
    pub(crate) fn skip_target(&self, position: u64, now: i64) -> Option<u64> {
        // A limit beyond the range is never reached: what is later than the range is forfeited.
        let limit = self.policy.skip_later_than.filter(|&limit| limit < self.range())?;
        let oldest = now.saturating_sub(limit);
        if self.is_paused() || self.intended(position) >= oldest {
            return None;
        }
        let index = self.segments.iter().rposition(|s| s.since < oldest).unwrap_or(0);
        let late = self.segments[index].line.position_at(oldest - 1).wrapping_add(1);
        // Behind its end a piece says nothing: what the next one begins with is not too late.
        let end = self.segments.get(index + 1).map_or(late, |next| earlier(late, next.from));
        let first = end.wrapping_add(SLOT - 1) & !(SLOT - 1);
        Some(if ticks_between(position, first) > 0 { first } else { position.wrapping_add(SLOT) })
    }

    /// Claims have skipped to `position`: what was owed up to there is owed no more.
    pub(crate) fn skipped_to(&mut self, position: u64, now: i64) {
        if let Some(line) = &mut self.catch_up {
            *line = Line { time: now, position, scale: line.scale };
        }
    }

    /// Housekeeping, whenever the timebase is at hand: ends a catch-up that has caught up, and moves what is anchored far
    /// behind. True when a plan may have become wrong by it.
    pub(crate) fn tidy(&mut self, allocated: u64, now: i64) -> bool {
        let now = self.schedule_time(now);
        let due = self.current().line.position_at(now);
        let paid = self.catch_up.is_some_and(|line| ticks_between(line.position_at(now), due) <= 0);
        if paid {
            self.catch_up = None;
        }
        let far = ticks_between(self.current().line.position, due);
        let renew = far > FAR && far < REACH;
        if renew {
            self.append(self.current().line.scale, now);
        }
        self.forget(allocated.wrapping_add_signed(-FAR));
        paid || renew
    }

    /// Lets go of what lies before `position`: positions can only be told apart within a range.
    fn forget(&mut self, position: u64) {
        while self.segments.len() > 1 && ticks_between(self.segments[1].from, position) > 0 {
            self.segments.remove(0);
        }
        if ticks_between(self.anchored, position) > 0 {
            self.anchored = position;
        }
    }

    /// Of the idle time, what lies behind `position`: slots from before a forfeited gap have been taken back.
    fn forfeited_after(&self, position: u64) -> i64 {
        let later =
            self.segments.windows(2).filter(|pair| ticks_between(position, pair[1].line.position) > 0);
        let gaps =
            later.map(|pair| pair[1].line.time.saturating_sub(pair[0].line.time_of(pair[1].line.position)));
        gaps.map(|gap| gap.max(0)).sum::<i64>().min(self.idle)
    }

    /// When the schedule comes by `position`: for a slot that has forfeited time that is later than its intended start.
    fn rescheduled(&self, position: u64) -> i64 {
        let newest = self.segments.iter().rfind(|s| ticks_between(s.line.position, position) >= 0);
        newest.unwrap_or(&self.segments[0]).line.time_of(position)
    }

    /// What slots from `start` to `end`, taken and given back, have of the schedule's time up to now.
    pub(crate) fn unused(&self, start: u64, end: u64, now: i64) -> i64 {
        let now = self.schedule_time(now);
        (self.intended(end).min(now) - self.rescheduled(start).min(now)).max(0)
    }

    /// Where the schedule's time went, when `allocated` is the next position to be claimed.
    pub(crate) fn account(&self, allocated: u64, now: i64) -> Account {
        let now = self.schedule_time(now);
        let elapsed = now - self.started - self.paused;
        let next = self.rescheduled(allocated);
        let started = next.min(now) - self.started - self.paused;
        let allocated = started + self.forfeited_after(allocated) - self.idle;
        let late = elapsed - self.idle - allocated;
        let released = self.rescheduled(self.reached(now));
        let backlog =
            if self.catch_up.is_some() { released.saturating_sub(next).clamp(0, late) } else { late };
        Account { elapsed, allocated, idle: self.idle, waiting: late - backlog, backlog }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a fraction of an i64 is an i64")]
fn fraction_of(span: i64, fraction: u64) -> i64 {
    ((i128::from(span) * i128::from(fraction)) >> 32) as i64
}

fn earlier(a: u64, b: u64) -> u64 {
    if ticks_between(a, b) > 0 { a } else { b }
}

/// One straight line from where one piece begins to where another does.
fn chord(from: &Segment, to: &Segment) -> Line {
    let (start, end) = (from.line.time_of(from.from), to.line.time_of(to.from));
    let nanos = u128::from(end.saturating_sub(start).max(1).unsigned_abs());
    let ticks = u128::from(ticks_between(from.from, to.from).max(1).unsigned_abs());
    Line { time: start, position: from.from, scale: Scale::from_ratio(nanos, ticks) }
}
