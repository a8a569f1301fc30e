//! Who waits for a limit, in the order in which they came.
//!
//! Each key has a line of its own. Whoever is *first* in it looks at the limit, is told from when
//! on the request gets in, and looks again then. The others only wait to be first. Whoever leaves,
//! let in or not, *calls* the next one, which means that it wakes it. So a request that is let in
//! takes one wake-up, whatever the length of the line, and nobody is overtaken by somebody who
//! waits.
//!
//! **Nor by somebody who does not wait**: while a line stands, a request that costs something and
//! asks at once *gives way*, which means that it is refused. The first in line leaves in its place
//! from when on it gets in, and whoever gives way is told no earlier moment. A first that does not
//! look again does not keep others out for ever: they give way until a second after it should have
//! looked. One that has become first, and has not looked yet, should look when a request first gives
//! way to it.
//!
//! Those who stand, in all lines together, are counted. Where there are none, a request that asks
//! at once learns it by one load. It loads the count under the lock under which it is decided. Whoever
//! waits stands in line, and then looks under that lock. So whoever asks after the look gives way.
//! Model: `nobody_overtakes_who_waits_for_a_limit`.
//!
//! **Nobody in line holds anything**, so nothing has to be given back when somebody gives up. Time
//! that passes by chance (jitter) passes behind the line: who is let in leaves, and sleeps then.
//! Whoever is dropped meanwhile gives back what it took.
//!
//! **What is hopeless is said at once.** The line keeps what each of those in it costs. So whoever
//! comes with a deadline can be told when it gets in behind the others, if all of them stay
//! ([`Foresight`](crate::foresight::Foresight)).
//!
//! When a limit changes, or a reservation is taken back, the first of the line is called to look
//! again. It stands in line before it looks, so no such call is lost: what it has not seen comes
//! after, and calls it. Models: `a_refund_reaches_who_waits`, `the_next_in_line_is_called`.

use crate::costs::KeptCosts;
use crate::foresight::MOST_IN_FRONT;
use crate::sync::{AtomicU64, Mutex, Relaxed, lock};
use crate::{Costs, Limits, LimitsState, Rejected};
use nanopace_nanos::Nanos;
use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::Hash;
use std::mem;
use std::task::Waker;
use std::time::Duration;

/// How long the first in line keeps its place before those who do not wait, after it should have looked.
const GRACE: Duration = Duration::from_secs(1);

/// Lines of threads and tasks, one for each key: the fair part of waiting, beneath
/// [`Limiter::wait`](crate::Limiter::wait) and `Keyed::wait`. A [`Waiter`](crate::waiter::Waiter) stands
/// in one.
pub struct Line<K> {
    /// How many stand in line, for all keys. Written with the lines locked.
    standing: AtomicU64,
    lines: Mutex<Lines<K>>,
}

struct Lines<K> {
    keys: HashMap<K, OfKey>,
    last: u64,
}

#[derive(Default)]
struct OfKey {
    places: BTreeMap<u64, Place>,
    /// What the first in line has left; none before it has looked.
    looked: Option<Looked>,
}

struct Place {
    costs: KeptCosts,
    waker: Waker,
}

/// What somebody who has looked, and was not let in, leaves in the first place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Looked {
    /// The moment from which on the request gets in.
    pub(crate) gets_in: Nanos,
    /// The moment at which its caller looks again at the latest.
    pub(crate) again: Nanos,
}

/// A place in a [`Line`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

impl OfKey {
    fn is_first(&self, Ticket(number): Ticket) -> bool {
        self.places.keys().next() == Some(&number)
    }

    fn first(&self) -> Option<Waker> {
        self.places.values().next().map(|place| place.waker.clone())
    }
}

impl<K: Hash + Eq> Line<K> {
    /// Nobody waits.
    #[must_use]
    pub fn new() -> Line<K> {
        let lines = Mutex::new(Lines { keys: HashMap::new(), last: 0 });
        Line { standing: AtomicU64::new(0), lines }
    }

