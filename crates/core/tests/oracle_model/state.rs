//! The plain pacer's rules.

use super::{Answer, Books, PayBack, Piece, State, TooClose};

/// As many pieces back the real pacer promises exact intended starts; it remembers a few more.
const PIECES: usize = 24;

impl State {
    pub(super) fn current(&self) -> &Piece {
        self.pieces.last().expect("never empty")
    }

    pub(super) fn schedule_time(&self, now: f64) -> f64 {
        self.paused_since.unwrap_or(now)
    }

    pub(super) fn append(&mut self, interval: f64, now: f64) {
        let current = *self.current();
        let slot = current.slot + (now - current.time) / current.interval;
        // What was due keeps its intended start.
        let from = slot.max(current.from);
        self.pieces.push(Piece { from, since: now, slot, time: now, interval });
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

    /// Whether `a < b`, where that can be told. What is equal to the last bit is one moment that both pacers were given, such as the
    /// first slot's: chance does not bring two results of different sums together so exactly.
    fn less(&self, a: f64, b: f64) -> Result<bool, TooClose> {
        let is_near = !a.total_cmp(&b).is_eq() && (a - b).abs() <= self.slack.get();
        if is_near { Err(TooClose) } else { Ok(a < b) }
    }

    fn remembered(&self, slot: f64) -> Result<(), TooClose> {
        let newer = self.pieces.iter().filter(|piece| piece.from > slot).count();
        if newer > PIECES { Err(TooClose) } else { Ok(()) }
    }

    fn first(&self) -> u64 {
        self.returned.first().copied().unwrap_or(self.next)
    }

    fn take(&mut self) -> u64 {
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
    fn settle(&mut self, now: f64) -> Result<(), TooClose> {
        let (now, current) = (self.schedule_time(now), *self.current());
        let Some(line) = self.pay_back else { return Ok(()) };
        let due = current.slot + (now - current.time) / current.interval;
        let paid = line.slot + (now - line.time) * self.rules.strictness / current.interval;
        if self.less(due * current.interval, paid * current.interval)? {
            self.pay_back = None;
        }
        Ok(())
    }

    pub(super) fn try_acquire(&mut self, now: f64) -> Result<Answer, TooClose> {
        loop {
            if let Some(refusal) = self.refusal() {
                return Ok(refusal);
            }
            self.settle(now)?;
            let slot = index(self.first());
            self.remembered(slot)?;
            if self.less(now, self.release(slot))? {
                return Ok(Answer::NotUntil(self.release(slot)));
            }
            let slot = self.take();
            if self.judge(slot, now)? {
                let intended = self.intended(index(slot));
                return Ok(Answer::Granted(slot, intended, (now - intended).max(0.0)));
            }
        }
    }

    pub(super) fn claim(&mut self, now: f64) -> Result<Answer, TooClose> {
        loop {
            if self.closed {
                return Ok(Answer::Closed);
            }
            self.settle(now)?;
            let slot = self.take();
            self.remembered(index(slot))?;
            if self.paused_since.is_some() || self.judge(slot, now)? {
                return Ok(Answer::Held(slot));
            }
        }
    }

    pub(super) fn start(&mut self, slot: u64, now: f64) -> Result<Answer, TooClose> {
        if let Some(refusal) = self.refusal() {
            return Ok(refusal);
        }
        self.remembered(index(slot))?;
        if self.less(now, self.release(index(slot)))? {
            return Ok(Answer::NotUntil(self.release(index(slot))));
        }
        let intended = self.intended(index(slot));
        Ok(Answer::Granted(slot, intended, (now - intended).max(0.0)))
    }

    /// The policy's word on a claim; false: skipped.
    fn judge(&mut self, slot: u64, now: f64) -> Result<bool, TooClose> {
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
        self.pieces.push(Piece { from: slot, since: time, slot, time, interval: later[0].interval });
        for piece in &later[1..] {
            self.slack.change(self.current().interval, piece.interval);
            self.append(piece.interval, piece.since);
        }
        self.forfeited.push((slot, closed));
        self.slack.forfeit(closed);
    }

    /// One slot is skipped for being too late, and with it all that nobody has claimed yet.
    fn skip(&mut self, now: f64) -> Result<(), TooClose> {
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

    pub(super) fn books(&self, now: f64) -> Result<Books, TooClose> {
        self.returned.iter().try_for_each(|&slot| self.remembered(index(slot)))?;
        let now = self.schedule_time(now);
        let elapsed = now - self.paused;
        let unused: f64 = self.returned.iter().map(|&slot| self.unused(index(slot), now)).sum();
        let next = index(self.next);
        let allocated = self.begins(next).min(now) - self.paused - self.forfeited_up_to(next) - unused;
        let idle = self.forfeited_up_to(f64::MAX);
        Ok(Books {
            elapsed,
            allocated,
            idle,
            late: elapsed - idle - allocated,
            granted: self.next - self.skipped - self.returned.len() as u64,
            skipped: self.skipped,
        })
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
fn index(slot: u64) -> f64 {
    slot as f64
}
