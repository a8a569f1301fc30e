//! Stores all rows of the data in one buffer.

use super::args::DataEnd;
use super::order::Order;

#[derive(Debug)]
pub(crate) struct Data {
    columns: Vec<String>,
    pub(super) text: Vec<u8>,
    pub(super) ends: Vec<usize>,
    pub(super) lines: Lines,
    pub(super) order: Order,
    pub(super) end: DataEnd,
}

impl Data {
    pub(super) fn with_columns(columns: Vec<String>) -> Data {
        Data {
            columns,
            text: Vec::new(),
            ends: Vec::new(),
            lines: Lines::default(),
            order: Order::default(),
            end: DataEnd::Wrap,
        }
    }

    pub(super) fn push(&mut self, field: &[u8]) {
        self.text.extend_from_slice(field);
        self.ends.push(self.text.len());
    }

    pub(crate) fn columns(&self) -> &[String] {
        &self.columns
    }

    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    pub(crate) fn count(&self) -> usize {
        self.ends.len() / self.columns.len().max(1)
    }

    pub(crate) fn most_slots(&self) -> Option<u64> {
        (self.end == DataEnd::Stop).then(|| self.count() as u64 * self.order.slots_per_row)
    }

    pub(crate) fn row_of_slot(&self, slot: u64) -> usize {
        // The row is less than the number of rows, which fits into `usize`.
        usize::try_from(self.order.row(slot)).unwrap_or_default()
    }

    pub(crate) fn value(&self, row: usize, column: usize) -> &[u8] {
        let index = row * self.columns.len() + column;
        let begin = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[begin..self.ends[index]]
    }

    /// Returns an error if `fits` does not accept a value of the column. `place` names the part of the request that
    /// would contain the value.
    pub(crate) fn check(
        &self,
        column: usize,
        fits: fn(&[u8]) -> bool,
        place: &str,
    ) -> anyhow::Result<()> {
        let wrong = (0..self.count()).find(|row| !fits(self.value(*row, column)));
        let Some(row) = wrong else { return Ok(()) };
        let (at, name) = (self.place(row), &self.columns[column]);
        anyhow::bail!(
            "{at} column {name:?}: {} can't be in {place}",
            shown(self.value(row, column))
        )
    }

    /// Returns the position of a row for error messages. Rows are counted from 1, without the line of column names.
    pub(crate) fn place(&self, row: usize) -> String {
        format!("--data: row {} (line {})", row + 1, self.lines.of(row))
    }
}

pub(crate) fn shown(value: &[u8]) -> String {
    let shown: String = String::from_utf8_lossy(value).chars().take(60).collect();
    format!("{shown:?}")
}

/// Records the line of the file on which each row begins. `jumps` contains the index and the line of each row that does not begin one line after the previous row.
#[derive(Debug, Default)]
pub(super) struct Lines {
    count: usize,
    next: usize,
    jumps: Vec<(usize, usize)>,
}

impl Lines {
    pub(super) fn begin(&mut self, line: usize) {
        if line != self.next {
            self.jumps.push((self.count, line));
        }
        (self.count, self.next) = (self.count + 1, line + 1);
    }

    pub(super) fn of(&self, row: usize) -> usize {
        let jumps = self.jumps.partition_point(|(first, _)| *first <= row);
        let (first, line) = jumps.checked_sub(1).map_or((0, 0), |last| self.jumps[last]);
        line + row - first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_has_the_line_that_it_began_on() {
        let begun = [1, 2, 3, 7, 8, 10];
        let mut lines = Lines::default();
        for line in begun {
            lines.begin(line);
        }
        assert_eq!(lines.jumps.len(), 3);
        assert!((0..begun.len()).map(|row| lines.of(row)).eq(begun));
    }
}
