//! Defines the end of a schedule: after a number of slots, after a duration, or with its shape.
//!
//! An end by count or by duration excludes its own position or time. The end of a shape includes the shape's last
//! nanosecond. An end *by time* is an end by duration or by shape. The account of time ends with the earliest of all
//! ends.

use super::history::History;
use crate::position::{RANGE, SLOT, after, earlier};

/// The position of an end by count is computed once at most this number of slots is left before the end. Positions that
/// are too far apart cannot be compared.
const MOST_AHEAD: u64 = RANGE.unsigned_abs() / SLOT;

#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    slots: Option<u64>,
    /// The first position after the last of `slots`. `None` without `slots`, and until that position is within range.
    position: Option<u64>,
    /// The time of the end by duration, which a pause moves. `i64::MAX` means never.
    by_duration: i64,
    /// The last nanosecond of the shape, which a pause moves, too. `i64::MAX` means never.
    by_shape: i64,
    revision: u64,
}

impl End {
    pub(crate) fn new(slots: Option<u64>, by_duration: Option<i64>) -> End {
        let by_duration = by_duration.unwrap_or(i64::MAX);
        let mut end = End { slots, position: None, by_duration, by_shape: i64::MAX, revision: 0 };
        end.count_claimed(0, 0);
        end
    }

    pub(super) fn with_shape(self, moment: i64) -> End {
        End { by_shape: moment, revision: self.revision + 1, ..self }
    }

    pub(super) fn count_claimed(&mut self, next: u64, claimed: u64) {
        if let Some(left) = self.slots.and_then(|slots| slots.checked_sub(claimed))
            && self.position.is_none()
            && left <= MOST_AHEAD
        {
            self.position = Some(after(next, left));
            self.revision += 1;
        }
    }

    pub(super) fn shift(&mut self, span_ns: i64) {
        self.by_duration = self.by_duration.saturating_add(span_ns);
        self.by_shape = self.by_shape.saturating_add(span_ns);
        self.revision += 1;
    }

    /// Makes callers compute the end again, because more slots before the end may be known.
    pub(super) fn look_again(&mut self) {
        self.revision += 1;
    }

    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    pub(super) fn of_shape(&self) -> i64 {
        self.by_shape
    }

    fn by_time(&self) -> i64 {
        self.by_duration.min(self.by_shape)
    }

    /// Returns `None` also while slots before the end may still be leased or have to be read from a recording.
    pub(super) fn position(&self, history: &History) -> Option<u64> {
        let is_known = |time: i64| time < i64::MAX && history.is_known_until(time);
        let first_from = |time: i64| is_known(time).then(|| history.first_from(time));
        [self.position, first_from(self.by_duration), first_from(self.by_shape.saturating_add(1))]
            .into_iter()
            .flatten()
            .reduce(earlier)
    }

    pub(super) fn is_by_time(&self) -> bool {
        self.by_time() < i64::MAX
    }

    /// `i64::MAX` means that the intended start is unknown, so the result is false.
    pub(super) fn is_past(&self, moment: i64) -> bool {
        moment < i64::MAX && (moment >= self.by_duration || moment > self.by_shape)
    }

    /// After the end by duration, no change continues the schedule.
    pub(super) fn is_over(&self, moment: i64) -> bool {
        moment >= self.by_duration
    }

    pub(super) fn no_later_than_end(&self, moment: i64) -> i64 {
        self.by_time().min(moment)
    }

    pub(super) fn no_later_than_first_without_slot(&self, moment: i64) -> i64 {
        moment.min(self.by_duration).min(self.by_shape.saturating_add(1))
    }

    pub(super) fn most(&self) -> u64 {
        self.slots.unwrap_or(u64::MAX)
    }

    pub(super) fn moment(&self, history: &History) -> i64 {
        let by_count = self.position.map(|position| history.passes(position));
        by_count.unwrap_or(i64::MAX).min(self.by_time())
    }
}
