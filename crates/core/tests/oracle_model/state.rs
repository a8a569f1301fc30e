//! The plain pacer's rules.

use super::{Answer, Books, PayBack, Piece, Rules, State, Undecided};

/// The real pacer remembers at least this many pieces of schedule exactly.
const EXACT_PIECES: usize = 38;

impl State {
    pub(super) fn current(&self) -> &Piece {
        self.pieces.last().expect("never empty")
    }

    pub(super) fn schedule_time(&self, now: f64) -> f64 {
        self.paused_since.unwrap_or(now)
    }

    /// How far the schedule has come at `time`.
    fn due(&self, time: f64) -> f64 {
        let current = self.current();
        current.slot + (time - current.time) / current.interval
    }

    /// How far the pay-back line has come.
    fn paid(&self, time: f64) -> Option<f64> {
        let speed = self.rules.strictness / self.current().interval;
        self.pay_back.map(|line| line.slot + (time - line.time) * speed)
    }

    /// How far slots may have started at `time`.
    pub(super) fn reached(&self, time: f64) -> f64 {
        self.due(time).min(self.paid(time).unwrap_or(f64::MAX))
    }

    pub(super) fn append(&mut self, interval: f64, now: f64) {
        let slot = self.due(now);
        // What was due keeps its intended start.
        let from = slot.max(self.current().from);
        self.push(Piece { from, since: now, slot, time: now, interval });
    }

    fn push(&mut self, piece: Piece) {
        self.pieces.push(piece);
    }

    pub(super) fn re_anchor_pay_back(&mut self, old_interval: f64, now: f64) {
        let speed = self.rules.strictness / old_interval;
        if let Some(line) = &mut self.pay_back {
            *line = PayBack { slot: line.slot + (now - line.time) * speed, time: now };
        }
    }

    fn intended(&self, slot: f64) -> f64 {
        let piece =
            self.pieces.iter().rev().find(|piece| piece.from < slot).unwrap_or(&self.pieces[0]);
        piece.time + (slot - piece.slot) * piece.interval
    }

    /// Where the time of `slot` begins, without what it has forfeited.
    fn begins(&self, slot: f64) -> f64 {
        let piece =
            self.pieces.iter().rev().find(|piece| piece.from <= slot).unwrap_or(&self.pieces[0]);
        piece.time + (slot - piece.slot) * piece.interval
    }

    pub(super) fn release(&self, slot: f64) -> f64 {
        let interval = self.current().interval / self.rules.strictness;
        let paid = self.pay_back.map_or(f64::MIN, |line| line.time + (slot - line.slot) * interval);
        self.intended(slot).max(paid)
    }

    /// Whether `a < b`, if that can be decided. What is equal here is equal in the real pacer too,
    /// except that it may not be once a policy has acted.
    fn less(&self, a: f64, b: f64) -> Result<bool, Undecided> {
        let is_same = a.total_cmp(&b).is_eq() && !self.slack.by_policy();
        let is_near = !is_same && (a - b).abs() <= self.slack.get();
        if is_near || self.undecided { Err(Undecided) } else { Ok(a < b) }
    }

    /// How far off the intended start of a slot that has been held may be. The real pacer
    /// approximates what it has no room for: within the time that the pieces before the last
    /// [`EXACT_PIECES`] span.
    fn off(&self, slot: u64) -> f64 {
        let exact = self.pieces.len().saturating_sub(EXACT_PIECES);
        if index(slot) > self.pieces[exact].from {
            return 0.0;
        }
        (self.pieces[exact].time - self.pieces[0].time) / 8.0
    }

    pub(super) fn granted(&self) -> u64 {
        self.next - self.skipped - self.returned.len() as u64
    }

