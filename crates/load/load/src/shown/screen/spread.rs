//! Draws the distribution of response times on a logarithmic scale.

use super::grid::{Grid, Rect, plain};
use crate::console::chart::eighths;
use crate::console::human;
use crossterm::style::{Color, Stylize};
use hdrhistogram::Histogram;

pub(super) fn draw_spread(grid: &mut Grid, area: Rect, times: &Histogram<u64>) {
    let inner = grid.title(area, [plain("response times, last second")]);
    if times.is_empty() || inner.height < 2 {
        return;
    }
    let scale = Scale::of(times);
    let bars = bars(times, scale, inner.width.into());
    let most = bars.iter().copied().max().unwrap_or(0).max(1);
    let rows = inner.height - 1;
    let height = |bar| human::float(bar) / human::float(most) * f64::from(rows);
    for (row, area) in inner.rows().take(rows.into()).enumerate() {
        let below = f64::from(rows) - 1.0 - human::float(row as u64);
        let parts: String = bars.iter().map(|&bar| eighths(height(bar) - below)).collect();
        grid.line(area, [plain(parts).with(Color::DarkCyan)]);
    }
    for (column, label) in scale.labels(inner.width) {
        let (x, y) = (inner.x + column, inner.bottom() - 1);
        grid.line(Rect { x, y, width: inner.width - column, height: 1 }, [plain(label)]);
    }
}

/// A scale of powers of ten in nanoseconds. It contains all times from the shortest to the longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Scale {
    first: u32,
    last: u32,
}

impl Scale {
    fn of(times: &Histogram<u64>) -> Scale {
        let power = |ns: u64| ns.max(1).ilog10();
        Scale { first: power(times.min()), last: power(times.max()) + 1 }
    }

    fn part(self, ns: u64) -> f64 {
        let decades = human::float(ns.max(1)).log10() - f64::from(self.first);
        decades / f64::from(self.last - self.first)
    }

    fn labels(self, width: u16) -> Vec<(u16, String)> {
        let decades = self.last - self.first;
        let mut free = 0;
        let mut labels = Vec::new();
        for power in self.first..=self.last {
            let label = name(power);
            let length = u16::try_from(label.len()).unwrap_or(u16::MAX);
            let column = u32::from(width) * (power - self.first) / decades;
            let column = u16::try_from(column).unwrap_or(width).min(width.saturating_sub(length));
            if column >= free {
                free = column + length + 1;
                labels.push((column, label));
            }
        }
        labels
    }
}

fn name(power: u32) -> String {
    let unit = ["ns", "us", "ms", "s"][power.min(9) as usize / 3];
    format!("{}{unit}", 10_u64.pow(power - power.min(9) / 3 * 3))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a column")]
fn bars(times: &Histogram<u64>, scale: Scale, columns: usize) -> Vec<u64> {
    let mut bars = vec![0; columns];
    let Some(last) = columns.checked_sub(1) else { return bars };
    for step in times.iter_recorded() {
        let ns = times.median_equivalent(step.value_iterated_to());
        let column = (scale.part(ns) * human::float(columns as u64)) as usize;
        bars[column.min(last)] += step.count_since_last_iteration();
    }
    bars
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn times(ns: &[u64]) -> Histogram<u64> {
        let mut times = Histogram::new(2).unwrap();
        for &ns in ns {
            times.record(ns).unwrap();
        }
        times
    }

    #[test]
    fn powers_have_names() {
        for (power, shown) in
            [(0, "1ns"), (2, "100ns"), (3, "1us"), (7, "10ms"), (9, "1s"), (12, "1000s")]
        {
            assert_eq!(name(power), shown);
        }
    }

    #[test]
    fn each_decade_has_as_many_columns() {
        let times = times(&[1_100, 1_100, 50_000, 990_000]);
        let scale = Scale::of(&times);
        assert_eq!(scale, Scale { first: 3, last: 6 });
        assert_eq!(bars(&times, scale, 6), [2, 0, 0, 1, 0, 1]);
        let labels = [(0, "1us"), (10, "10us"), (20, "100us"), (27, "1ms")];
        assert_eq!(scale.labels(30), labels.map(|(at, name)| (at, name.to_owned())));
    }

    proptest! {
        #[test]
        fn every_time_is_in_a_column(ns in prop::collection::vec(0..u64::MAX / 4, 1..20), columns in 1_usize..300) {
            let times = times(&ns);
            let scale = Scale::of(&times);
            prop_assert_eq!(bars(&times, scale, columns).iter().sum::<u64>(), ns.len() as u64);
            let width = u16::try_from(columns).unwrap();
            for (column, label) in scale.labels(width) {
                let is_inside = usize::from(column) + label.len() <= columns;
                prop_assert!(is_inside || column == 0, "{column} {label}");
            }
        }
    }
}
