//! Implements the rules of the plain pacer.

use super::pay_back::PayBack;
use super::segment::{Pace, Segment};
use super::slack::{CHORD_NS, TICK, When};
use super::{Answer, Books, Piece, Rules, State, Undecided};

/// The number of most recent pieces whose slots must have exact starts in the real pacer.
const EXACT_PIECES: usize = 38;

impl State {
    pub(super) fn current(&self) -> &Segment {
        &self.pieces.last().expect("never empty").segment
    }

    pub(super) fn schedule_time(&self, now: f64) -> f64 {
        self.paused_since.unwrap_or(now)
    }

    pub(super) fn count_of(&self, slot: f64) -> f64 {
        self.slots.borrow_mut().count_of(slot)
    }

    fn slot_by(&self, count: f64) -> f64 {
        self.slots.borrow_mut().slot_by(count)
    }

    pub(super) fn reached(&self, time: f64) -> f64 {
        self.reached_of(time, |paid| paid.at)
    }

    fn reached_of(&self, time: f64, side: impl Fn(When) -> f64) -> f64 {
        let paid = self.owed(time).map(|paid| side(paid.count_at(time)));
        self.current().count_at(time).min(paid.unwrap_or(f64::MAX))
    }

    fn owed(&self, time: f64) -> Option<&PayBack> {
        self.pay_back.as_ref().filter(|_| time < self.shape_ends)
    }

    fn reached_about(&self, now: f64) -> [f64; 2] {
        let [least, _] = self.about(now, |time| self.reached_of(time, |paid| paid.low));
        let [_, most] = self.about(now, |time| self.reached_of(time, |paid| paid.high));
        [least, most]
    }

    /// Returns the bounds of the count up to which slots, including early ones, may have been granted without being
    /// judged.
    pub(super) fn granted_about(&self, now: f64) -> [f64; 2] {
        self.about(now, |time| self.current().count_at(time + self.rules.lead + CHORD_NS))
    }

    fn about(&self, now: f64, count_at: impl Fn(f64) -> f64) -> [f64; 2] {
        [-1.0, 1.0].map(|sign| {
            let time = self.schedule_time(now + sign * self.slack.nanos);
            count_at(time) + sign * (self.slack.slots + 1e-9)
        })
    }

    /// If the new load is a shape that has already ended, the shape counts as ending now.
    pub(super) fn set_load(&mut self, load: Pace, now: f64) {
        self.pay_back = self.pay_back.take().filter(|_| now < self.shape_ends);
        self.shape_ends = load.ends().max(now);
        (self.interval, self.load) = (load.interval(), load);
        self.over_slots();
        self.go_on(now);
    }

    pub(super) fn over_slots(&mut self) {
        self.load = self.load.clone().over(&self.slots.borrow(), self.origin);
        self.had_shape |= self.load.is_shape();
    }

    pub(super) fn go_on(&mut self, now: f64) {
        self.append(&self.load.clone(), now);
        self.re_anchor_pay_back(now);
    }

    fn append(&mut self, pace: &Pace, now: f64) {
        let old = self.current().clone();
        let count = old.count_at(now);
        let segment = Segment::through(pace, 1.0, count, now);
        self.slack.change(&old, &segment, now);
        // Slots that were due keep their intended starts. While the rate is zero, the slot at this count is not due,
        // because it starts when the rate rises. After the last slot, there is no slot at any count.
        let last = self.slot_by(count);
        let is_waiting = old.is_flat_at(now) && self.count_of(last) > count - 1e-9;
        let last = last - if is_waiting { 1e-9 } else { 0.0 };
        let from = last.max(self.pieces[self.pieces.len() - 1].from);
        self.pieces.push(Piece { from, since: now, segment, is_forfeit: false });
    }

    pub(super) fn re_anchor_pay_back(&mut self, now: f64) {
        if let Some(old) = self.pay_back.take() {
            let ratio = self.rules.strictness;
            self.pay_back = Some(old.continued(&self.load, ratio, now, &mut self.slack));
        }
    }

