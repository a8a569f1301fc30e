//! Reads the data that fills requests: the rows of a CSV or JSON lines file. Each slot uses one row. With `--versus`,
//! the two slots of a pair use the same row.
//!
//! The file is read once, before the run, into one buffer. A field needs 8 bytes in addition to its text.

pub(crate) mod args;
mod csv;
mod json_lines;
pub(crate) mod order;
pub(crate) mod rows;
pub(crate) mod table;

use crate::console::input;
use anyhow::Context;
use args::DataArgs;
use order::Order;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
pub(crate) use table::Data;

/// The byte-order mark, with which some programs begin their files.
const MARK: &str = "\u{feff}";

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
    let read = of_reader(BufReader::with_capacity(1 << 16, opened));
    let mut data = read.map_err(|told| anyhow::anyhow!("{file} {told}"))?;
    data.text.shrink_to_fit();
    data.ends.shrink_to_fit();
    Ok(data)
}

/// Reads the rows. The first line with text determines the format. It is read as a whole, because a pipe may provide
/// the file in parts of any size.
fn of_reader(mut reader: impl BufRead) -> Result<Data, String> {
    let mut begin = Vec::new();
    let mut more = |begin: &mut Vec<u8>| reader.read_until(b'\n', begin);
    while begin.trim_ascii().is_empty()
        && more(&mut begin).map_err(|error| format!("line 1: {error}"))? > 0
    {
        let mark = if begin.starts_with(MARK.as_bytes()) { MARK.len() } else { 0 };
        begin.drain(..mark);
    }
    let is_json = begin.trim_ascii_start().starts_with(b"{");
    let whole = begin.as_slice().chain(reader);
    if is_json { json_lines::read(whole) } else { csv::read(whole) }
}

#[cfg(test)]
mod tests;
