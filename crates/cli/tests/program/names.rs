//! Names that objects of JSON have, and those that versions that were released have written.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A folder for each version that was released, with what it has written and read.
pub(crate) fn recorded() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// The names in an object and in the objects in it, with those around them. A label may be any.
fn names(object: &Value, around: &str) -> BTreeSet<String> {
    match object {
        Value::Object(members) => members
            .iter()
            .flat_map(|(name, value)| {
                let is_label = around.ends_with(".labels");
                let name = format!("{around}.{}", if is_label { "LABEL" } else { name });
                names(value, &name).into_iter().chain([name])
            })
            .collect(),
        Value::Array(elements) => elements.iter().flat_map(|value| names(value, around)).collect(),
        _ => BTreeSet::new(),
    }
}

/// The object has every name that an earlier version wrote into this file, if that did.
pub(crate) fn assert_none_is_gone(old: &Path, now: &Value) {
    let gone = gone(old, now);
    assert!(gone.is_empty(), "{}: {gone:?}", old.display());
}

/// The names that an earlier version wrote into this file, if that did, and the object has not.
pub(crate) fn gone(old: &Path, now: &Value) -> Vec<String> {
    let Ok(old_object) = fs::read(old) else { return Vec::new() };
    let old_object = serde_json::from_slice(&old_object).unwrap();
    let now = names(now, "");
    names(&old_object, "").difference(&now).cloned().collect()
}
