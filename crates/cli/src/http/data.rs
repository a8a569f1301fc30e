//! Data for requests: the rows of a file, CSV or JSON lines, one for each slot.
//!
//! The file is read once, before the run, into one buffer; a field takes its bytes and 8 more.

pub(crate) mod args;
mod csv;
mod json_lines;
mod order;
mod quotes;

use anyhow::{Context, ensure};
use args::{DataArgs, DataEnd};
use order::Order;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// The rows of a file.
#[derive(Debug)]
pub(crate) struct Data {
    columns: Vec<String>,
    /// All fields, row by row.
    text: Vec<u8>,
    /// Where each of them ends.
    ends: Vec<usize>,
    order: Order,
    end: DataEnd,
}

impl Data {
    /// Reads the file that the options name, if they name one. The seed is that of its order.
    ///
    /// # Errors
    /// It can't be read, or is not well-formed: with the line.
    pub(crate) fn read(args: &DataArgs, seed: u64) -> anyhow::Result<Option<Data>> {
        let Some(path) = &args.data else { return Ok(None) };
        let file = path.display();
        let mut data = Data::of_file(path).map_err(|told| anyhow::anyhow!("--data: {told:#}"))?;
        ensure!(data.count() > 0, "--data: {file}: there is no row in it");
        data.order = Order::new(args.data_order, data.count() as u64, seed);
        data.end = args.data_end;
        Ok(Some(data))
    }

    fn of_file(path: &Path) -> anyhow::Result<Data> {
        let file = path.display();
        let opened = File::open(path).with_context(|| format!("cannot read {file}"))?;
        let mut reader = BufReader::with_capacity(1 << 16, opened);
        let begin = reader.fill_buf().with_context(|| format!("cannot read {file}"))?;
        let first = begin.strip_prefix("\u{feff}".as_bytes()).unwrap_or(begin);
        let is_json = first.trim_ascii_start().starts_with(b"{");
        let read = if is_json { json_lines::read(reader) } else { csv::read(reader) };
        let mut data = read.map_err(|told| anyhow::anyhow!("{file} {told}"))?;
        data.text.shrink_to_fit();
        data.ends.shrink_to_fit();
        Ok(data)
    }

    /// Without rows.
    fn with_columns(columns: Vec<String>) -> Result<Data, String> {
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

    fn push(&mut self, field: &[u8]) {
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

#[cfg(test)]
mod tests;
