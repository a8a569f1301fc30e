//! The names of keys in the store.

use crate::error::RemoteError;

/// The names of a limiter's keys, all of which begin with its prefix.
///
/// As the prefix has no braces, it ends before `:{`, and the subject is all that follows but the last
/// brace. So no two pairs of prefix and subject have one name.
#[derive(Debug)]
pub(crate) struct Names {
    prefix: String,
}

impl Names {
    pub(crate) fn new(prefix: String) -> Result<Self, RemoteError> {
        if prefix.contains(['{', '}']) {
            Err(RemoteError::Prefix { prefix })
        } else {
            Ok(Self { prefix })
        }
    }

    /// The key that has the subject's state. A cluster finds its place by what is between the first
    /// braces.
    pub(crate) fn subject(&self, subject: &str) -> String {
        format!("{}:{{{subject}}}", self.prefix)
    }

    /// The set of processes that take tokens ahead.
    pub(crate) fn processes(&self) -> String {
        format!("{}/processes", self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Few letters, so that they meet often.
    fn text() -> impl Strategy<Value = String> {
        prop_oneof!["[{}:/a]{0,6}", Just("/processes".to_owned()), any::<String>()]
    }

    /// By what a cluster places a key: <https://valkey.io/topics/cluster-spec/>.
    fn tag(name: &str) -> &str {
        let braces = name.split_once('{').and_then(|(_, rest)| rest.split_once('}'));
        braces.map(|(tag, _)| tag).filter(|tag| !tag.is_empty()).unwrap_or(name)
    }

    proptest! {
        #[test]
        fn a_prefix_has_no_braces(prefix in text()) {
            let has_braces = prefix.contains(['{', '}']);
            match Names::new(prefix.clone()) {
                Ok(_) => prop_assert!(!has_braces),
                Err(RemoteError::Prefix { prefix: told }) => prop_assert!(has_braces && told == prefix),
                Err(error) => prop_assert!(false, "{}", error),
            }
        }

        /// However a name is divided into a prefix and a subject, no other two have it.
        #[test]
        fn no_two_have_one_name(prefix in "[:/a]{0,6}", subject in text()) {
            let names = Names::new(prefix.clone()).unwrap();
            let name = names.subject(&subject);
            for (at, _) in name.match_indices(":{") {
                let (other, rest) = (name[..at].to_owned(), &name[at + 2..name.len() - 1]);
                let is_same = other == prefix && rest == subject;
                prop_assert!(is_same || Names::new(other).is_err(), "{}", name);
            }
            let is_a_subject = |name: &str| name.ends_with('}');
            prop_assert!(is_a_subject(&name) && !is_a_subject(&names.processes()));
        }

        /// The prefix doesn't matter for where a subject is, but if the subject begins with `}`: then
        /// there is nothing between the braces.
        #[test]
        fn the_tag_is_the_subjects_own(prefix in "[:/a]{0,6}", subject in text()) {
            let name = Names::new(prefix).unwrap().subject(&subject);
            let own = format!("{{{subject}}}");
            if subject.is_empty() || subject.starts_with('}') {
                prop_assert_eq!(tag(&name), &name);
            } else {
                prop_assert_eq!(tag(&name), tag(&own));
            }
        }
    }
}
