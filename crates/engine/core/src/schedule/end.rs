//! Defines the end of a schedule: after a number of slots, after a duration, or with its shape.
//!
//! An end by count or by duration excludes its own position or time. The end of a shape includes the shape's last
//! nanosecond. An end *by time* is an end by duration or by shape. The account of time ends with the earliest of all
//! ends.

use super::history::History;
use crate::position::{RANGE, SLOT, after, earlier};

/// The maximum distance to an end in slots. An end that is farther ahead can't be distinguished from an end that is
/// past.
const MOST_AHEAD: u64 = RANGE.unsigned_abs() / SLOT;

/// The end of a schedule. By default a schedule has no end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    /// The maximum number of slots of the schedule. `None` if the number is not limited.
    slots: Option<u64>,
    /// The first position after the last of these slots. `None` until that position is within range.
    position: Option<u64>,
    /// The time of the end by duration, which a pause moves. `i64::MAX` means never.
    by_duration: i64,
    /// The last nanosecond of the shape, which a pause moves, too. `i64::MAX` means never.
    by_shape: i64,
    /// A number that grows with every change that moves the end.
    revision: u64,
}

impl End {
    /// Creates an end after `slots` slots or at the time `by_duration`, whichever comes first.
    pub(crate) fn new(slots: Option<u64>, by_duration: Option<i64>) -> End {
        let by_duration = by_duration.unwrap_or(i64::MAX);
        let mut end = End { slots, position: None, by_duration, by_shape: i64::MAX, revision: 0 };
        end.count_claimed(0, 0);
        end
    }

    /// Returns this end with a shape that ends at `moment`. `i64::MAX` means never.
    pub(super) fn with_shape(self, moment: i64) -> End {
        End { by_shape: moment, revision: self.revision + 1, ..self }
    }

    /// Records that `claimed` slots lie before the position `next`. Computes the position of the end by count as soon
    /// as that position is within range.
    pub(super) fn count_claimed(&mut self, next: u64, claimed: u64) {
        if let Some(left) = self.slots.and_then(|slots| slots.checked_sub(claimed))
            && self.position.is_none()
            && left <= MOST_AHEAD
        {
            self.position = Some(after(next, left));
            self.revision += 1;
        }
    }

    /// Moves the ends by time later by `span_ns`.
    pub(super) fn shift(&mut self, span_ns: i64) {
        // `i64::MAX` still means never.
        self.by_duration = self.by_duration.saturating_add(span_ns);
        self.by_shape = self.by_shape.saturating_add(span_ns);
        self.revision += 1;
    }

    /// Makes callers compute the end again, because more slots before it may be known.
    pub(super) fn look_again(&mut self) {
        self.revision += 1;
    }

    /// Returns a number that grows with every change that moves the end.
    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    /// Returns the last nanosecond of the shape. `i64::MAX` means never.
    pub(super) fn of_shape(&self) -> i64 {
        self.by_shape
    }

    /// Returns the time of the end by time. `i64::MAX` means never.
    fn by_time(&self) -> i64 {
        self.by_duration.min(self.by_shape)
    }

    /// Returns the first position after the last slot. Returns `None` if that position is out of range or not known
    /// yet: slots before it may still be leased, or still have to be read from a recording.
    pub(super) fn position(&self, history: &History) -> Option<u64> {
        let is_known = |time: i64| time < i64::MAX && history.is_known_until(time);
        let first_from = |time: i64| is_known(time).then(|| history.first_from(time));
        [self.position, first_from(self.by_duration), first_from(self.by_shape.saturating_add(1))]
            .into_iter()
            .flatten()
            .reduce(earlier)
    }

    /// Returns whether the schedule ends at a known time.
    pub(super) fn is_by_time(&self) -> bool {
        self.by_time() < i64::MAX
    }

    /// Returns whether a slot with this intended start is after an end by time. Returns false for `i64::MAX`, which
    /// means unknown.
    pub(super) fn is_past(&self, moment: i64) -> bool {
        moment < i64::MAX && (moment >= self.by_duration || moment > self.by_shape)
    }

    /// Returns whether the end by duration has been reached at `moment`. After it, no change continues the schedule.
    pub(super) fn is_over(&self, moment: i64) -> bool {
        moment >= self.by_duration
    }

    /// Returns `moment`, or the time of the end by time if that is earlier.
    pub(super) fn no_later_than_end(&self, moment: i64) -> i64 {
        self.by_time().min(moment)
    }

    /// Returns `moment`, or the first time at which the end by time allows no slot, if that is earlier.
    pub(super) fn no_later_than_first_without_slot(&self, moment: i64) -> i64 {
        moment.min(self.by_duration).min(self.by_shape.saturating_add(1))
    }

    /// Returns the maximum number of slots of the schedule, or `u64::MAX` without a limit.
    pub(super) fn most(&self) -> u64 {
        self.slots.unwrap_or(u64::MAX)
    }

    /// Returns the time at which the schedule ends, by whichever end comes first.
    pub(super) fn moment(&self, history: &History) -> i64 {
        let by_count = self.position.map(|position| history.passes(position));
        by_count.unwrap_or(i64::MAX).min(self.by_time())
    }
}
