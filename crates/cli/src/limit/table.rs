//! Tables of text.

use std::fmt::{self, Formatter};

/// Writes lines of equally many cells: a name, then numbers in columns that are as wide as needed.
pub(crate) fn write(f: &mut Formatter<'_>, lines: &[Vec<String>]) -> fmt::Result {
    let width = |column: usize| lines.iter().map(|line| line[column].len()).max().unwrap_or(0);
    let widths: Vec<_> = (0..lines[0].len()).map(width).collect();
    for line in lines {
        let cells = line.iter().zip(&widths).skip(1);
        let numbers: Vec<_> = cells.map(|(cell, width)| format!("  {cell:>width$}")).collect();
        writeln!(f, "{:<2$}{}", line[0], numbers.concat().trim_end(), widths[0])?;
    }
    Ok(())
}