    /// Whether the schedule ends before this slot.
    pub(super) fn is_over(&self, slot: u64) -> Result<bool, Undecided> {
        let end = self.rules.until + self.paused;
        if end.is_infinite() {
            return Ok(slot >= self.rules.slots);
        }
        if self.off(slot) > 0.0 {
            return Err(Undecided);
        }
        Ok(slot >= self.rules.slots || !self.less(self.intended(index(slot)), end)?)
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

    /// Ends the paying back once its line has caught up with the schedule.
    fn settle(&mut self, now: f64) -> Result<(), Undecided> {
        let (now, interval) = (self.schedule_time(now), self.current().interval);
        let Some(paid) = self.paid(now) else { return Ok(()) };
        if self.less(self.due(now) * interval, paid * interval)? {
            self.pay_back = None;
        }
        Ok(())
    }

    /// The slot comes back, and the latest slots become the next ones again.
    pub(super) fn give_back(&mut self, slot: u64) {
        self.returned.insert(slot);
        while self.next > self.settled && self.returned.remove(&(self.next - 1)) {
            self.next -= 1;
        }
    }

    /// What was due and claimed counts as started when a policy comes into force.
    pub(super) fn set_rules(&mut self, rules: Rules, now: f64) {
        let was_open_loop = std::mem::replace(&mut self.rules, rules).is_open_loop();
        if !was_open_loop || rules.is_open_loop() {
            return;
        }
        let reached = self.reached(self.schedule_time(now + rules.lead));
        let (nearest, interval) = (reached.round(), self.current().interval);
        let is_near = (reached - nearest).abs() * interval <= self.slack.get();
        self.undecided |= is_near && (index(self.settled)..index(self.next)).contains(&nearest);
        // The real pacer has not tracked what started early, before the rate fell.
        self.undecided |= self.settled > count_up_to(reached);
        self.settled = self.settled.max(self.next.min(count_up_to(reached)));
    }

    /// Takes the next slots as one operation and starts it when it is due. Returns the answer, and
    /// when it comes.
    pub(super) fn acquire_by(
        &mut self,
        deadline: f64,
        slots: u64,
        mut now: f64,
    ) -> Result<(Answer, f64), Undecided> {
        loop {
            if self.closed {
                return Ok((Answer::Closed, now));
            }
            if self.is_over(self.first(slots) + slots - 1)? {
                return Ok((Answer::Finished, now));
            }
            if self.paused_since.is_some() {
                // The pacer might be resumed before the deadline.
                return Ok((Answer::Paused, now.max(deadline)));
            }
            self.settle(now)?;
            let due = self.due_from(index(self.first(slots)));
            if self.less(deadline.max(now), due)? {
                return Ok((Answer::NotUntil(due), now));
            }
            let slot = self.take_row(slots);
            // If it may not start now, the caller is held back until it may, or to its deadline.
            let is_early = self.less(now, due)?;
            if is_early {
                now = self.release(index(slot)).min(deadline);
            }
            self.settle(now)?;
            if self.judge(slot, slots, now, is_early && now < deadline)? {
                return Ok((self.starts(slot, now, 0.0), now));
            }
        }
    }

    /// A slot that is held starts if it is due. If it is skipped, the next one that is not takes
    /// its place, and starts or is held.
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
            if self.judge(slot, 1, now, false)? {
                return Ok((self.starts(slot, now, off), None));
            }
            slot = self.take();
        }
    }

    /// When a slot may start.
    fn due_from(&self, slot: f64) -> f64 {
        self.release(slot) - self.rules.lead
    }

    fn starts(&mut self, slot: u64, start: f64, off: f64) -> Answer {
        let intended = self.intended(index(slot));
        Answer::Granted { intended, start, off }
    }

    /// Applies the policy to slots that start, on time or not; false if they are skipped.
    fn judge(
        &mut self,
        slot: u64,
        slots: u64,
        now: f64,
        is_punctual: bool,
    ) -> Result<bool, Undecided> {
        let (place, limit) = (index(slot), self.rules.skip_later_than);
        if limit.is_finite() && self.less(self.intended(place), now - limit)? {
            self.skip(slots, now)?;
            return Ok(false);
        }
        self.early += u64::from(
            self.rules.lead > 0.0 && !is_punctual && self.less(now, self.intended(place))?,
        );
        if slot < self.settled {
            return Ok(true);
        }
        self.settled = slot + slots;
        let (gap, late) = (now - self.intended(place), now - self.release(place));
        let strictness = self.rules.strictness;
        let is_strict = (strictness - 1.0).abs() < f64::EPSILON;
        let is_late = |state: &State| Ok(!is_punctual && state.less(state.rules.tolerance, late)?);
        let burdened = strictness > 0.0 && (is_strict || is_late(self)?);
        let mut closed = if burdened && strictness <= 1.0 { gap * strictness } else { 0.0 };
        if burdened && strictness > 1.0 {
            self.pay_back = Some(PayBack { slot: place, time: now });
            self.slack.pay_back();
        }
        closed = closed.max(gap - self.rules.max_backlog);
        if closed > 0.0 {
            self.forfeit(place, closed);
        }
        Ok(true)
    }

    /// The slots behind this one start later. It keeps its own intended start, which shows how late
    /// it is.
    fn forfeit(&mut self, slot: f64, closed: f64) {
        let time = self.intended(slot) + closed;
        let at = self.pieces.iter().rposition(|piece| piece.since <= time).unwrap_or(0);
        let later: Vec<Piece> = self.pieces[at..].to_vec();
        self.pieces.retain(|piece| piece.from <= slot);
        self.push(Piece { from: slot, since: time, slot, time, interval: later[0].interval });
        for piece in &later[1..] {
            self.slack.change(self.current().interval, piece.interval);
            self.append(piece.interval, piece.since);
        }
        // Behind the end there is no time to be idle.
        let end = self.rules.until + self.paused;
        self.idle += time.min(end) - (time - closed).min(end);
        self.slack.forfeit(closed);
    }

    /// These slots are skipped because they are too late, and with them all that are too late and
    /// unclaimed.
    fn skip(&mut self, slots: u64, now: f64) -> Result<(), Undecided> {
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
        if let Some(line) = &mut self.pay_back
            && self.next > before
        {
            *line = PayBack { slot: index(self.next), time: now };
        }
        Ok(())
    }

    pub(super) fn books(&self, now: f64) -> Result<Books, Undecided> {
        if self.undecided {
            return Err(Undecided);
        }
        // Once for the beginning and once for the end of each slot.
        let off = self.returned.iter().map(|&slot| 2.0 * self.off(slot)).sum();
        let overdue =
            self.overdue(now - self.slack.get())?..=self.overdue(now + self.slack.get())?;
        let reached = self.reached(self.schedule_time(now));
        let now = self.schedule_time(now).min(self.ends());
        let elapsed = now - self.paused;
        let unused: f64 = self.returned.iter().map(|&slot| self.unused(index(slot), now)).sum();
        let given = self.begins(index(self.next)).min(now);
        let allocated = given - self.paused - self.idle - unused;
        let late = elapsed - self.idle - allocated;
        // The part of the lateness that the pay-back line has not reached yet is owed.
        let due = (self.begins(reached) - given).clamp(0.0, (late - unused).max(0.0));
        let waiting = if self.pay_back.is_some() { late - unused - due } else { 0.0 };
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
            overdue,
        })
    }

    /// When the schedule ends.
    fn ends(&self) -> f64 {
        let by_count = (self.rules.slots < u64::MAX).then(|| self.begins(index(self.rules.slots)));
        by_count.unwrap_or(f64::MAX).min(self.rules.until + self.paused)
    }

    fn overdue(&self, time: f64) -> Result<u64, Undecided> {
        let reached = self.reached(self.schedule_time(time));
        let mut overdue = 0;
        for &slot in self.returned.iter().filter(|&&slot| index(slot) <= reached) {
            overdue += u64::from(!self.is_over(slot)?);
        }
        // The first slot that is not due, or that there is no more.
        let (mut first, mut end) = (self.next, count_up_to(reached).max(self.next));
        while first < end {
            let middle = first.midpoint(end);
            if self.is_over(middle)? {
                end = middle;
            } else {
                first = middle + 1;
            }
        }
        Ok(overdue + end - self.next)
    }

    /// The interval of a slot that came back, up to now, without what its neighbours have
    /// forfeited.
    fn unused(&self, slot: f64, now: f64) -> f64 {
        self.intended(slot + 1.0).min(now) - self.begins(slot).min(now)
    }
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
pub(super) fn index(slot: u64) -> f64 {
    slot as f64
}

/// How many slots there are up to this position.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative, far below 2^52"
)]
fn count_up_to(reached: f64) -> u64 {
    (reached.floor() + 1.0).max(0.0) as u64
}
