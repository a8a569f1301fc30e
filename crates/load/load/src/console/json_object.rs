//! Parses a line of JSON that contains one object. The values are not parsed further, but kept as text.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::{self, Formatter};

pub(crate) type Values = BTreeMap<String, Box<RawValue>>;

/// Parses an object, in which no name may occur twice. An error consists of its byte offset and a message.
pub(crate) fn object(line: &str) -> Result<Values, (usize, String)> {
    let begin = line.len() - line.trim_start().len();
    let object: Object = serde_json::from_str(line.trim()).map_err(|error| {
        let told = error.to_string();
        let told = told.rsplit_once(" at line ").map_or(told.as_str(), |(told, _)| told);
        // serde's column is the position, counted from 1, of the last byte that was read. The column is 0 if no byte
        // was read.
        let at = begin + error.column().saturating_sub(1);
        (at, format!("{told}; write one JSON object on each line, with each name once"))
    })?;
    Ok(object.0)
}

/// Converts a value to text: a string without its quotes, null as an empty string, and other values as written.
pub(crate) fn text(name: &str, value: &RawValue) -> Result<String, String> {
    match value.get().as_bytes().first() {
        // The text is valid JSON, so only an escape for half of a character can be wrong.
        Some(b'"') => serde_json::from_str(value.get()).map_err(|_| {
            format!("{name:?} contains half of a surrogate pair; write both halves, as in \\ud83d\\ude00")
        }),
        Some(b'n') => Ok(String::new()),
        _ => Ok(value.get().to_owned()),
    }
}

struct Object(Values);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object, D::Error> {
        deserializer.deserialize_map(Names)
    }
}

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
                    return Err(M::Error::custom(format!("{:?} occurs twice", place.key())));
                }
            }
        }
        Ok(Object(object))
    }
}
