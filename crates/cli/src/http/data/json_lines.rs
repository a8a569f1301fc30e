//! Rows of JSON lines: an object on each. The first one has the names of the columns.

use super::table::Data;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::{self, Formatter};
use std::io::BufRead;

/// A line's object. Numbers stay as they are written.
struct Object(BTreeMap<String, Box<RawValue>>);

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
            push(&mut data, row, number).map_err(|told| format!("line {number}: {told}"))?;
        }
    }
    data.map_or_else(|| Data::with_columns(Vec::new()), Ok)
}

fn push(data: &mut Option<Data>, row: &str, number: usize) -> Result<(), String> {
    let Object(object) = serde_json::from_str(row).map_err(|error| {
        let told = error.to_string();
        let told = told.rsplit_once(" at line ").map_or(told.as_str(), |(told, _)| told);
        format!("column {}: {told}; write an object on each line", error.column())
    })?;
    let data = match data {
        Some(data) => data,
        None => data.insert(Data::with_columns(object.keys().cloned().collect())?),
    };
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
