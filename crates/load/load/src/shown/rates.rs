//! Writes a table of the requested and the achieved rates over time, with a bar for each interval.

use crate::console::human;
use crate::results::over_time::OverTime;
use std::fmt::{self, Display, Formatter};

const ROWS: usize = 12;
const BAR: f64 = 30.0;

/// A table of rates. In the bars, dots stand for the missing part of the requested rate. For a single interval, no
/// table is written.
#[derive(Debug)]
pub(crate) struct Rates<'run> {
    pub(crate) over_time: &'run OverTime,
    pub(crate) is_closed: bool,
}

impl Display for Rates<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let rows = self.over_time.at_most(ROWS);
        if rows.len() < 2 {
            return Ok(());
        }
        let rates = rows.iter().flat_map(|row| [row.asked_hz(), row.achieved_hz()]);
        let most = rates.fold(0.0, f64::max);
        let requested = |text: &str| {
            if self.is_closed { String::new() } else { format!(" {text:>12}") }
        };
        writeln!(f, "\n{:>18}{} {:>12}", "over time, from", requested("requested"), "achieved")?;
        for row in &rows {
            let [asked, achieved] = [row.asked_hz(), row.achieved_hz()];
            let [full, all] = [achieved, asked.max(achieved)].map(|hz| length(hz / most));
            let missing = if self.is_closed { 0 } else { all - full };
            let bar = "#".repeat(full) + &".".repeat(missing);
            let [asked, achieved] = [asked, achieved].map(human::hz);
            let from = row.from.as_secs_f64();
            writeln!(f, "{from:>17.2}s{} {achieved:>12}  {bar}", requested(&asked))?;
        }
        Ok(())
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 30")]
fn length(part: f64) -> usize {
    if part.is_nan() { 0 } else { (part * BAR).round() as usize }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::over_time::tests::over_time;

    #[test]
    fn a_table_shows_the_missing_part_of_the_rate() {
        let all =
            over_time([(0, 1_000, 10.0, 10), (1_000, 2_000, 20.0, 5), (2_000, 3_000, 0.0, 0)]);
        let shown = |over_time, is_closed| Rates { over_time, is_closed }.to_string();
        let open = shown(&all, false);
        let lines: Vec<_> = open.lines().collect();
        assert_eq!(
            lines[1..],
            [
                "   over time, from    requested     achieved",
                "             0.00s       10.0/s       10.0/s  ###############",
                "             1.00s       20.0/s       5.00/s  ########......................",
                "             2.00s          0/s          0/s  ",
            ]
        );
        let closed = shown(&all, true);
        assert!(closed.contains("\n             1.00s       5.00/s  ########\n"), "{closed}");
        assert_eq!(shown(&over_time([(0, 1_000, 10.0, 10)]), false), "");
    }

    #[test]
    fn a_long_run_has_few_lines() {
        for number in [13, 300, 4_000] {
            let all = over_time((0..number).map(|at| (at * 10, at * 10 + 10, 2.0, 3)));
            let shown = Rates { over_time: &all, is_closed: false }.to_string();
            assert!(shown.lines().count() <= ROWS + 2, "{number}");
        }
    }
}
