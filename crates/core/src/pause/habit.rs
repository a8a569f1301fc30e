//! What a thread learns of its own pauses: how far they overrun, what they cost, and how much it may still spin.
//!
//! Kept per thread, because overrunning is between a thread and its operating system. Moments are those of the last pacer
//! only, because those of two clocks can't be compared; spans stay what they are when the thread turns to another pacer.
//! A clock that does not run by itself teaches nothing.

use super::{Hold, Pausing};
use std::cell::Cell;

thread_local! {
    static HABIT: Cell<Habit> = const { Cell::new(Habit::NEW) };
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Habit {
    /// Which pacer's clock the moments are of.
    pacer: u64,
    /// What the thread last slept to.
    slept_to: i64,
    oversleep: Quantile,
    /// Processor time that going to sleep and waking up takes.
    cost: Quantile,
    /// Time that may be spent spinning, as of `credited`.
    credit: i64,
    /// For so long spinning is in somebody's way, as of `credited`.
    crowded: i64,
    credited: i64,
}

/// Margins outside of this are not worth it.
const LEAST_MARGIN_NS: i64 = 2_000;
const MOST_MARGIN_NS: i64 = 100_000;
/// Spinning can be saved up for so long.
const MOST_CREDIT_NS: i64 = 1_000_000;
/// A spinning thread that loses the processor for so long has met somebody who needs it ...
const CROWDED_NS: i64 = 200_000;
/// ... and does not spin again for this long.
const CROWDED_FOR_NS: i64 = 20_000_000;

impl Habit {
    const NEW: Habit = Habit {
        pacer: 0,
        slept_to: i64::MIN,
        // What a thread with default timers should expect ...
        oversleep: Quantile { value: 60_000, percent: 94 },
        // ... and what a sleep costs on Linux and bare metal. Both are learnt within some dozens of sleeps.
        cost: Quantile { value: 3_000, percent: 50 },
        credit: MOST_CREDIT_NS,
        crowded: 0,
        credited: i64::MAX,
    };

    /// The calling thread's, if the clock runs by itself.
    pub(super) fn of<F: Fn() -> bool>(hold: &Hold<'_, F>) -> Option<Habit> {
        let (pacer, habit) = (hold.pausing.pacer, HABIT.get());
        hold.clock.is_real().then_some(if habit.pacer == pacer {
            habit
        } else {
            Habit { pacer, slept_to: Habit::NEW.slept_to, credited: Habit::NEW.credited, ..habit }
        })
    }

    pub(super) fn keep(self) {
        HABIT.set(self);
    }

    /// A sleep to `until` has ended `now`.
    pub(super) fn slept(&mut self, until: i64, now: i64) {
        self.slept_to = until.min(now);
        if now >= until {
            self.oversleep.learn(now - until);
        }
    }

    /// A sleep has taken `nanos` of processor time.
    pub(super) fn paid(&mut self, nanos: i64) {
        if nanos > 0 {
            self.cost.learn(nanos);
        }
    }

    /// The earliest moment to wake again that keeps sleeping within its share.
    pub(super) fn wakes_again(&self, pausing: &Pausing) -> i64 {
        self.slept_to.saturating_add(pausing.sleep_period_ns(self.cost.value))
    }

    /// How long before its moment a thread wakes to be there in time: almost all sleeps overrun by less.
    pub(super) fn margin(&self) -> i64 {
        self.oversleep.value.clamp(LEAST_MARGIN_NS, MOST_MARGIN_NS)
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
        self.crowded = (self.crowded - passed).max(0);
        self.credited = now;
        if self.crowded > 0 { 0 } else { self.credit.max(0) }
    }

    /// There was no processor to spin on.
    pub(super) fn crowded_out(&mut self) {
        self.crowded = CROWDED_FOR_NS;
    }

    /// `nanos` have been spent spinning since `credited`, with the processor away for at most `longest_gap` in between.
    pub(super) fn spun(&mut self, nanos: i64, longest_gap: i64) {
        self.credit -= nanos;
        if longest_gap > CROWDED_NS {
            self.crowded = nanos.saturating_add(CROWDED_FOR_NS);
        }
    }
}

/// The value that `percent` of all values stay below, followed step by step, in nanoseconds.
///
/// Each value moves the estimate by a step towards it, whatever its size, so that a stall of a second moves it no further than
/// any other late waking; steps up and down balance where the wanted part lies below: stochastic approximation of a
/// quantile (Robbins and Monro, 1951). Steps are a part of the estimate, so it follows a change of load at any scale.
#[derive(Clone, Copy, Debug)]
struct Quantile {
    value: i64,
    percent: i64,
}

impl Quantile {
    fn learn(&mut self, seen: i64) {
        let step = self.value / 8 + 32;
        if seen > self.value {
            self.value += step * self.percent / 100;
        } else {
            self.value -= step * (100 - self.percent) / 100;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learnt(percent: i64, from: i64, values: impl IntoIterator<Item = i64>) -> i64 {
        let mut quantile = Quantile { value: from, percent };
        values.into_iter().for_each(|value| quantile.learn(value));
        quantile.value
    }

    /// Around a steady value the estimate steps up by at most value / 8 + 32 at once, and down by less.
    #[test]
    fn a_steady_value_is_learnt_and_relearnt() {
        for (percent, from, value) in
            [(94, 60_000, 3_000), (94, 1_000, 53_000), (50, 3_000, 26_000), (50, 53_000, 1_000)]
        {
            let value_learnt = learnt(percent, from, std::iter::repeat_n(value, 1_000));
            assert!((value_learnt - value).abs() <= value / 8 + 34, "{percent} % of {value}: {value_learnt}");
        }
    }

    /// Values spread evenly over 0 to 99 us have their quantile at that many us; the mean of the estimate over many values is
    /// within an eighth of it, which is the size of a step.
    #[test]
    fn a_quantile_is_what_a_part_stays_below() {
        for percent in [Habit::NEW.cost.percent, Habit::NEW.oversleep.percent] {
            let mut quantile = Quantile { value: 60_000, percent };
            let mut sum = 0;
            for index in 0..100_000_i64 {
                quantile.learn(index * 37 % 100 * 1_000);
                sum += quantile.value;
            }
            let (mean, wanted) = (sum / 100_000, percent * 1_000);
            assert!((mean - wanted).abs() <= wanted / 8, "{percent} %: {mean}");
        }
    }

    #[test]
    fn one_stall_moves_the_estimate_by_one_step() {
        let before = learnt(94, 60_000, std::iter::repeat_n(3_000, 1_000));
        let after = learnt(94, before, [1_000_000_000]);
        assert!(after - before <= before / 8 + 32);
    }

    #[test]
    fn spinning_is_bounded_by_its_share() {
        let mut habit = Habit::NEW;
        let mut spun = 0;
        // A tenth of every 100 us for 1 s, whatever is asked for: 0.1 s, and the credit that was there at first.
        for tick in 0..10_000 {
            let now = tick * 100_000;
            let allowed = habit.spin_credit(now, 0.1).min(50_000);
            habit.spun(allowed, 0);
            spun += allowed;
        }
        assert!(spun <= 100_000_000 + MOST_CREDIT_NS, "{spun}");
        assert!(spun >= 99_000_000, "{spun}");
    }

    #[test]
    fn who_loses_the_processor_while_spinning_sleeps_for_a_while() {
        let mut habit = Habit::NEW;
        assert!(habit.spin_credit(1_000, 1.0) > 0);
        habit.spun(10, CROWDED_NS + 1);
        assert_eq!(habit.spin_credit(1_009 + CROWDED_FOR_NS, 1.0), 0);
        assert!(habit.spin_credit(1_010 + CROWDED_FOR_NS, 1.0) > 0);
        habit.crowded_out();
        assert_eq!(habit.spin_credit(1_009 + 2 * CROWDED_FOR_NS, 1.0), 0);
        assert!(habit.spin_credit(1_010 + 2 * CROWDED_FOR_NS, 1.0) > 0);
    }
}
