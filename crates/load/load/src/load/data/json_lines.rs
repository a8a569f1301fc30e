//! Reads rows from JSON lines: one object per line. The first object names the columns.

use super::table::Data;
use crate::console::json_object::{Values, object, text};
use crate::console::position::{line_and_column, utf8};
use std::io::BufRead;

pub(super) fn read(mut lines: impl BufRead) -> Result<Data, String> {
    let (mut data, mut bytes) = (Data::with_columns(Vec::new()), Vec::new());
    for number in 1.. {
        bytes.clear();
        let read = lines.read_until(b'\n', &mut bytes);
        if read.map_err(|error| format!("line {number}: {error}"))? == 0 {
            break;
        }
        push_line(&mut data, &bytes, number).map_err(|(at, told)| {
            let (_, column) = line_and_column(&bytes, at);
            format!("line {number} column {column}: {told}")
        })?;
    }
    Ok(data)
}

/// Adds the row that a line contains. An error consists of its byte offset in the line and a message.
fn push_line(data: &mut Data, bytes: &[u8], number: usize) -> Result<(), (usize, String)> {
    let line = utf8(bytes).map_err(|at| (at, "this is not UTF-8".to_owned()))?;
    if line.trim().is_empty() {
        return Ok(());
    }
    let begin = line.len() - line.trim_start().len();
    push(data, &object(line)?, number).map_err(|told| (begin, told))
}

fn push(data: &mut Data, object: &Values, number: usize) -> Result<(), String> {
    if data.columns().is_empty() {
        *data = Data::with_columns(object.keys().cloned().collect());
    }
    if data.columns().is_empty() {
        return Err("this object is empty: write a name and a value for each column".to_owned());
    }
    data.lines.begin(number);
    for index in 0..data.columns().len() {
        let name = &data.columns()[index];
        let value = object
            .get(name)
            .ok_or_else(|| format!("{name:?} is missing, but the first object has it"))?;
        data.push(text(name, value)?.as_bytes());
    }
    Ok(())
}
