//! Derives two figures from the cost of a sleep: the highest rate at which each start has its own sleep, and the length
//! of the clumps of starts above that rate.

use crate::console::human;
use nanopace::Pause;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sleeping {
    pub(crate) cost: Duration,
}

pub(crate) const CLUMPED_HZ: [u32; 2] = [100_000, 1_000_000];

impl Sleeping {
    /// Returns the time between two wake-ups at which sleeping uses exactly its share of a core.
    pub(crate) fn clump(self) -> Duration {
        self.cost.div_f64(Pause::DEFAULT_SLEEP_SHARE)
    }

    pub(crate) fn clumped_above_hz(self) -> f64 {
        1.0 / self.clump().min(Pause::CLUMPED_BELOW).as_secs_f64()
    }

    pub(crate) fn starts_at(self, hz: u32) -> u128 {
        ((self.clump().as_nanos() * u128::from(hz) + 500_000_000) / 1_000_000_000).max(1)
    }

    pub(crate) fn clumps(self) -> String {
        let [some, many] =
            CLUMPED_HZ.map(|hz| (self.starts_at(hz), human::short_hz(f64::from(hz))));
        let clump = human::time(self.clump());
        let starts = human::count(some.0, "start");
        format!("{clump}: {starts} at {}, {} at {}", some.1, many.0, many.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clump lasts ten times the cost of a sleep. Starts at least 30 us apart (33 333 per second) are never clumped.
    #[test]
    fn the_clumps() {
        for (cost_ns, clump_us, above_hz, [at_100k, at_1m]) in [
            (26_000, 260, 33_333.3, [26, 260]),
            (3_000, 30, 33_333.3, [3, 30]),
            // If a sleep costs 1 us, a tenth of a core allows one sleep every 10 us.
            (1_000, 10, 100_000.0, [1, 10]),
            (500, 5, 200_000.0, [1, 5]),
            // A clump of 239.6 us contains 23.96 and 239.6 starts, which are rounded.
            (23_960, 239, 33_333.3, [24, 240]),
        ] {
            let sleeping = Sleeping { cost: Duration::from_nanos(cost_ns) };
            assert_eq!(sleeping.clump().as_micros(), clump_us);
            assert!((sleeping.clumped_above_hz() - above_hz).abs() < 0.1, "{sleeping:?}");
            assert_eq!(
                CLUMPED_HZ.map(|hz| sleeping.starts_at(hz)),
                [at_100k, at_1m],
                "{sleeping:?}"
            );
        }
    }

    #[test]
    fn clumps_are_described_by_examples() {
        let sleeping = Sleeping { cost: Duration::from_micros(26) };
        assert_eq!(sleeping.clumps(), "260us: 26 starts at 100k/s, 260 at 1.00M/s");
    }
}
