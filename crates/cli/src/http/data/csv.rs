//! Rows of CSV: the first line has the names of the columns.

use super::lines::Lines;
use super::quotes::Quotes;
use super::table::Data;
use csv::{ByteRecord, Error, ErrorKind, ReaderBuilder};
use std::io::Read;

/// Reads all rows. The error has the line.
pub(super) fn read(text: impl Read) -> Result<Data, String> {
    let mut reader = ReaderBuilder::new().buffer_capacity(1 << 16).from_reader(Quotes::new(text));
    let names = reader.headers().map_err(|error| told(&error, &Lines::default()))?;
    let mut data = Data::with_columns(names.iter().map(|name| name.trim().to_owned()).collect())?;
    let mut row = ByteRecord::new();
    loop {
        let read = reader.read_byte_record(&mut row);
        if !read.map_err(|error| told(&error, &reader.get_ref().lines))? {
            break;
        }
        row.iter().for_each(|field| data.push(field));
    }
    data.lines = reader.into_inner().lines.behind_first();
    Ok(data)
}

fn told(error: &Error, lines: &Lines) -> String {
    match error.kind() {
        ErrorKind::UnequalLengths { pos, expected_len, len } => {
            let record = pos.as_ref().map_or(0, csv::Position::record);
            let line = lines.of(usize::try_from(record).unwrap_or_default());
            format!("line {line}: {len} values, but the first line has {expected_len} names")
        }
        ErrorKind::Utf8 { .. } => "line 1: the names of the columns are no UTF-8".to_owned(),
        ErrorKind::Io(error) => error.to_string(),
        _ => error.to_string(),
    }
}