    fn intended(&self, slot: f64) -> When {
        self.on_piece(slot, |piece| piece.from < slot)
    }

    fn begins(&self, slot: f64) -> When {
        self.on_piece(slot, |piece| piece.from <= slot)
    }

    /// If the next slot lies where the shape ends, the real pacer may reach it a little earlier, because the last
    /// 10^-12 of a slot takes some microseconds at the end of a wave.
    fn passes(&self, next: u64) -> When {
        let begins = self.begins(index(next));
        if begins.at.is_finite() {
            return begins;
        }
        let early = self.current().time_of(self.count_of(index(next)) - 1e-12);
        When { low: begins.low.min(early), ..begins }
    }

    /// If rounding may have moved the slot across a change of the pace, the slot may be on either side of the change.
    fn on_piece(&self, slot: f64, is_before: impl Fn(&Piece) -> bool) -> When {
        let here = self.pieces.iter().rposition(is_before).unwrap_or(0);
        let count = self.count_of(slot);
        let [low, high] = [-1.0, 1.0].map(|sign| count + sign * self.slack.slots);
        let (lowest, highest) = (self.slot_by(low), self.slot_by(high).max(slot));
        let (mut first, mut last) = (here, here);
        while first > 0 && self.pieces[first].from >= lowest && !self.pieces[first].is_forfeit {
            first -= 1;
        }
        while let Some(next) = self.pieces.get(last + 1)
            && next.from <= highest
            && !next.is_forfeit
        {
            last += 1;
        }
        let time = |piece: usize, count: f64| self.pieces[piece].segment.time_of(count);
        let earliest = (first..=last).map(|piece| time(piece, low)).fold(f64::INFINITY, f64::min);
        let latest =
            (first..=last).map(|piece| time(piece, high)).fold(f64::NEG_INFINITY, f64::max);
        When { low: earliest, at: time(here, count), high: latest }
    }

    pub(super) fn release(&self, slot: f64) -> When {
        let count = self.count_of(slot);
        let off = self.slack.slots;
        let paid = self.pay_back.as_ref();
        let paid = paid.map(|paid| paid.time_of(count, off).earlier(self.shape_ends.into()));
        self.intended(slot).later(paid.unwrap_or(f64::MIN.into()))
    }

    /// Values that are equal here are equal in the real pacer too, unless a policy has acted, or a shape is rounded.
    fn less(&self, a: impl Into<When>, b: impl Into<When>) -> Result<bool, Undecided> {
        let (a, b) = (a.into(), b.into());
        if self.undecided {
            return Err(Undecided);
        }
        let is_exact = !self.slack.by_policy && (!self.had_shape || self.slack.slots == 0.0);
        let is_exact = (is_exact || a.at.is_infinite()) && a.off() + b.off() == 0.0;
        let is_same = is_exact && a.at.total_cmp(&b.at).is_eq();
        if is_same || b.high + self.slack.nanos < a.low {
            Ok(false)
        } else if a.high + self.slack.nanos < b.low {
            Ok(true)
        } else {
            Err(Undecided)
        }
    }

    /// Returns the maximum error of the slot's intended start. The real pacer stores only the last [`EXACT_PIECES`]
    /// pieces exactly. It approximates starts on earlier pieces. The error is at most the time that those pieces span,
    /// or an eighth of this time if the load never had a shape.
    fn off(&self, slot: u64) -> f64 {
        let exact = self.pieces.len().saturating_sub(EXACT_PIECES);
        if index(slot) > self.pieces[exact].from {
            return 0.0;
        }
        (self.pieces[exact].since - self.pieces[0].since) / if self.had_shape { 1.0 } else { 8.0 }
    }

    pub(super) fn granted(&self) -> u64 {
        self.next - self.skipped - self.returned.len() as u64
    }