    /// Whether nobody waits for any key. Whoever asks holds the lock under which requests for the
    /// key are decided.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        // Relaxed: whoever has stood in line before it looked has looked under the lock that the
        // caller holds, so its count is seen. Model: `nobody_overtakes_who_waits_for_a_limit`.
        self.standing.load(Relaxed) == 0
    }

    /// Whether nobody waits for that key, asked under the lock under which requests for it are
    /// decided.
    pub(crate) fn is_empty_for<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.is_empty() || !lock(&self.lines).keys.contains_key(key)
    }

    /// Refuses a request that does not wait while others wait for the key, unless it costs nothing.
    /// Asked under the lock under which requests for the key are decided. A request that gets in at
    /// no time does not give way: the limits say so.
    ///
    /// # Errors
    /// [`Rejected::NotUntil`], not before the moment of the first in line. Limits that count
    /// rejected requests have counted it.
    #[inline]
    pub fn give_way<Q>(
        &self,
        key: &Q,
        limits: &Limits,
        state: &mut LimitsState,
        now: Nanos,
        costs: Costs<'_>,
    ) -> Result<(), Rejected>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        if self.is_empty() {
            return Ok(());
        }
        match self.gets_in(key, now) {
            Some(first) => limits.give_way(state, now, costs, first),
            None => Ok(()),
        }
    }

    /// The moment from which on the first in line for that key gets in, as far as it has said so; none if
    /// nobody waits, or if it does not look again.
    #[cold]
    fn gets_in<Q>(&self, key: &Q, now: Nanos) -> Option<Nanos>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let mut lines = lock(&self.lines);
        let looked = &mut lines.keys.get_mut(key)?.looked;
        let Looked { gets_in, again } = *looked.get_or_insert(Looked { gets_in: now, again: now });
        (now <= again + GRACE).then_some(gets_in)
    }

    /// Stands in line, or stays there, and says whether that is the first place. `waker` is woken
    /// when it has become so, or when the first one is to look again.
    pub(crate) fn stand<Q>(
        &self,
        key: &Q,
        ticket: &mut Option<Ticket>,
        costs: Costs<'_>,
        waker: &Waker,
    ) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let mut guard = lock(&self.lines);
        let lines = &mut *guard;
        let line = match lines.keys.get_mut(key) {
            Some(line) => line,
            None => lines.keys.entry(key.to_owned()).or_default(),
        };
        let ticket = *ticket.get_or_insert_with(|| {
            lines.last += 1;
            // Relaxed: as in `is_empty`.
            self.standing.fetch_add(1, Relaxed);
            let place = Place { costs: costs.kept(), waker: Waker::noop().clone() };
            line.places.insert(lines.last, place);
            Ticket(lines.last)
        });
        let place = line.places.get_mut(&ticket.0).expect("it has a ticket");
        let before = mem::replace(&mut place.waker, waker.clone());
        let is_first = line.is_first(ticket);
        drop(guard);
        drop(before);
        is_first
    }

    /// Leaves in the place of the first one, who has looked and was not let in, what it was told.
    pub(crate) fn stays<Q>(&self, key: &Q, looked: Looked)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        if let Some(line) = lock(&self.lines).keys.get_mut(key) {
            line.looked = Some(looked);
        }
    }

    /// The holder of the ticket was let in and is about to leave: what it costs is counted already.
    pub(crate) fn gets_nothing_more<Q>(&self, key: &Q, Ticket(number): Ticket)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let mut lines = lock(&self.lines);
        let place = lines.keys.get_mut(key).and_then(|line| line.places.get_mut(&number));
        if let Some(place) = place {
            place.costs = KeptCosts::Same(0);
        }
    }

    /// What those in front of the ticket cost, beginning with the first in line.
    pub(crate) fn in_front<Q>(&self, key: &Q, Ticket(number): Ticket) -> Vec<KeptCosts>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let lines = lock(&self.lines);
        let in_front = lines.keys.get(key).into_iter().flat_map(|line| line.places.range(..number));
        in_front.take(MOST_IN_FRONT).map(|(_, place)| place.costs.clone()).collect()
    }

    /// Leaves the line, and calls the next one if it was the first place.
    pub(crate) fn leave<Q>(&self, key: &Q, ticket: &mut Option<Ticket>)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let Some(ticket) = ticket.take() else { return };
        let mut lines = lock(&self.lines);
        let Some(line) = lines.keys.get_mut(key) else { return };
        let was_first = line.is_first(ticket);
        let left = line.places.remove(&ticket.0);
        // Relaxed: as in `is_empty`.
        self.standing.fetch_sub(1, Relaxed);
        let next = line.first().filter(|_| was_first);
        if was_first {
            line.looked = None;
        }
        if line.places.is_empty() {
            lines.keys.remove(key);
        }
        drop(lines);
        drop(left);
        next.into_iter().for_each(Waker::wake);
    }

    /// Wakes the first in line for a key, to look again.
    pub fn call<Q>(&self, key: &Q)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let first = lock(&self.lines).keys.get(key).and_then(OfKey::first);
        first.into_iter().for_each(Waker::wake);
    }

    /// Wakes the first in line for each key, to look again.
    pub fn call_all(&self) {
        let lines = lock(&self.lines);
        let called: Vec<Waker> = lines.keys.values().filter_map(OfKey::first).collect();
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
        let keys = lock(&self.lines).keys.len();
        f.debug_struct("Line").field("keys", &keys).finish_non_exhaustive()
    }
}
