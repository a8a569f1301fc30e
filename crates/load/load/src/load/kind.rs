//! Defines kinds of failures: short strings under which failures are counted.

use crate::console::panics::locked;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::sync::Mutex;

/// The maximum number of kinds whose texts come from outside this program, such as from the target. Failures of further
/// such kinds are counted as [`OTHERS`].
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

/// All kinds so far. They are never freed, so a [`FailureKind`] is a reference that can be copied.
static KNOWN: Mutex<Kinds> = Mutex::new(Kinds::new());

#[derive(Debug)]
struct Kinds {
    by_text: BTreeMap<&'static str, FailureKind>,
    external: usize,
}

impl Kinds {
    const fn new() -> Kinds {
        Kinds { by_text: BTreeMap::new(), external: 0 }
    }

    fn internal(&mut self, group: &str, text: &str) -> FailureKind {
        self.by_text.get(text).copied().unwrap_or_else(|| self.add(group, text))
    }

    fn external(&mut self, group: &str, text: &str) -> FailureKind {
        match self.by_text.get(text) {
            Some(kind) => *kind,
            None if self.external == MOST => self.internal(OTHERS, OTHERS),
            None => {
                self.external += 1;
                self.add(group, text)
            }
        }
    }

    fn add(&mut self, group: &str, text: &str) -> FailureKind {
        let [group, text] = [group, text].map(|text| &*Box::leak(Box::<str>::from(text)));
        let kind = FailureKind(Box::leak(Box::new(Entry { text, group })));
        self.by_text.insert(text, kind);
        kind
    }
}

/// Inserts the counts one by one, because collecting into a map adds sorting code to the binary for each type of map.
pub(crate) fn in_words(
    counts: impl IntoIterator<Item = (FailureKind, u64)>,
) -> BTreeMap<String, u64> {
    let mut in_words = BTreeMap::new();
    in_words.extend(counts.into_iter().map(|(kind, count)| (kind.to_string(), count)));
    in_words
}

impl FailureKind {
    pub(crate) fn new(text: &str) -> FailureKind {
        FailureKind::external(text, text)
    }

    /// Returns the kind for a string that comes from outside this program, such as from the target. If the string is
    /// already known, its kind keeps its group.
    pub(crate) fn external(group: &str, text: &str) -> FailureKind {
        locked(&KNOWN).external(group, text)
    }

    /// Returns the kind for a string that this program determines. Metrics count failures by group, because there are
    /// fewer groups than kinds.
    pub(crate) fn of_group(group: &str, text: &str) -> FailureKind {
        locked(&KNOWN).internal(group, text)
    }

    pub(crate) fn group(self) -> &'static str {
        self.0.group
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

/// The sending process has limited the number of its kinds, so they are not limited again.
impl<'de> Deserialize<'de> for FailureKind {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<FailureKind, D::Error> {
        let (group, text) = <(String, String)>::deserialize(from)?;
        Ok(FailureKind::of_group(&group, &text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::shortage::{GENERATOR, Shortage};

    #[test]
    fn only_external_kinds_are_counted_together_if_there_are_many() {
        let mut kinds = Kinds::new();
        for number in 0..2 * MOST {
            let kind = kinds.external("any", &format!("failure {number}"));
            assert_eq!(kind.group(), if number < MOST { "any" } else { OTHERS });
        }
        assert_eq!(kinds.external("any", "failure 0").to_string(), "failure 0");
        let step = kinds.internal(GENERATOR, &format!("log in: {}", Shortage::OpenFiles));
        assert_eq!(Shortage::of_kind(step), Some(Shortage::OpenFiles));
    }

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
