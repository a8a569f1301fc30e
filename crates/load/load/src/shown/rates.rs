//! The rate that was asked for and the one that was achieved, interval by interval.

use crate::console::human;
use crate::recorded::over_time::OverTime;
use std::fmt::{self, Display, Formatter};

/// The most lines of a report.
const ROWS: usize = 12;
/// The length of the longest bar.
const BAR: f64 = 30.0;

/// A table with a bar for each rate that was achieved; what is missing is dotted. It is left out if
/// there is only one interval, which the report's first line has.
#[derive(Debug)]
pub(crate) struct Rates<'run>(pub(crate) &'run OverTime);

impl Display for Rates<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let rows = self.0.at_most(ROWS);
        if rows.len() < 2 {
            return Ok(());
        }
        let rates = rows.iter().flat_map(|row| [row.asked_hz(), row.achieved_hz()]);
        let most = rates.fold(0.0, f64::max);
        writeln!(f, "\n{:>18} {:>12} {:>12}", "over time, from", "target", "achieved")?;
        for row in &rows {
            let [asked, achieved] = [row.asked_hz(), row.achieved_hz()];
            let [full, all] = [achieved, asked.max(achieved)].map(|hz| length(hz / most));
            let bar = "#".repeat(full) + &".".repeat(all - full);
            let [asked, achieved] = [asked, achieved].map(human::hz);
            writeln!(f, "{:>17.1}s {asked:>12} {achieved:>12}  {bar}", row.from.as_secs_f64())?;
        }
        Ok(())
    }
}

/// The characters of a bar, for this part of the longest.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 30")]
fn length(part: f64) -> usize {
    if part.is_nan() { 0 } else { (part * BAR).round() as usize }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorded::over_time::tests::over_time;

    #[test]
    fn a_table_has_what_is_missing() {
        let all =
            over_time([(0, 1_000, 10.0, 10), (1_000, 2_000, 20.0, 5), (2_000, 3_000, 0.0, 0)]);
        let shown = Rates(&all).to_string();
        let lines: Vec<_> = shown.lines().collect();
        assert_eq!(
            lines[1..],
            [
                "   over time, from       target     achieved",
                "              0.0s       10.0/s       10.0/s  ###############",
                "              1.0s       20.0/s     5.0000/s  ########......................",
                "              2.0s        0.0/s        0.0/s  ",
            ]
        );
        assert_eq!(Rates(&over_time([(0, 1_000, 10.0, 10)])).to_string(), "");
    }

    #[test]
    fn a_long_run_has_few_lines() {
        for number in [13, 300, 4_000] {
            let all = over_time((0..number).map(|at| (at * 10, at * 10 + 10, 2.0, 3)));
            assert!(Rates(&all).to_string().lines().count() <= ROWS + 2, "{number}");
        }
    }
}
