//! Writes a table of the times that only the target can measure.

use super::times::{AT_LEAST, NONE, POINTS};
use crate::load::own_times::OwnTimes;
use crate::recorded::percentiles::Sample;
use std::fmt::{self, Display, Formatter};

/// Displays one column for each distribution of times. Displays nothing without distributions.
#[derive(Debug)]
pub(crate) struct OwnTable<'run>(pub(crate) &'run [OwnTimes]);

impl Display for OwnTable<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        let row = |f: &mut Formatter<'_>, name: &str, cell: &dyn Fn(&OwnTimes) -> String| {
            write!(f, "{name:<8}")?;
            self.0.iter().try_for_each(|own| write!(f, " {:>15}", cell(own)))?;
            writeln!(f)
        };
        writeln!(f)?;
        row(f, "", &|own| own.part.name().to_owned())?;
        row(f, "count", &|own| own.times.len().to_string())?;
        if self.0.iter().any(|own| own.unknown > 0) {
            row(f, "unknown", &|own| own.unknown.to_string())?;
        }
        POINTS.iter().try_for_each(|(name, quantile)| {
            let shown = |own: &OwnTimes| Sample::exact(&own.times).shown(*quantile, AT_LEAST);
            row(f, name, &|own| shown(own).unwrap_or_else(|| NONE.to_owned()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::own_times::Part;
    use hdrhistogram::Histogram;

    #[test]
    fn each_kind_has_a_column() {
        let mut times = Histogram::new(3).unwrap();
        times.record_n(2_000_000, 3).unwrap();
        let times_of = |part, times, unknown| OwnTimes { part, times, unknown };
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
        own[1].unknown = 7;
        assert!(
            OwnTable(&own).to_string().contains("unknown                0               7\np50")
        );
        assert_eq!(OwnTable(&[]).to_string(), "");
    }
}
