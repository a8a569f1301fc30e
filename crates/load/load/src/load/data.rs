//! Reads the data that fills requests: the rows of a CSV or JSON lines file. Each slot uses one row.
//!
//! The file is read once, before the run, into one buffer. A field needs 8 bytes in addition to its text.

pub(crate) mod args;
mod csv;
mod json_lines;
mod lines;
pub(crate) mod order;
pub(crate) mod rows;
pub(crate) mod table;

use crate::console::input;
use anyhow::Context;
use args::DataArgs;
use order::Order;
use std::io::{BufRead, BufReader};
use std::path::Path;
pub(crate) use table::Data;

/// Reads the data file of the options. Each row is used for `slots_per_row` consecutive slots.
pub(crate) fn read(args: &DataArgs, seed: u64, slots_per_row: u64) -> anyhow::Result<Option<Data>> {
    let Some(path) = &args.data else { return Ok(None) };
    let mut data = of_file(path).map_err(|told| anyhow::anyhow!("--data: {told:#}"))?;
    data.order = Order::new(args.data_order, data.count() as u64, seed);
    data.order.slots_per_row = slots_per_row;
    data.end = args.data_end;
    Ok(Some(data))
}

fn of_file(path: &Path) -> anyhow::Result<Data> {
    let file = path.display();
    let opened = input::open(path).with_context(|| format!("cannot read {file}"))?;
    let mut reader = BufReader::with_capacity(1 << 16, opened);
    let begin = reader.fill_buf().with_context(|| format!("cannot read {file}"))?;
    let first = begin.strip_prefix("\u{feff}".as_bytes()).unwrap_or(begin);
    let is_json = first.trim_ascii_start().starts_with(b"{");
    let mark = begin.len() - first.len();
    reader.consume(mark);
    let read = if is_json { json_lines::read(reader) } else { csv::read(reader) };
    let mut data = read.map_err(|told| anyhow::anyhow!("{file} {told}"))?;
    data.text.shrink_to_fit();
    data.ends.shrink_to_fit();
    Ok(data)
}

#[cfg(test)]
mod tests;
