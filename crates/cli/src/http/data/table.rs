//! The rows of data in one buffer.

use super::args::DataEnd;
use super::order::Order;

/// The rows of a file.
#[derive(Debug)]
pub(crate) struct Data {
    columns: Vec<String>,
    /// All fields, row by row.
    pub(super) text: Vec<u8>,
    /// Where each of them ends.
    pub(super) ends: Vec<usize>,
    pub(super) order: Order,
    pub(super) end: DataEnd,
}

impl Data {
    /// Without rows.
    pub(super) fn with_columns(columns: Vec<String>) -> Result<Data, String> {
        let twice = (1..columns.len()).find(|at| columns[..*at].contains(&columns[*at]));
        if let Some(at) = twice {
            return Err(format!("line 1: there are two columns {:?}", columns[at]));
        }
        Ok(Data {
            columns,
            text: Vec::new(),
            ends: Vec::new(),
            order: Order::default(),
            end: DataEnd::Wrap,
        })
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
    /// The row, counted from 1 without the line of names, and what to do.
    pub(crate) fn check(
        &self,
        column: usize,
        fits: fn(&[u8]) -> bool,
        place: &str,
    ) -> anyhow::Result<()> {
        let wrong = (0..self.count()).find(|row| !fits(self.value(*row, column)));
        let Some(row) = wrong else { return Ok(()) };
        let value = String::from_utf8_lossy(self.value(row, column)).into_owned();
        let shown: String = value.chars().take(60).collect();
        anyhow::bail!(
            "--data: row {} column {:?}: {shown:?} can't be in {place}",
            row + 1,
            self.columns[column]
        )
    }
}
