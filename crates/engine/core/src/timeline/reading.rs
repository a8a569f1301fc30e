//! Limits how many slots may be granted with one reading of the clock.
//!
//! The wait time of a slot is too short by the age of the reading that its grant uses. The number of slots for one
//! reading therefore follows the pace at which callers claim slots, measured between two readings. At a steady pace, a
//! reading is at most about [`YOUNG_NS`] old. After a break between two claims, the reading from before the break may
//! still serve as many slots as callers would have claimed within [`YOUNG_NS`] at their earlier pace.

/// The approximate maximum age of the clock reading in a grant, in nanoseconds.
const YOUNG_NS: u64 = 10_000;

const MOST_SLOTS: u64 = 2048;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    /// The number of slots that the lane has started with its last reading of the clock.
    pub(crate) used: u64,
    pub(crate) read_at: i64,
}

impl Pace {
    pub(crate) fn allowance(self, now: i64) -> u64 {
        allowance(self.used, now.saturating_sub(self.read_at))
    }
}

/// The result is at most twice `used`, because a pace that was measured over a few slots is not precise. The result
/// includes the slot for which the reading is made. That slot starts even if the result is zero.
fn allowance(used: u64, elapsed_ns: i64) -> u64 {
    let used = used.min(MOST_SLOTS);
    let at_this_pace = (used * YOUNG_NS).saturating_sub(1) / elapsed_ns.max(1).unsigned_abs();
    at_this_pace.min(2 * used).min(MOST_SLOTS)
}

/// The slot for which the reading was made does not count. If no time has passed since the last reading, the two
/// readings count as one, until [`MOST_SLOTS`] slots have been claimed in between.
pub(crate) fn more(used: u64, elapsed_ns: i64) -> u64 {
    let more = allowance(used, elapsed_ns).saturating_sub(1);
    if is_the_same(used, elapsed_ns) { more.min(MOST_SLOTS - 1 - used) } else { more }
}

pub(crate) fn is_the_same(used: u64, elapsed_ns: i64) -> bool {
    elapsed_ns <= 0 && used < MOST_SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_pace_allows_the_slots_that_it_takes_in_ten_microseconds() {
        for (used, elapsed_ns, allowed) in [
            (0, 0, 0),
            (1, 20_000_000, 0),
            (1, 10_000, 0),
            (1, 9_999, 1),
            (1, 30, 2),
            (100, 500, 200),
            (100, 100_000, 9),
            (2_000, 10_000, 1_999),
            (1 << 40, 9_999, 2_048),
            (u64::MAX, i64::MIN, 2_048),
        ] {
            assert_eq!(allowance(used, elapsed_ns), allowed, "{used} slots in {elapsed_ns} ns");
        }
    }

    #[test]
    fn a_reading_serves_the_most_slots_with_its_own() {
        assert_eq!((more(1 << 40, 1), more(1, 30), more(1, 9_999)), (MOST_SLOTS - 1, 1, 0));
        assert_eq!((more(1, 0), more(1_500, 0), more(2_047, 0)), (1, 547, 0));
        assert_eq!(more(2_048, 0), MOST_SLOTS - 1);
    }

    proptest! {
        #[test]
        fn a_reading_stays_young(used in 1_u64..1 << 30, elapsed_ns in 1_i64..1 << 40) {
            let each_ns = elapsed_ns.unsigned_abs() / used.min(MOST_SLOTS);
            prop_assert!(allowance(used, elapsed_ns) * each_ns <= YOUNG_NS);
        }
    }
}
