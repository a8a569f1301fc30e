//! Forecasts the next value from those that have been seen. In nanoseconds.

/// The value that a given part of all values stay below, followed step by step.
///
/// Each value moves the estimate by a step towards it. The step does not depend on how far away the
/// value is, so a stall of a second moves the estimate no further than any other large value. Steps
/// up and down balance where the wanted part of the values lies below: stochastic approximation of
/// a quantile (Robbins and Monro, 1951). Steps are a part of the estimate, so it follows changes at
/// any scale.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quantile {
    value: i64,
    percent: i64,
}

impl Quantile {
    /// Follows what `percent` of all values stay below; `value` is the first estimate.
    pub(super) const fn new(value: i64, percent: i64) -> Quantile {
        Quantile { value, percent }
    }

    pub(super) fn value(&self) -> i64 {
        self.value
    }

    pub(super) fn learn(&mut self, seen: i64) {
        let step = self.value.abs() / 8 + 32;
        if seen > self.value {
            self.value += step * self.percent / 100;
        } else {
            self.value -= step * (100 - self.percent) / 100;
        }
    }
}

/// What a given part of the next values will stay below, if values that follow each other are
/// alike: their moving mean, plus a quantile of how far they are from it.
///
/// How far a sleep overruns depends on what the processor does meanwhile, and that changes every
/// few dozen sleeps. A quantile alone has to cover all of it. We measured that following the mean
/// as well takes a sixth less spinning for as many starts in time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Forecast {
    mean: i64,
    above: Quantile,
}

impl Forecast {
    pub(super) const fn new(mean: i64, above: Quantile) -> Forecast {
        Forecast { mean, above }
    }

    pub(super) fn value(&self) -> i64 {
        self.mean + self.above.value
    }

    pub(super) fn learn(&mut self, seen: i64) {
        let off = seen - self.mean;
        self.above.learn(off);
        self.mean += off / 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learnt(percent: i64, from: i64, values: impl IntoIterator<Item = i64>) -> i64 {
        let mut quantile = Quantile::new(from, percent);
        values.into_iter().for_each(|value| quantile.learn(value));
        quantile.value
    }

    /// Around a steady value the estimate steps up by at most value / 8 + 32 at once, and down by
    /// less.
    #[test]
    fn a_steady_value_is_learnt_and_relearnt() {
        for (percent, from, value) in
            [(94, 60_000, 3_000), (94, 1_000, 53_000), (50, 3_000, 26_000), (50, 53_000, 1_000)]
        {
            let value_learnt = learnt(percent, from, std::iter::repeat_n(value, 1_000));
            assert!(
                (value_learnt - value).abs() <= value / 8 + 34,
                "{percent} % of {value}: {value_learnt}"
            );
        }
    }

    /// Values spread evenly over 0 to 99 us have their quantile at that many us; the mean of the
    /// estimate over many values is within an eighth of it, which is the size of a step.
    #[test]
    fn a_quantile_is_what_a_part_stays_below() {
        for percent in [50, 92, 99] {
            let mut quantile = Quantile::new(60_000, percent);
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
    fn one_stall_moves_a_quantile_by_one_step() {
        let before = learnt(94, 60_000, std::iter::repeat_n(3_000, 1_000));
        let after = learnt(94, before, [1_000_000_000]);
        assert!(after - before <= before / 8 + 32);
    }

    /// Values that jump by 30 us every fifty, and are spread over 5 us: how many a forecast stays
    /// above, and by how much on average, in tenths of a per cent and nanoseconds; and so a
    /// quantile.
    #[test]
    fn a_forecast_follows_values_that_are_alike() {
        let values = || {
            (0..100_000_i64).map(|index| 20_000 + index / 50 % 2 * 30_000 + index * 37 % 100 * 50)
        };
        let (mut forecast, mut quantile) =
            (Forecast::new(50_000, Quantile::new(10_000, 92)), Quantile::new(60_000, 92));
        let [mut by_forecast, mut by_quantile] = [(0, 0); 2];
        let judge = |told: i64, seen: i64, (above, by): &mut (i64, i64)| {
            *above += i64::from(told >= seen);
            *by += (told - seen).max(0);
        };
        for seen in values() {
            judge(forecast.value(), seen, &mut by_forecast);
            judge(quantile.value, seen, &mut by_quantile);
            forecast.learn(seen);
            quantile.learn(seen);
        }
        assert!((91_000..=93_000).contains(&by_forecast.0), "{by_forecast:?}");
        assert!((90_000..=94_000).contains(&by_quantile.0), "{by_quantile:?}");
        assert!(by_forecast.1 < by_quantile.1 * 3 / 4, "{by_forecast:?} {by_quantile:?}");
    }
}
