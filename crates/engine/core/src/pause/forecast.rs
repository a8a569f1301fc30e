//! Forecasts the next value from earlier ones. All values are nanoseconds.

/// A running estimate of the `percent` % quantile, by stochastic approximation (Robbins and Monro, 1951).
///
/// The size of a step does not depend on the distance of the value, so a stall of a second moves the estimate no
/// further than any other large value. Steps up and down balance where `percent` % of the values lie below the
/// estimate. Steps grow with the estimate, so the estimate adapts at any scale.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quantile {
    value: i64,
    percent: i64,
}

impl Quantile {
    /// If values are near zero, `percent` must be from 4 to 96: otherwise one of the two steps is rounded to zero.
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

/// Predicts an upper bound for the next value: a moving mean plus a quantile of the deviations from that mean. The
/// usual oversleep changes every few dozen sleeps, and a quantile alone would have to cover all of these changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Forecast {
    mean: i64,
    deviation: Quantile,
}

impl Forecast {
    pub(super) const fn new(mean: i64, deviation: Quantile) -> Forecast {
        Forecast { mean, deviation }
    }

    pub(super) fn mean(&self) -> i64 {
        self.mean
    }

    pub(super) fn value(&self) -> i64 {
        self.mean + self.deviation.value
    }

    pub(super) fn learn(&mut self, seen: i64) {
        let deviation = seen - self.mean;
        self.mean += deviation.min(2 * self.deviation.value) / 4;
        self.deviation.learn(deviation);
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

    #[test]
    fn a_steady_value_is_learnt_and_relearnt() {
        for (percent, from, value) in
            [(94, 60_000, 3_000), (94, 1_000, 53_000), (50, 3_000, 26_000), (50, 53_000, 1_000)]
        {
            let value_learnt = learnt(percent, from, std::iter::repeat_n(value, 1_000));
            assert!(
                (value_learnt - value).abs() <= value / 8 + 32,
                "{percent} % of {value}: {value_learnt}"
            );
        }
    }

    /// Values are spread evenly over 0 to 99 us, so that the p % quantile is p us.
    #[test]
    fn a_quantile_is_the_value_that_its_share_stays_below() {
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

    /// Values are spread over 5 us and jump by 30 us after every fifty values.
    #[test]
    fn a_forecast_follows_values_that_are_alike() {
        let values = || {
            (0..100_000_i64).map(|index| 20_000 + index / 50 % 2 * 30_000 + index * 37 % 100 * 50)
        };
        let (mut forecast, mut quantile) =
            (Forecast::new(50_000, Quantile::new(10_000, 92)), Quantile::new(60_000, 92));
        let [mut by_forecast, mut by_quantile] = [(0, 0); 2];
        let judge = |predicted: i64, seen: i64, (covered, excess): &mut (i64, i64)| {
            *covered += i64::from(predicted >= seen);
            *excess += (predicted - seen).max(0);
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
