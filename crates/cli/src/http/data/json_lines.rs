//! Rows of JSON lines: an object on each. The first one has the names of the columns.

use super::table::Data;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::io::BufRead;

/// A line's object. Numbers stay as they are written.
type Object = BTreeMap<String, Box<RawValue>>;

/// Reads all rows. The error has the line. A text is what it says, null is empty, and everything else is as
/// it is written.
pub(super) fn read(mut text: impl BufRead) -> Result<Data, String> {
    let (mut data, mut line) = (None, String::new());
    for number in 1.. {
        line.clear();
        let read = text.read_line(&mut line).map_err(|error| format!("line {number}: {error}"))?;
        if read == 0 {
            break;
        }
        let row = line.trim_start_matches('\u{feff}').trim();
        if !row.is_empty() {
            push(&mut data, row).map_err(|told| format!("line {number}: {told}"))?;
        }
    }
    data.map_or_else(|| Data::with_columns(Vec::new()), Ok)
}

fn push(data: &mut Option<Data>, row: &str) -> Result<(), String> {
    let object: Object = serde_json::from_str(row).map_err(|error| {
        let told = error.to_string();
        let told = told.rsplit_once(" at line ").map_or(told.as_str(), |(told, _)| told);
        format!("column {}: {told}; write an object on each line", error.column())
    })?;
    let data = match data {
        Some(data) => data,
        None => data.insert(Data::with_columns(object.keys().cloned().collect())?),
    };
    for index in 0..data.columns().len() {
        let name = &data.columns()[index];
        let value = object.get(name).ok_or_else(|| format!("{name:?} is missing"))?;
        let text = value.get();
        match text.as_bytes().first() {
            Some(b'"') => data.push(of_string(text)?.as_bytes()),
            Some(b'n') => data.push(b""),
            _ => data.push(text.as_bytes()),
        }
    }
    Ok(())
}

fn of_string(text: &str) -> Result<String, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}
