//! What a thread learns of its own pauses: how far they overrun, when it last woke, and how much it may still spin.
//!
//! Kept per thread, because overrunning is between a thread and its operating system; for one pacer at a time, because
//! moments of two clocks can't be compared. A clock that does not run by itself teaches nothing.

use super::Hold;
use std::cell::Cell;

thread_local! {
    static HABIT: Cell<Habit> = const { Cell::new(Habit::NEW) };
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Habit {
    /// Which pacer's clock the moments are of.
    pacer: u64,
    /// When the thread last woke.
    pub(super) woke: i64,
    oversleep: Oversleep,
    /// Time that may be spent spinning, as of `credited`.
    credit: i64,
    credited: i64,
    /// Until then spinning is in somebody's way.
    crowded_until: i64,
}

/// Spinning can be saved up for so long.
const MOST_CREDIT_NS: i64 = 1_000_000;
/// A spinning thread that loses the processor for so long has met somebody who needs it ...
const CROWDED_NS: i64 = 200_000;
/// ... and does not spin again for this long.
const CROWDED_FOR_NS: i64 = 20_000_000;

impl Habit {
    const NEW: Habit = Habit {
        pacer: 0,
        woke: i64::MIN,
        oversleep: Oversleep::NEW,
        credit: MOST_CREDIT_NS,
        credited: i64::MAX,
        crowded_until: i64::MIN,
    };

    /// The calling thread's, if the clock runs by itself.
    pub(super) fn of<F: Fn() -> bool>(hold: &Hold<'_, F>) -> Option<Habit> {
        let (pacer, habit) = (hold.pausing.pacer, HABIT.get());
        hold.clock.is_real().then_some(if habit.pacer == pacer {
            habit
        } else {
            Habit { pacer, ..Habit::NEW }
        })
    }

    pub(super) fn keep(self) {
        HABIT.set(self);
    }

    /// A sleep to `until` has ended `now`.
    pub(super) fn slept(&mut self, until: i64, now: i64) {
        self.woke = now;
        if now >= until {
            self.oversleep.learn(now - until);
        }
    }

    /// How long before its moment a thread wakes to be there in time.
    pub(super) fn margin(&self) -> i64 {
        self.oversleep.margin()
    }

    /// How long the thread may spin from `now` on, when `share` of its time is allowed.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "a share of at most a second"
    )]
    pub(super) fn spin_credit(&mut self, now: i64, share: f64) -> i64 {
        let passed = now.saturating_sub(self.credited).clamp(0, 1_000_000_000);
        self.credit = self.credit.saturating_add((passed as f64 * share) as i64).min(MOST_CREDIT_NS);
        self.credited = now;
        if now < self.crowded_until { 0 } else { self.credit.max(0) }
    }

    /// `nanos` have been spent spinning until `now`, with the processor away for at most `longest_gap` in between.
    pub(super) fn spun(&mut self, nanos: i64, longest_gap: i64, now: i64) {
        self.credit -= nanos;
        if longest_gap > CROWDED_NS {
            self.crowded_until = now.saturating_add(CROWDED_FOR_NS);
        }
    }
}

/// The median and the spread (median deviation) of what sleeps overrun, followed step by step.
///
/// Each value moves the estimate by a step towards it, whatever its size, so that a stall of a second moves it no further than
/// a microsecond's worth: stochastic approximation of a quantile (Robbins and Monro, 1951).
#[derive(Clone, Copy, Debug)]
struct Oversleep {
    median: i64,
    spread: i64,
}

impl Oversleep {
    /// What a thread with default timers should expect; it learns within some dozens of pauses.
    const NEW: Oversleep = Oversleep { median: 20_000, spread: 5_000 };
    /// The estimates move by this part of themselves.
    const PART: i64 = 16;
    /// Margins outside of this are not worth it.
    const LEAST_NS: i64 = 2_000;
    const MOST_NS: i64 = 100_000;

    fn learn(&mut self, overrun: i64) {
        self.median = Self::towards(self.median, overrun);
        self.spread = Self::towards(self.spread, (overrun - self.median).abs());
    }

    fn towards(estimate: i64, value: i64) -> i64 {
        let step = estimate / Self::PART + 32;
        if value > estimate {
            estimate + step.min(value - estimate)
        } else {
            estimate - step.min(estimate - value)
        }
    }

    /// Four spreads beyond the median: almost all sleeps end before.
    fn margin(&self) -> i64 {
        (self.median + 4 * self.spread).clamp(Self::LEAST_NS, Self::MOST_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learnt(values: impl IntoIterator<Item = i64>) -> Oversleep {
        let mut oversleep = Oversleep::NEW;
        values.into_iter().for_each(|value| oversleep.learn(value));
        oversleep
    }

    #[test]
    fn a_steady_overrun_is_learnt_and_relearnt() {
        // After 300 equal values the estimates stand within a step of value / 16 + 32 of the value, and of 0.
        for value in [1_000, 3_000, 53_000] {
            let oversleep = learnt(std::iter::repeat_n(value, 300));
            assert!((oversleep.median - value).abs() <= value / 16 + 32, "{oversleep:?}");
            assert!(oversleep.spread <= value / 8 + 64, "{oversleep:?}");
        }
        let oversleep = learnt(std::iter::repeat_n(53_000, 300).chain(std::iter::repeat_n(3_000, 300)));
        assert!((oversleep.median - 3_000).abs() <= 3_000 / 16 + 32, "{oversleep:?}");
    }

    #[test]
    fn one_stall_moves_the_median_by_one_step() {
        let before = learnt(std::iter::repeat_n(3_000, 300));
        let mut after = before;
        after.learn(1_000_000_000);
        assert!(after.median - before.median <= before.median / 16 + 32);
    }

    #[test]
    fn spinning_is_bounded_by_its_share() {
        let mut habit = Habit::NEW;
        let mut spun = 0;
        // A tenth of every 100 us for 1 s, whatever is asked for: 0.1 s, and the credit that was there at first.
        for tick in 0..10_000 {
            let now = tick * 100_000;
            let allowed = habit.spin_credit(now, 0.1).min(50_000);
            habit.spun(allowed, 0, now);
            spun += allowed;
        }
        assert!(spun <= 100_000_000 + MOST_CREDIT_NS, "{spun}");
        assert!(spun >= 99_000_000, "{spun}");
    }

    #[test]
    fn who_loses_the_processor_while_spinning_sleeps_for_a_while() {
        let mut habit = Habit::NEW;
        habit.spun(10, CROWDED_NS + 1, 1_000);
        assert_eq!(habit.spin_credit(2_000, 1.0), 0);
        assert!(habit.spin_credit(1_000 + CROWDED_FOR_NS, 1.0) > 0);
    }
}
