//! Reads rows from CSV. The first line names the columns.

use super::table::Data;
use crate::console::human::count;
use csv::{ByteRecord, Reader, ReaderBuilder};
use std::io::{self, BufRead, Read};

/// A reader that returns at most one line per call, so that `lines` counts the lines up to the end of the record that
/// `csv` has read. The input must end with an additional line break. The crate `csv` then reads beyond the end of a
/// record only if a quote is never closed.
struct ByLine<R> {
    inner: R,
    lines: usize,
    last: Option<u8>,
}

impl<R: BufRead> Read for ByLine<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let bytes = self.inner.fill_buf()?;
        let line = bytes.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
        let length = line.len().min(to.len());
        to[..length].copy_from_slice(&line[..length]);
        self.last = line[..length].last().copied();
        self.lines += usize::from(self.last == Some(b'\n'));
        self.inner.consume(length);
        Ok(length)
    }
}

pub(super) fn read(text: impl BufRead) -> Result<Data, String> {
    let text = ByLine { inner: text.chain(&b"\n"[..]), lines: 0, last: Some(b'\n') };
    let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text);
    let mut row = ByteRecord::new();
    let names =
        record(&mut reader, &mut row)?.map_or(Ok(Vec::new()), |line| columns(&row, line))?;
    let mut data = Data::with_columns(names);
    while let Some(line) = record(&mut reader, &mut row)? {
        let (values, names) = (row.len(), data.columns().len());
        if values != names {
            let [values, names] = [count(values, "value"), count(names, "name")];
            return Err(format!("line {line}: {values}, but the first line has {names}"));
        }
        data.lines.begin(line);
        row.iter().for_each(|field| data.push(field));
    }
    if data.count() == 0 {
        return Err(format!(
            "line {}: the file has no rows: write column names in the first line, and a row on each line after it",
            reader.get_ref().lines
        ));
    }
    Ok(data)
}

/// Returns the line on which the record begins, or `None` at the end of the file.
fn record<R: BufRead>(
    reader: &mut Reader<ByLine<R>>,
    record: &mut ByteRecord,
) -> Result<Option<usize>, String> {
    if !reader.read_byte_record(record).map_err(|error| error.to_string())? {
        return Ok(None);
    }
    let ByLine { lines, last, .. } = *reader.get_ref();
    let spanned = record.as_slice().split(|byte| *byte == b'\n').count();
    match last {
        None => Err(format!(
            "line {}: a quoted value of this row has no closing quote",
            lines + 2 - spanned
        )),
        // The second byte of this line break has not been read yet.
        Some(b'\r') => Ok(Some(lines + 2 - spanned)),
        // Lines that end with `\r` alone are not counted, so the difference can be 0.
        Some(_) => Ok(Some((lines + 1 - spanned).max(1))),
    }
}

fn columns(record: &ByteRecord, line: usize) -> Result<Vec<String>, String> {
    let mut columns: Vec<String> = Vec::new();
    for name in record {
        let name = str::from_utf8(name)
            .map_err(|_| format!("line {line}: a column name is not UTF-8"))?
            .trim()
            .to_owned();
        if columns.contains(&name) {
            return Err(format!(
                "line {line}: two columns have the name {name:?}: rename one of them"
            ));
        }
        columns.push(name);
    }
    Ok(columns)
}
