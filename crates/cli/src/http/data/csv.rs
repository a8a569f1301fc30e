//! Rows of CSV: the first line has the names of the columns.

use super::quotes::Quotes;
use super::table::Data;
use csv::{ByteRecord, Error, ErrorKind, ReaderBuilder};
use std::io::Read;

/// Reads all rows. The error has the line and the column.
pub(super) fn read(text: impl Read) -> Result<Data, String> {
    let mut reader = ReaderBuilder::new().buffer_capacity(1 << 16).from_reader(Quotes::new(text));
    let names = reader.byte_headers().map_err(told)?;
    let names: Vec<_> = names.iter().map(|name| String::from_utf8(name.to_vec()).ok()).collect();
    let places = &reader.get_ref().names;
    let mut columns = Vec::new();
    for (name, place) in names.into_iter().zip(places) {
        let name = name.ok_or_else(|| format!("{place}: this name of a column is no UTF-8"))?;
        let name = name.trim().to_owned();
        if columns.contains(&name) {
            return Err(format!("{place}: there are two columns {name:?}"));
        }
        columns.push(name);
    }
    let mut data = Data::with_columns(columns);
    let mut row = ByteRecord::new();
    while reader.read_byte_record(&mut row).map_err(told)? {
        row.iter().for_each(|field| data.push(field));
    }
    if data.count() == 0 {
        return Err(format!("{}: there is no row in it", reader.get_ref().end()));
    }
    data.lines = reader.into_inner().lines.behind_first();
    Ok(data)
}

fn told(error: Error) -> String {
    match error.into_kind() {
        ErrorKind::Io(error) => error.to_string(),
        other => format!("{other:?}"),
    }
}