    pub(super) fn is_over(&self, slot: u64) -> Result<bool, Undecided> {
        if slot >= self.rules.slots || self.count_of(index(slot)).is_infinite() {
            return Ok(true);
        }
        let end = self.ends_by_time();
        if end.is_infinite() {
            return Ok(false);
        }
        if self.off(slot) > 0.0 {
            return Err(Undecided);
        }
        Ok(!self.less(self.intended(index(slot)), end)?)
    }

    fn ends_by_time(&self) -> f64 {
        (self.rules.until + self.paused).min(self.shape_ends)
    }

    pub(super) fn first(&self, slots: u64) -> u64 {
        let returned = self.returned.first().copied().filter(|_| slots == 1);
        returned.unwrap_or(self.next)
    }

    pub(super) fn take(&mut self) -> u64 {
        self.returned.pop_first().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        })
    }

    fn take_row(&mut self, slots: u64) -> u64 {
        if slots == 1 {
            return self.take();
        }
        self.next += slots;
        self.next - slots
    }

    fn settle(&mut self, now: f64) -> Result<(), Undecided> {
        let now = self.schedule_time(now);
        let Some(paid) = self.owed(now) else {
            self.pay_back = None;
            return Ok(());
        };
        let (due, paid) = (self.current().count_at(now), paid.count_at(now));
        let off = self.slack.slots + self.current().blur(now, self.slack.nanos);
        if paid.low - off <= due && due <= paid.high + off {
            return Err(Undecided);
        }
        if due < paid.at {
            self.pay_back = None;
        }
        Ok(())
    }

    pub(super) fn give_back(&mut self, slot: u64) {
        self.returned.insert(slot);
        while self.next > self.settled && self.returned.remove(&(self.next - 1)) {
            self.next -= 1;
        }
    }

    /// Slots that were due and claimed count as started when a late policy begins to apply.
    pub(super) fn set_rules(&mut self, rules: Rules, now: f64) {
        let was_open_loop = std::mem::replace(&mut self.rules, rules).is_open_loop();
        if !was_open_loop || rules.is_open_loop() {
            return;
        }
        let [least, most] =
            self.reached_about(now + rules.lead).map(|reached| self.slots_by(reached));
        let range = self.settled..self.next;
        self.undecided |= (least..most).any(|slot| range.contains(&slot));
        // The real pacer does not record which slots started early before the rate fell.
        self.undecided |= self.settled > least;
        self.settled = self.settled.max(self.next.min(least));
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative, far below 2^52"
    )]
    fn slots_by(&self, count: f64) -> u64 {
        (self.slot_by(count).floor() + 1.0).max(0.0) as u64
    }

    pub(super) fn acquire_by(
        &mut self,
        deadline: f64,
        slots: u64,
        now: f64,
    ) -> Result<(Answer, When), Undecided> {
        let mut now = When::from(now);
        loop {
            if self.closed {
                return Ok((Answer::Closed, now));
            }
            if self.is_over(self.first(slots) + slots - 1)? {
                return Ok((Answer::Finished, now));
            }
            if self.paused_since.is_some() {
                return Ok((Answer::Paused, now.later(deadline.into())));
            }
            self.settle(now.at)?;
            let due = self.due_from(index(self.first(slots)));
            if self.less(now.later(deadline.into()), due)? {
                return Ok((Answer::NotUntil(due), now));
            }
            let slot = self.take_row(slots);
            // If the operation may not start now, the caller waits until it may, or until its deadline.
            let is_early = self.less(now, due)?;
            if is_early {
                now = self.release(index(slot)).map(|release| release.min(deadline));
            }
            self.settle(now.at)?;
            if self.judge(slot, slots, now, is_early && now.at < deadline)? {
                return Ok((self.starts(slot, now, 0.0), now));
            }
        }
    }

    /// If the held slot is skipped, the next slot that is not too late replaces it, and starts or is held.
    pub(super) fn start_held(
        &mut self,
        mut slot: u64,
        now: f64,
    ) -> Result<(Answer, Option<u64>), Undecided> {
        loop {
            if self.closed {
                self.give_back(slot);
                return Ok((Answer::Closed, None));
            }
            if self.is_over(slot)? {
                self.give_back(slot);
                return Ok((Answer::Finished, None));
            }
            if self.paused_since.is_some() {
                return Ok((Answer::Paused, Some(slot)));
            }
            self.settle(now)?;
            let off = self.off(slot);
            if off > 0.0 && !self.rules.is_open_loop() {
                return Err(Undecided);
            }
            let due = self.due_from(index(slot));
            if self.less(now, due)? {
                return Ok((Answer::NotUntil(due), Some(slot)));
            }
            if self.judge(slot, 1, now.into(), false)? {
                return Ok((self.starts(slot, now.into(), off), None));
            }
            slot = self.take();
        }
    }

    fn due_from(&self, slot: f64) -> When {
        self.release(slot) - self.rules.lead
    }

    fn starts(&self, slot: u64, start: When, off: f64) -> Answer {
        let intended = self.intended(index(slot)).blurred(off);
        Answer::Granted { intended, start, slot: self.slots.borrow_mut().number(slot) }
    }

    fn judge(
        &mut self,
        slot: u64,
        slots: u64,
        now: When,
        is_punctual: bool,
    ) -> Result<bool, Undecided> {
        let (place, limit) = (index(slot), self.rules.skip_later_than);
        let intended = self.intended(place);
        if limit.is_finite() && self.less(intended, now - limit)? {
            self.skip(slots, now)?;
            return Ok(false);
        }
        self.early += u64::from(self.rules.lead > 0.0 && !is_punctual && self.less(now, intended)?);
        if slot < self.settled {
            return Ok(true);
        }
        self.settled = slot + slots;
        let (gap, strictness) = (now.at - intended.at, self.rules.strictness);
        let is_strict = (strictness - 1.0).abs() < f64::EPSILON;
        let is_late = |state: &State| {
            Ok(!is_punctual && state.less(state.release(place), now - state.rules.tolerance)?)
        };
        let burdened = strictness > 0.0 && (is_strict || is_late(self)?);
        let mut closed = if burdened && strictness <= 1.0 { gap * strictness } else { 0.0 };
        if burdened && strictness > 1.0 {
            let count = self.count_of(place);
            let paid = PayBack::through(&self.load, strictness, count, now, self.slack);
            self.pay_back = Some(paid);
            self.slack.by_policy = true;
        }
        let oldest = now - self.rules.max_backlog;
        if intended.low < oldest.at && oldest.at <= intended.high && intended.off() > 0.0 {
            return Err(Undecided);
        }
        closed = closed.max(gap - self.rules.max_backlog);
        if closed > 0.0 {
            self.forfeit(place, closed, intended.off().max(now.off()));
        }
        Ok(true)
    }

    /// The slot keeps its own intended start, which shows how late it is.
    fn forfeit(&mut self, slot: f64, closed: f64, off: f64) {
        let time = self.intended(slot).at + closed;
        let at = self.pieces.iter().rposition(|piece| piece.since <= time).unwrap_or(0);
        let later: Vec<Piece> = self.pieces[at..].to_vec();
        self.pieces.retain(|piece| piece.from <= slot);
        let segment = later[0].segment.again(self.count_of(slot), time);
        self.slack.forfeit(&segment, time, closed, off);
        self.pieces.push(Piece { from: slot, since: time, segment, is_forfeit: true });
        for piece in &later[1..] {
            self.append(&piece.segment.pace, piece.since);
        }
        // After the end, no more time can become idle.
        let end = self.ends_by_time();
        self.idle += time.min(end) - (time - closed).min(end);
        self.idle_off += off + 2.0 * self.slack.nanos;
    }

    fn skip(&mut self, slots: u64, now: When) -> Result<(), Undecided> {
        self.skipped += slots;
        let oldest = now - self.rules.skip_later_than;
        let before = self.next;
        while !self.is_over(self.next)? && self.less(self.intended(index(self.next)), oldest)? {
            self.next += 1;
            self.skipped += 1;
        }
        while let Some(&first) = self.returned.first()
            && !self.is_over(first)?
            && self.less(self.intended(index(first)), oldest)?
        {
            self.returned.pop_first();
            self.skipped += 1;
        }
        let count = self.count_of(index(self.next));
        if let Some(paid) = &mut self.pay_back
            && self.next > before
        {
            *paid = paid.again(count, now, self.slack);
        }
        Ok(())
    }

    pub(super) fn books(&self, now: f64) -> Result<Books, Undecided> {
        if self.undecided {
            return Err(Undecided);
        }
        let [least, most] = self.reached_about(now);
        let overdue = self.overdue(least)?..=self.overdue(most)?;
        let time = self.schedule_time(now);
        let now = self.ends()?.map(|ends| ends.min(time));
        let until_now = |time: When| time.earlier(now);
        let (mut unused, mut off) = (0.0, self.idle_off + now.off());
        for &slot in &self.returned {
            let ends = until_now(self.intended(index(slot + 1)));
            let begins = until_now(self.begins(index(slot)));
            unused += ends.at - begins.at;
            // The error counts once for the beginning and once for the end of each slot.
            off += ends.off() + begins.off() + 2.0 * self.off(slot) + self.slack.nanos;
        }
        let elapsed = now.at - self.paused;
        let given = until_now(self.passes(self.next));
        off += given.off();
        let allocated = given.at - self.paused - self.idle - unused;
        let late = elapsed - self.idle - allocated;
        // The part of the lateness that the catch-up has not reached is owed. The catch-up's progress is known to a
        // tick.
        let reached = [least, self.reached(time), most].map(|count| self.slot_by(count));
        let passed =
            [reached[0] - TICK, reached[1], reached[2] + TICK].map(|slot| self.begins(slot));
        let passed = When { low: passed[0].low, at: passed[1].at, high: passed[2].high };
        let due = passed.map(|time| (time - given.at).clamp(0.0, (late - unused).max(0.0)));
        let waiting = if self.owed(time).is_some() { late - unused - due.at } else { 0.0 };
        Ok(Books {
            elapsed,
            allocated,
            idle: self.idle,
            waiting,
            backlog: late - waiting,
            granted: self.granted(),
            skipped: self.skipped,
            early: self.early,
            off,
            waiting_off: passed.off(),
            overdue,
        })
    }

    pub(super) fn ends(&self) -> Result<When, Undecided> {
        let by_time = When::from(self.ends_by_time());
        if self.rules.slots == u64::MAX {
            return Ok(by_time);
        }
        let ends = self.begins(index(self.rules.slots)).earlier(by_time);
        if ends.off() > 1e6 { Err(Undecided) } else { Ok(ends) }
    }

    fn overdue(&self, reached: f64) -> Result<u64, Undecided> {
        let mut overdue = 0;
        for &slot in self.returned.iter().filter(|&&slot| self.count_of(index(slot)) <= reached) {
            overdue += u64::from(!self.is_over(slot)?);
        }
        Ok(overdue + self.due_until(reached)? - self.next)
    }

    pub(super) fn due_until(&self, reached: f64) -> Result<u64, Undecided> {
        let (mut first, mut end) = (self.next, self.slots_by(reached).max(self.next));
        while first < end {
            let middle = first.midpoint(end);
            if self.is_over(middle)? {
                end = middle;
            } else {
                first = middle + 1;
            }
        }
        Ok(end)
    }
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
pub(super) fn index(slot: u64) -> f64 {
    slot as f64
}
