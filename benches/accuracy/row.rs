//! A cell as a row of a Markdown table.

use crate::cell::{Cell, Seen};
use std::fmt;

pub(crate) const HEAD: &str = "\
|    rate | threads | load | way          |    off, ppm |      p50 |      p90 |      p99 |    p99.9 |      max | even gaps | CPU, cores |
|--------:|--------:|------|--------------|------------:|---------:|---------:|---------:|---------:|---------:|----------:|-----------:|";

pub(crate) struct Row<'run> {
    pub(crate) cell: &'run Cell,
    pub(crate) seen: &'run Seen,
}

impl fmt::Display for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Row { cell: Cell { text, threads, way, load, .. }, seen } = self;
        let load = if *load { "yes" } else { "no" };
        write!(
            f,
            "| {text:>7} | {threads:>7} | {load:<4} | {way:<12} | {:>11.1} |",
            seen.off * 1e6
        )?;
        for part in [0.5, 0.9, 0.99, 0.999, 1.0] {
            write!(f, " {:>8} |", short(seen.late(part)))?;
        }
        writeln!(f, " {:>7.1} % | {:>10.3} |", seen.even * 100.0, seen.cpu)
    }
}

/// Nanoseconds to three digits.
fn short(nanos: u64) -> String {
    let value = nanopace_benches::float(nanos);
    let (value, unit) = match nanos {
        0..1_000 => return format!("{nanos} ns"),
        1_000..1_000_000 => (value / 1e3, "us"),
        1_000_000..1_000_000_000 => (value / 1e6, "ms"),
        _ => (value / 1e9, "s"),
    };
    let decimals = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.decimals$} {unit}")
}
