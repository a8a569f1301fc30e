//! Builds the names of keys in the store.

use crate::error::RemoteError;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// The maximum length of a subject in its key's name, in bytes. A longer subject is replaced by its hash.
const LONGEST: usize = 512;

/// The prefix of a name such as `prefix:{subject}` contains no braces, so it ends before the first `:{`, and the
/// subject is the rest of the name without the last brace. So no two pairs of prefix and subject have the same name.
/// The name of a long subject contains its hash after `:#{`; in any other name, the first brace follows a colon.
#[derive(Debug)]
pub(crate) struct KeyNames {
    prefix: String,
}

impl KeyNames {
    pub(crate) fn new(prefix: String) -> Result<Self, RemoteError> {
        if prefix.contains(['{', '}']) {
            Err(RemoteError::Prefix { prefix })
        } else {
            Ok(Self { prefix })
        }
    }

    /// Returns the name under which the state of a subject is stored. A cluster determines the hash slot of the state
    /// from the string between the first braces.
    pub(crate) fn subject(&self, subject: &str) -> String {
        let prefix = &self.prefix;
        match subject.len() {
            ..=LONGEST => format!("{prefix}:{{{subject}}}"),
            _ => format!("{prefix}:#{{{}}}", digest(subject)),
        }
    }

    pub(crate) fn processes(&self) -> String {
        format!("{}/processes", self.prefix)
    }
}

fn digest(subject: &str) -> String {
    Sha256::digest(subject).iter().fold(String::new(), |mut digits, byte| {
        write!(digits, "{byte:02x}").ok();
        digits
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns random strings. Most of them have few different characters, so that a test finds pairs with equal names.
    fn text() -> impl Strategy<Value = String> {
        prop_oneof!["[{}:/a]{0,6}", Just("/processes".to_owned()), any::<String>()]
    }

    /// Returns the part that determines the hash slot: <https://valkey.io/topics/cluster-spec/>.
    fn tag(name: &str) -> &str {
        let braces = name.split_once('{').and_then(|(_, rest)| rest.split_once('}'));
        braces.map(|(tag, _)| tag).filter(|tag| !tag.is_empty()).unwrap_or(name)
    }

    /// The digest is the one that `sha256sum` prints, so that a person can find the key.
    #[test]
    fn a_long_subject_is_found_by_its_sum() {
        let name = KeyNames::new("users".to_owned()).unwrap().subject(&"a".repeat(1_000_000));
        let sum = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
        assert_eq!(name, format!("users:#{{{sum}}}"));
    }

    proptest! {
        #[test]
        fn a_prefix_has_no_braces(prefix in text()) {
            let has_braces = prefix.contains(['{', '}']);
            match KeyNames::new(prefix.clone()) {
                Ok(_) => prop_assert!(!has_braces),
                Err(RemoteError::Prefix { prefix: told }) => prop_assert!(has_braces && told == prefix),
                Err(error) => prop_assert!(false, "{}", error),
            }
        }

        #[test]
        fn no_two_have_one_name(prefix in "[:/a]{0,6}", subject in text()) {
            let names = KeyNames::new(prefix.clone()).unwrap();
            let name = names.subject(&subject);
            for (at, _) in name.match_indices(":{") {
                let (other, rest) = (name[..at].to_owned(), &name[at + 2..name.len() - 1]);
                let is_same = other == prefix && rest == subject;
                prop_assert!(is_same || KeyNames::new(other).is_err(), "{}", name);
            }
            let is_a_subject = |name: &str| name.ends_with('}');
            prop_assert!(is_a_subject(&name) && !is_a_subject(&names.processes()));
        }

        #[test]
        fn a_long_subject_has_a_short_name_of_its_own(
            prefix in "[:/a#]{0,6}",
            other in "[:/a#]{0,6}",
            length in LONGEST - 2..LONGEST + 3,
        ) {
            let (names, others) = (KeyNames::new(prefix.clone()).unwrap(), KeyNames::new(other).unwrap());
            let subject = "a".repeat(length);
            let name = names.subject(&subject);
            let is_short = name.len() <= prefix.len() + 3 + LONGEST;
            prop_assert!(is_short, "{}", name);
            prop_assert!(name.starts_with(&format!("{prefix}:")), "{}", name);
            let is_kept = name == format!("{prefix}:{{{subject}}}");
            prop_assert_eq!(is_kept, length <= LONGEST);
            // A subject that equals the hash of a long subject has a different name.
            prop_assert_ne!(&name, &others.subject(&tag(&name)[..64]));
            prop_assert_ne!(&name, &names.subject(&format!("{subject}b")));
        }

        /// The braces contain nothing if the subject is empty or begins with `}`.
        #[test]
        fn the_tag_is_the_subjects_own(prefix in "[:/a]{0,6}", subject in text()) {
            let name = KeyNames::new(prefix).unwrap().subject(&subject);
            let own = format!("{{{subject}}}");
            if subject.is_empty() || subject.starts_with('}') {
                prop_assert_eq!(tag(&name), &name);
            } else {
                prop_assert_eq!(tag(&name), tag(&own));
            }
        }
    }
}
