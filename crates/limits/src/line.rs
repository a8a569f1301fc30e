//! Who waits for a limit, in the order in which they came.
//!
//! Each key has a line of its own. Whoever is *first* in it looks at the limit, is told from when
//! on the request gets in, and looks again then. The others only wait to be first. Whoever leaves,
//! let in or not, *calls* the next one, which means that it wakes it. So a request that is let in
//! takes one wake-up, whatever the length of the line, and nobody is overtaken by somebody who
//! waits.
//!
//! Nobody in line holds anything, so nothing has to be given back when somebody gives up.
//!
//! When a limit changes, or a reservation is taken back, the first of the line is called to look
//! again. It stands in line before it looks, so no such call is lost: what it has not seen comes
//! after, and calls it. Models: `a_refund_reaches_who_waits`, `the_next_in_line_is_called`.

use crate::sync::{Mutex, lock};
use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::Hash;
use std::task::Waker;

/// Lines of threads and tasks, one for each key: the fair part of waiting, beneath
/// [`Limiter::wait`](crate::Limiter::wait) and `Keyed::wait`.
///
/// ```
/// use nanopace_limits::Line;
/// use std::task::Waker;
///
/// let line: Line<String> = Line::new();
/// let (mut one, mut other) = (None, None);
/// assert!(line.stand("alice", &mut one, Waker::noop()));
/// assert!(!line.stand("alice", &mut other, Waker::noop()));
/// line.leave("alice", &mut one); // calls the other one
/// assert!(line.stand("alice", &mut other, Waker::noop()));
/// line.leave("alice", &mut other);
/// assert!(line.is_empty("alice"));
/// ```
pub struct Line<K>(Mutex<Lines<K>>);

struct Lines<K> {
    keys: HashMap<K, BTreeMap<u64, Waker>>,
    last: u64,
}

/// A place in a [`Line`].
#[derive(Debug, PartialEq, Eq)]
pub struct Ticket(u64);

impl<K: Hash + Eq> Line<K> {
    /// Nobody waits.
    #[must_use]
    pub fn new() -> Line<K> {
        Line(Mutex::new(Lines { keys: HashMap::new(), last: 0 }))
    }

    /// Whether nobody waits for that key.
    #[must_use]
    pub fn is_empty<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        !lock(&self.0).keys.contains_key(key)
    }

    /// Stands in line, or stays there, and says whether that is the first place. `waker` is woken
    /// when it has become so, or when the first one is to look again.
    pub fn stand<Q>(&self, key: &Q, ticket: &mut Option<Ticket>, waker: &Waker) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let mut lines = lock(&self.0);
        lines.last += u64::from(ticket.is_none());
        let Ticket(number) = *ticket.get_or_insert(Ticket(lines.last));
        let line = match lines.keys.get_mut(key) {
            Some(line) => line,
            None => lines.keys.entry(key.to_owned()).or_default(),
        };
        let before = line.insert(number, waker.clone());
        let is_first = line.keys().next() == Some(&number);
        drop(lines);
        drop(before);
        is_first
    }

    /// Leaves the line, and calls the next one if it was the first place.
    pub fn leave<Q>(&self, key: &Q, ticket: &mut Option<Ticket>)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let Some(Ticket(number)) = ticket.take() else { return };
        let mut lines = lock(&self.0);
        let Some(line) = lines.keys.get_mut(key) else { return };
        let was_first = line.keys().next() == Some(&number);
        let left = line.remove(&number);
        let next = line.values().next().filter(|_| was_first).cloned();
        if line.is_empty() {
            lines.keys.remove(key);
        }
        drop(lines);
        drop(left);
        next.into_iter().for_each(Waker::wake);
    }

    /// Calls the first one, to look again.
    pub fn call<Q>(&self, key: &Q)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let first = lock(&self.0).keys.get(key).and_then(|line| line.values().next().cloned());
        first.into_iter().for_each(Waker::wake);
    }

    /// Calls the first one of each key.
    pub fn call_all(&self) {
        let lines = lock(&self.0);
        let first = |line: &BTreeMap<u64, Waker>| line.values().next().cloned();
        let called: Vec<Waker> = lines.keys.values().filter_map(first).collect();
        drop(lines);
        called.into_iter().for_each(Waker::wake);
    }
}

impl<K: Hash + Eq> Default for Line<K> {
    fn default() -> Line<K> {
        Line::new()
    }
}

impl<K> fmt::Debug for Line<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line").field("keys", &lock(&self.0).keys.len()).finish()
    }
}
