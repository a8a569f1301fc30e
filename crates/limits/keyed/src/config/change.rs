//! Whose limits change, and to what.

use crate::Limits;
use std::sync::Arc;

/// Says whose limits are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope<'a> {
    /// The limits of this key.
    Key(&'a str),
    /// The defaults of all keys that begin with this prefix and have no limits of their own. If
    /// there are several such prefixes, the longest one counts. The empty prefix is that of all
    /// keys.
    Prefix(&'a str),
}

/// One change of a configuration. Several are made as one step by
/// [`ConfigStore::apply`](crate::ConfigStore::apply).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change<'a> {
    /// Whose limits change.
    pub scope: Scope<'a>,
    /// The new limits. None takes them away.
    pub limits: Option<Arc<Limits>>,
}

impl<'a> Change<'a> {
    /// Gives limits to a key, or to all keys that begin with a prefix.
    ///
    /// ```
    /// use nanopace_keyed::{Change, Scope};
    ///
    /// let change = Change::set(Scope::Key("alice"), "5/s".parse()?);
    /// assert_eq!(change.limits.unwrap().to_string(), "5/s");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn set(scope: Scope<'a>, limits: Limits) -> Change<'a> {
        Change { scope, limits: Some(Arc::new(limits)) }
    }

    /// Takes the limits of a key or a prefix away.
    #[must_use]
    pub fn unset(scope: Scope<'a>) -> Change<'a> {
        Change { scope, limits: None }
    }
}
