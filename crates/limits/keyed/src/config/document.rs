//! Serializes and deserializes a configuration with serde.

use super::snapshot::{ConfigSnapshot, Table, Tables};
use crate::Limits;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{SerializeStruct, Serializer};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Writes two tables, `prefixes` and `keys`, with limits as strings. `FileConfig` shows an example.
impl Serialize for ConfigSnapshot {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut document = to.serialize_struct("ConfigSnapshot", 2)?;
        document.serialize_field("prefixes", &Texts(&self.0.prefixes))?;
        document.serialize_field("keys", &Texts(&self.0.keys))?;
        document.end()
    }
}

/// Reads the two tables, each of which may be missing. An error in limits names the key or prefix.
impl<'de> Deserialize<'de> for ConfigSnapshot {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<ConfigSnapshot, D::Error> {
        let Document { prefixes, keys } = Document::deserialize(from)?;
        Ok(ConfigSnapshot(Arc::new(Tables { keys, prefixes })))
    }
}

struct Texts<'a>(&'a Table);

impl Serialize for Texts<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(name, limits)| (&**name, limits.to_string())))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default, deserialize_with = "prefixes")]
    prefixes: Table,
    #[serde(default, deserialize_with = "keys")]
    keys: Table,
}

fn prefixes<'de, D: Deserializer<'de>>(from: D) -> Result<Table, D::Error> {
    from.deserialize_map(TableOf("prefix"))
}

fn keys<'de, D: Deserializer<'de>>(from: D) -> Result<Table, D::Error> {
    from.deserialize_map(TableOf("key"))
}

struct TableOf(&'static str);

impl<'de> Visitor<'de> for TableOf {
    type Value = Table;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "limits by {}", self.0)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Table, A::Error> {
        let mut table = Table::new();
        while let Some(name) = map.next_key::<String>()? {
            let limits = map.next_value_seed(LimitsOf(self.0, &name))?;
            if table.insert(name.as_str().into(), Arc::new(limits)).is_some() {
                return Err(A::Error::custom(format!("the {} `{name}` is repeated", self.0)));
            }
        }
        Ok(table)
    }
}

struct LimitsOf<'a>(&'static str, &'a str);

impl<'de> DeserializeSeed<'de> for LimitsOf<'_> {
    type Value = Limits;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Limits, D::Error> {
        let LimitsOf(what, name) = self;
        Limits::deserialize(from)
            .map_err(|error| D::Error::custom(format!("limits of the {what} `{name}`: {error}")))
    }
}
