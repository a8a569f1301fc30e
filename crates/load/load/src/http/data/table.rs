//! The rows of data in one buffer.

use super::args::DataEnd;
use super::lines::Lines;
use super::order::Order;

/// The rows of a file.
#[derive(Debug)]
pub(crate) struct Data {
    columns: Vec<String>,
    /// All fields, row by row.
    pub(super) text: Vec<u8>,
    /// Where each of them ends.
    pub(super) ends: Vec<usize>,
    /// On which line of the file each row is.
    pub(super) lines: Lines,
    pub(super) order: Order,
    pub(super) end: DataEnd,
}

impl Data {
    /// Without rows.
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

    /// The names of its columns.
    pub(crate) fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The column of this name.
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    /// How many rows there are.
    pub(crate) fn count(&self) -> usize {
        self.ends.len() / self.columns.len().max(1)
    }

    /// How many slots there is a row for, if they end with the last one.
    pub(crate) fn most_slots(&self) -> Option<u64> {
        (self.end == DataEnd::Stop).then_some(self.count() as u64)
    }

    /// The row of a slot.
    pub(crate) fn row_of_slot(&self, slot: u64) -> usize {
        // It is less than the number of rows.
        usize::try_from(self.order.row(slot)).unwrap_or_default()
    }

    /// A value.
    pub(crate) fn value(&self, row: usize, column: usize) -> &[u8] {
        let index = row * self.columns.len() + column;
        let begin = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[begin..self.ends[index]]
    }

    /// Refuses a column with a value that does not fit where it is to be.
    ///
    /// # Errors
    /// The row with its line, the column, and where it can't be.
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

    /// Where a row is in its file, for people: rows are counted from 1, without the line of names.
    pub(crate) fn place(&self, row: usize) -> String {
        format!("--data: row {} (line {})", row + 1, self.lines.of(row))
    }
}

/// A value, for people.
pub(crate) fn shown(value: &[u8]) -> String {
    let shown: String = String::from_utf8_lossy(value).chars().take(60).collect();
    format!("{shown:?}")
}
