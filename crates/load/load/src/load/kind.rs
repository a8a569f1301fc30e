//! Defines kinds of failures: short strings under which failures are counted.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The maximum number of kinds. Failures of further kinds are counted as [`OTHERS`].
const MOST: usize = 1_000;

const OTHERS: &str = "other failures";

pub(crate) const STATUS: &str = "status";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FailureKind(&'static Entry);

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    text: &'static str,
    group: &'static str,
}

/// The groups that metrics contain even before the first failure: an alert rule needs a 0, not a missing series.
static EXPECTED: Mutex<Vec<&str>> = Mutex::new(Vec::new());

pub(crate) fn expect(groups: &[&'static str]) {
    locked(&EXPECTED).extend(groups);
}

pub(crate) fn expected() -> Vec<&'static str> {
    locked(&EXPECTED).clone()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All kinds so far. They are never freed, so a [`FailureKind`] is a reference that can be copied.
static KNOWN: Mutex<BTreeMap<&'static str, FailureKind>> = Mutex::new(BTreeMap::new());

/// Returns the counts by the text of their kind. Inserts them one by one, because collecting into a map adds sorting
/// code to the binary for each type of map.
pub(crate) fn in_words(
    counts: impl IntoIterator<Item = (FailureKind, u64)>,
) -> BTreeMap<String, u64> {
    let mut in_words = BTreeMap::new();
    in_words.extend(counts.into_iter().map(|(kind, count)| (kind.to_string(), count)));
    in_words
}

impl FailureKind {
    /// Returns the kind with this text. A new kind has a group of its own.
    pub(crate) fn new(text: &str) -> FailureKind {
        FailureKind::known(text, |text| text)
    }

    /// Returns the kind with this text. A new kind is in this group. Metrics count failures by group, because there are
    /// fewer groups than kinds.
    pub(crate) fn of_group(group: &'static str, text: &str) -> FailureKind {
        FailureKind::known(text, |_| group)
    }

    pub(crate) fn group(self) -> &'static str {
        self.0.group
    }

    fn known(text: &str, group: impl FnOnce(&'static str) -> &'static str) -> FailureKind {
        let mut known = locked(&KNOWN);
        let text = if known.len() < MOST || known.contains_key(text) { text } else { OTHERS };
        if let Some(kind) = known.get(text) {
            return *kind;
        }
        let text: &'static str = Box::leak(text.into());
        let kind = FailureKind(Box::leak(Box::new(Entry { text, group: group(text) })));
        known.insert(text, kind);
        kind
    }
}

impl Display for FailureKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.text)
    }
}

impl Serialize for FailureKind {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        (self.0.group, self.0.text).serialize(to)
    }
}

/// If this process already has a kind with this text, that kind keeps its group.
impl<'de> Deserialize<'de> for FailureKind {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<FailureKind, D::Error> {
        let (group, text) = <(String, String)>::deserialize(from)?;
        Ok(FailureKind::known(
            &text,
            |text| if group == text { text } else { Box::leak(group.into()) },
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_its_text() {
        let kind = FailureKind::of_group("connection", "the line is dead");
        assert_eq!((kind.group(), kind.to_string()), ("connection", "the line is dead".to_owned()));
        assert_eq!(FailureKind::new("the line is dead"), kind);
        assert_eq!(FailureKind::new("alone").group(), "alone");
        let sent = serde_json::to_string(&kind).unwrap();
        assert_eq!(serde_json::from_str::<FailureKind>(&sent).unwrap(), kind);
        let told: FailureKind = serde_json::from_str(r#"["tls","the line is tapped"]"#).unwrap();
        assert_eq!((told.group(), told.to_string()), ("tls", "the line is tapped".to_owned()));
    }
}
