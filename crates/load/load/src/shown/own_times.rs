//! Writes a table of the times that only the target can measure, such as the time to the first item.

use super::times::{AT_LEAST, NONE, POINTS};
use crate::console::human;
use crate::load::own_times::{OwnTimes, counters, timed};
use crate::results::percentiles::Sample;
use std::fmt::{self, Display, Formatter};

#[derive(Debug)]
pub(crate) struct OwnTable<'run>(pub(crate) &'run [OwnTimes]);

impl Display for OwnTable<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let columns: Vec<_> = timed(self.0).collect();
        if columns.is_empty() {
            return Ok(());
        }
        let row = |f: &mut Formatter<'_>, name: &str, cell: &dyn Fn(&OwnTimes) -> String| {
            write!(f, "{name:<8}")?;
            columns.iter().try_for_each(|own| {
                let width = own.part.name().chars().count().max(15);
                write!(f, " {:>width$}", cell(own))
            })?;
            writeln!(f)
        };
        writeln!(f)?;
        row(f, "", &|own| own.part.name().to_owned())?;
        row(f, "count", &|own| own.times.len().to_string())?;
        if columns.iter().any(|own| own.untimed > 0) {
            row(f, "unknown", &|own| own.untimed.to_string())?;
        }
        POINTS.iter().try_for_each(|(name, quantile)| {
            let shown = |own: &OwnTimes| Sample::exact(&own.times).shown(*quantile, AT_LEAST);
            row(f, name, &|own| shown(own).unwrap_or_else(|| NONE.to_owned()))
        })
    }
}

pub(crate) fn counter_line(own: &[OwnTimes]) -> Option<String> {
    let counts: Vec<_> = counters(own).map(|(name, count)| format!("{name}: {count}")).collect();
    (!counts.is_empty()).then(|| human::visible(&format!("counters  {}", counts.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::own_times::{Name, Part};
    use hdrhistogram::Histogram;

    #[test]
    fn each_kind_has_a_column() {
        let mut times = Histogram::new(3).unwrap();
        times.record_n(2_000_000, 3).unwrap();
        let times_of = |part, times, untimed| OwnTimes { part, times, untimed };
        let none = times_of(Part::ItemGap, Histogram::new(3).unwrap(), 0);
        let mut own = [times_of(Part::FirstItem, times, 0), none];
        let shown = OwnTable(&own).to_string();
        let lines: Vec<_> = shown.lines().skip(1).collect();
        assert_eq!(
            lines[..3],
            [
                "              first item       item gaps",
                "count                  3               0",
                "p50               2.00ms               -",
            ]
        );
        own[1].untimed = 7;
        assert!(
            OwnTable(&own).to_string().contains("unknown                0               7\np50")
        );
        assert_eq!(OwnTable(&[]).to_string(), "");
        assert_eq!(counter_line(&own), None);
        let counters = [("hits", 7), ("a\nb", 0)].map(|(name, count)| {
            times_of(Part::Counter(Name(name)), Histogram::new(3).unwrap(), count)
        });
        assert_eq!(OwnTable(&counters).to_string(), "");
        assert_eq!(counter_line(&counters).unwrap(), "counters  hits: 7, a\\nb: 0");
        own[1].part = Part::Trend(Name("a name of more than 15"));
        let shown = OwnTable(&own).to_string();
        assert!(
            shown.starts_with("\n              first item a name of more than 15\n"),
            "{shown}"
        );
    }
}
