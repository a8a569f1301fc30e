//! Rows of JSON lines: an object on each. The first one has the names of the columns.

use super::table::Data;
use nanopace_load::console::position::{line_and_column, utf8};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::{self, Formatter};
use std::io::BufRead;

/// A line's object. Numbers stay as they are written.
struct Object(BTreeMap<String, Box<RawValue>>);

/// Reads all rows. The error has the line and the column. A text is what it says, null is empty, and everything else is
/// as it is written.
pub(super) fn read(mut text: impl BufRead) -> Result<Data, String> {
    let (mut data, mut bytes) = (Data::with_columns(Vec::new()), Vec::new());
    for number in 1.. {
        bytes.clear();
        let read = text.read_until(b'\n', &mut bytes);
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

/// The error has the byte of the line.
fn push_line(data: &mut Data, bytes: &[u8], number: usize) -> Result<(), (usize, String)> {
    let line = utf8(bytes).map_err(|at| (at, "this is no UTF-8".to_owned()))?;
    let begin = line.len() - line.trim_start().len();
    let row = line.trim();
    if row.is_empty() {
        return Ok(());
    }
    let Object(object) = serde_json::from_str(row).map_err(|error| {
        let told = error.to_string();
        let told = told.rsplit_once(" at line ").map_or(told.as_str(), |(told, _)| told);
        // That of serde is the byte that was read last, from 1 on, or 0 if none was.
        let at = begin + error.column().saturating_sub(1);
        (at, format!("{told}; write an object on each line"))
    })?;
    push(data, &object, number).map_err(|told| (begin, told))
}

fn push(
    data: &mut Data,
    object: &BTreeMap<String, Box<RawValue>>,
    number: usize,
) -> Result<(), String> {
    if data.columns().is_empty() {
        *data = Data::with_columns(object.keys().cloned().collect());
    }
    if data.columns().is_empty() {
        return Err("this object has no names".to_owned());
    }
    data.lines.begin(number);
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

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object, D::Error> {
        deserializer.deserialize_map(Names)
    }
}

/// Reads an object in which each name is there once.
struct Names;

impl<'de> Visitor<'de> for Names {
    type Value = Object;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Object, M::Error> {
        let mut object = BTreeMap::new();
        while let Some((name, value)) = map.next_entry::<String, _>()? {
            match object.entry(name) {
                Entry::Vacant(place) => drop(place.insert(value)),
                Entry::Occupied(place) => {
                    return Err(M::Error::custom(format!("{:?} is there twice", place.key())));
                }
            }
        }
        Ok(Object(object))
    }
}
