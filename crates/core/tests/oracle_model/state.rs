//! The plain pacer's rules.

use super::{Answer, Books, PayBack, Piece, Rules, State, Undecided};

/// The real pacer remembers 32 pieces of schedule, the oldest of which may stand for several.
const EXACT_PIECES: usize = 31;

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
        if self.pieces.len() > EXACT_PIECES {
            self.pieces.remove(0);
        }
    }

    pub(super) fn re_anchor_pay_back(&mut self, old_interval: f64, now: f64) {
        let speed = self.rules.strictness / old_interval;
        if let Some(line) = &mut self.pay_back {
            *line = PayBack { slot: line.slot + (now - line.time) * speed, time: now };
        }
    }

    fn intended(&self, slot: f64) -> f64 {
        let piece = self.pieces.iter().rev().find(|piece| piece.from < slot).unwrap_or(&self.pieces[0]);
        piece.time + (slot - piece.slot) * piece.interval
    }

    /// Where the time of `slot` begins, without what it has forfeited.
    fn begins(&self, slot: f64) -> f64 {
        let piece = self.pieces.iter().rev().find(|piece| piece.from <= slot).unwrap_or(&self.pieces[0]);
        piece.time + (slot - piece.slot) * piece.interval
    }

    pub(super) fn release(&self, slot: f64) -> f64 {
        let interval = self.current().interval / self.rules.strictness;
        let paid = self.pay_back.map_or(f64::MIN, |line| line.time + (slot - line.slot) * interval);
        self.intended(slot).max(paid)
    }

    /// Whether `a < b`, where that can be told. What is equal here is equal there, but for chance once a policy has acted.
    fn less(&self, a: f64, b: f64) -> Result<bool, Undecided> {
        let is_same = a.total_cmp(&b).is_eq() && !self.slack.by_policy();
        let is_near = !is_same && (a - b).abs() <= self.slack.get();
        if is_near { Err(Undecided) } else { Ok(a < b) }
    }

    fn remembered(&self, slot: f64) -> Result<(), Undecided> {
        if slot <= self.pieces[0].from { Err(Undecided) } else { Ok(()) }
    }

    pub(super) fn granted(&self) -> u64 {
        self.next - self.skipped - self.returned.len() as u64
    }

    pub(super) fn is_endless(&self) -> bool {
        let Rules { strictness, max_backlog, skip_later_than, .. } = self.rules;
        strictness == 0.0 && max_backlog.is_infinite() && skip_later_than.is_infinite()
    }

    fn first(&self) -> u64 {
        self.returned.first().copied().unwrap_or(self.next)
    }

    pub(super) fn take(&mut self) -> u64 {
        self.returned.pop_first().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        })
    }

    fn refusal(&self) -> Option<Answer> {
        if self.closed {
            return Some(Answer::Closed);
        }
        self.paused_since.map(|_| Answer::Paused)
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

    /// The latest slot becomes the next one again.
    pub(super) fn give_back(&mut self, slot: u64) {
        if self.next == slot + 1 {
            self.next = slot;
        } else {
            self.returned.insert(slot);
        }
    }

    pub(super) fn acquire_by(&mut self, deadline: f64, now: f64) -> Result<Answer, Undecided> {
        loop {
            if let Some(refusal) = self.refusal() {
                if refusal == Answer::Paused && now < deadline {
                    self.hold_meanwhile();
                }
                return Ok(refusal);
            }
            self.settle(now)?;
            let slot = index(self.first());
            self.remembered(slot)?;
            if self.less(deadline, self.release(slot))? {
                return Ok(Answer::NotUntil(self.release(slot)));
            }
            let slot = self.take();
            if self.judge(slot, now)? {
                return Ok(self.starts(slot, now));
            }
        }
    }

    pub(super) fn claim(&mut self, now: f64) -> Result<Answer, Undecided> {
        loop {
            if self.closed {
                return Ok(Answer::Closed);
            }
            let slot = self.take();
            if self.passes(slot, now)? {
                return Ok(Answer::Held(slot));
            }
        }
    }

    pub(super) fn acquire(&mut self, now: f64) -> Result<Answer, Undecided> {
        match self.claim(now)? {
            Answer::Held(slot) => Ok(self.starts(slot, now)),
            refusal => {
                self.hold_meanwhile();
                Ok(refusal)
            }
        }
    }

    /// Who is refused after waiting, or without a look, has had a slot meanwhile.
    fn hold_meanwhile(&mut self) {
        let slot = self.take();
        self.give_back(slot);
    }

    /// A row starts with its first slot, and is judged and skipped with it. None of it has been given back by somebody else.
    pub(super) fn acquire_many(&mut self, slots: u64, now: f64) -> Result<Answer, Undecided> {
        loop {
            if self.closed {
                return Ok(Answer::Closed);
            }
            let first = self.next;
            self.next += slots;
            if self.passes(first, now)? {
                return Ok(self.starts(first, now));
            }
            self.skipped += slots - 1;
        }
    }

    /// Whether a slot that has just been claimed is not skipped.
    pub(super) fn passes(&mut self, slot: u64, now: f64) -> Result<bool, Undecided> {
        self.settle(now)?;
        self.remembered(index(slot))?;
        Ok(self.paused_since.is_some() || self.judge(slot, now)?)
    }

    /// The caller is held back until the slot is due.
    pub(super) fn starts(&self, slot: u64, now: f64) -> Answer {
        let (intended, release) = (self.intended(index(slot)), self.release(index(slot)));
        Answer::Granted(slot, intended, (now.max(release) - intended).max(0.0))
    }

    pub(super) fn start(&mut self, slot: u64, now: f64) -> Result<Answer, Undecided> {
        if let Some(refusal) = self.refusal() {
            return Ok(refusal);
        }
        self.remembered(index(slot))?;
        if self.less(now, self.release(index(slot)))? {
            return Ok(Answer::NotUntil(self.release(index(slot))));
        }
        Ok(self.starts(slot, now))
    }

    /// The policy's word on a claim; false: skipped.
    fn judge(&mut self, slot: u64, now: f64) -> Result<bool, Undecided> {
        let (place, limit) = (index(slot), self.rules.skip_later_than);
        if limit.is_finite() && self.less(self.intended(place), now - limit)? {
            self.skip(now)?;
            return Ok(false);
        }
        if self.release(place) >= now || self.forfeited.last().is_some_and(|&(last, _)| place <= last) {
            return Ok(true);
        }
        let (gap, late) = (now - self.intended(place), now - self.release(place));
        let strictness = self.rules.strictness;
        let is_strict = (strictness - 1.0).abs() < f64::EPSILON;
        let burdened = strictness > 0.0 && (is_strict || self.less(self.rules.tolerance, late)?);
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

    /// The slots behind this one start later; it keeps its intended start, and says how late it is.
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
        self.forfeited.push((slot, closed));
        self.slack.forfeit(closed);
    }

    /// One slot is skipped for being too late, and with it all that nobody has claimed yet.
    fn skip(&mut self, now: f64) -> Result<(), Undecided> {
        self.skipped += 1;
        while self.less(self.intended(index(self.next)), now - self.rules.skip_later_than)? {
            self.next += 1;
            self.skipped += 1;
        }
        if let Some(line) = &mut self.pay_back {
            *line = PayBack { slot: index(self.next), time: now };
        }
        Ok(())
    }

    pub(super) fn books(&self, now: f64) -> Result<Books, Undecided> {
        self.returned.iter().try_for_each(|&slot| self.remembered(index(slot)))?;
        let now = self.schedule_time(now);
        let elapsed = now - self.paused;
        let unused: f64 = self.returned.iter().map(|&slot| self.unused(index(slot), now)).sum();
        let next = index(self.next);
        let given = self.begins(next).min(now);
        let allocated = given - self.paused - self.forfeited_up_to(next) - unused;
        let idle = self.forfeited_up_to(f64::MAX);
        let late = elapsed - idle - allocated;
        // Of what is late, what the pay-back line has not come to yet is owed.
        let due = (self.begins(self.reached(now)) - given).clamp(0.0, (late - unused).max(0.0));
        let waiting = if self.pay_back.is_some() { late - unused - due } else { 0.0 };
        Ok(Books {
            elapsed,
            allocated,
            idle,
            waiting,
            backlog: late - waiting,
            granted: self.granted(),
            skipped: self.skipped,
            overdue: self.overdue(now - self.slack.get())..=self.overdue(now + self.slack.get()),
        })
    }

    fn overdue(&self, time: f64) -> u64 {
        let reached = self.reached(time);
        let returned = self.returned.iter().filter(|&&slot| index(slot) <= reached).count() as u64;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "not negative, far below 2^52"
        )]
        let new = (reached.floor() + 1.0 - index(self.next)).max(0.0) as u64;
        returned + new
    }

    fn forfeited_up_to(&self, last: f64) -> f64 {
        self.forfeited.iter().filter(|&&(slot, _)| slot <= last).map(|&(_, closed)| closed).sum()
    }

    /// The interval of a slot that came back, as far as the schedule has come; without what its neighbours have forfeited.
    fn unused(&self, slot: f64, now: f64) -> f64 {
        self.intended(slot + 1.0).min(now) - self.begins(slot).min(now)
    }
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
pub(super) fn index(slot: u64) -> f64 {
    slot as f64
}
