//! The queue of requests that wait for a limit: FIFO, one queue for each key.
//!
//! Only the *first* waiter in the queue asks the limits. It asks again at the moment from which the limits would admit
//! its request, or after a second if that is earlier. When the first waiter leaves the queue, admitted or not, it wakes
//! the next waiter. So an admission takes one wake-up, however long the queue is, and no waiter overtakes another.
//!
//! **Requests that do not wait yield to the queue**: while the queue is not empty, a request that costs something is
//! rejected ([`yield_to_waiters`](WaitQueue::yield_to_waiters)), with a retry time that is not before that of the first
//! waiter ([`LastTry`]). If the first waiter stops asking, other requests yield for one more second after it should
//! have asked again. If a new first waiter has not asked yet, this second begins when a request first yields to it.
//!
//! After a waiter has entered the queue, it asks the limits under the lock for decisions, so a request that takes this
//! lock later sees the waiter and yields. Model: `nobody_overtakes_who_waits_for_a_limit`.
//!
//! **A waiter in the queue holds nothing**, so nothing is refunded when it gives up. Jitter comes after the queue: an
//! admitted request leaves the queue, and then its caller sleeps. If the waiter is dropped during that sleep, the
//! request is refunded.
//!
//! When a limit changes, or a reservation is refunded, the first in the queue is woken to ask again. A waiter enters
//! the queue before it asks, so no wake-up is lost: a change that is made after the waiter has asked wakes it. Models:
//! `a_refund_reaches_who_waits`, `the_next_in_line_is_called`.

use crate::costs::OwnedCosts;
use crate::limits::LimitsState;
use crate::sync::{AtomicU64, Mutex, Relaxed, lock};
use crate::{Costs, CostsRejected, Limits, Rejected};
use nanopace_nanos::Nanos;
use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::Hash;
use std::mem;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

const GRACE: Duration = Duration::from_secs(1);

/// Queues of threads and tasks, one for each key, in which [`Waiter`](crate::custom::Waiter)s wait.
pub struct WaitQueue<K> {
    /// The number of waiters for all keys. Written with the queues locked.
    waiters: AtomicU64,
    queues: Mutex<Queues<K>>,
}

struct Queues<K> {
    keys: HashMap<K, OneQueue>,
    last: u64,
}

#[derive(Default)]
struct OneQueue {
    entries: BTreeMap<u64, Entry>,
    /// The last attempt of the first in the queue. `None` until it has asked or a request has yielded to it.
    last_try: Option<LastTry>,
}

struct Entry {
    costs: OwnedCosts,
    waker: Waker,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct LastTry {
    pub(crate) admitted_from: Nanos,
    /// The moment by which the first waiter asks again.
    pub(crate) again: Nanos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

impl OneQueue {
    fn is_first(&self, Ticket(number): Ticket) -> bool {
        self.entries.keys().next() == Some(&number)
    }

    fn first(&self) -> Option<Waker> {
        self.entries.values().next().map(|entry| entry.waker.clone())
    }
}

impl<K: Hash + Eq> WaitQueue<K> {
    /// Creates queues in which no request waits.
    #[must_use]
    pub fn new() -> WaitQueue<K> {
        let queues = Mutex::new(Queues { keys: HashMap::new(), last: 0 });
        WaitQueue { waiters: AtomicU64::new(0), queues }
    }

    /// Returns whether no request waits. The caller holds the lock for decisions on its key.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        // Relaxed: a waiter is counted before it asks, and it asks under the lock that the caller holds, so the caller
        // sees every waiter that has asked. Model: `nobody_overtakes_who_waits_for_a_limit`.
        self.waiters.load(Relaxed) == 0
    }

    /// Returns whether no request waits for the key. The caller holds the lock for decisions on the key.
    pub(crate) fn is_empty_for<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.is_empty() || !lock(&self.queues).keys.contains_key(key)
    }

    /// Rejects a request that does not wait while others wait for the key, unless the request costs nothing or the
    /// first in the queue has stopped asking. The caller holds the lock for decisions on the key. A request that can
    /// never be admitted is not rejected here, because the limits reject it.
    ///
    /// # Errors
    /// Returns [`Rejected::NotUntil`] with a moment that is not before the one from which the first in the queue is
    /// admitted. Limits that count rejected requests have counted the request.
    #[inline]
    pub fn yield_to_waiters<Q>(
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
        match self.first_admitted_from(key, now) {
            Some(first) => limits.yield_to_waiters(state, now, costs, first),
            None => Ok(()),
        }
    }

    /// Returns the moment from which the first waiter of the key is admitted. Returns `None` if the key's queue is
    /// empty or its first waiter has stopped asking.
    #[cold]
    fn first_admitted_from<Q>(&self, key: &Q, now: Nanos) -> Option<Nanos>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let mut queues = lock(&self.queues);
        let last_try = &mut queues.keys.get_mut(key)?.last_try;
        let LastTry { admitted_from, again } =
            *last_try.get_or_insert(LastTry { admitted_from: now, again: now });
        (now <= again + GRACE).then_some(admitted_from)
    }

    /// Enters the queue, or stays in it, and returns whether the caller is first. `waker` is woken when the caller
    /// becomes first, or when it is first and should ask again.
    pub(crate) fn enter<Q>(
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
        let mut guard = lock(&self.queues);
        let queues = &mut *guard;
        let queue = match queues.keys.get_mut(key) {
            Some(queue) => queue,
            None => queues.keys.entry(key.to_owned()).or_default(),
        };
        let ticket = *ticket.get_or_insert_with(|| {
            queues.last += 1;
            // Relaxed: as in `is_empty`.
            self.waiters.fetch_add(1, Relaxed);
            let entry = Entry { costs: costs.into_owned(), waker: Waker::noop().clone() };
            queue.entries.insert(queues.last, entry);
            Ticket(queues.last)
        });
        let entry = queue.entries.get_mut(&ticket.0).expect("each ticket has an entry");
        let before = mem::replace(&mut entry.waker, waker.clone());
        let is_first = queue.is_first(ticket);
        drop(guard);
        drop(before);
        is_first
    }

    pub(crate) fn note_try<Q>(&self, key: &Q, last_try: LastTry)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        if let Some(queue) = lock(&self.queues).keys.get_mut(key) {
            queue.last_try = Some(last_try);
        }
    }

    /// Sets the costs of an admitted request, which is still in the queue, to zero, so that forecasts do not count them
    /// again.
    pub(crate) fn mark_admitted<Q>(&self, key: &Q, Ticket(number): Ticket)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let mut queues = lock(&self.queues);
        let entry = queues.keys.get_mut(key).and_then(|queue| queue.entries.get_mut(&number));
        if let Some(entry) = entry {
            entry.costs = OwnedCosts::Same(0);
        }
    }

    pub(crate) fn costs_ahead<Q>(&self, key: &Q, Ticket(number): Ticket) -> Vec<OwnedCosts>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let queues = lock(&self.queues);
        let ahead =
            queues.keys.get(key).into_iter().flat_map(|queue| queue.entries.range(..number));
        ahead.take(MOST_AHEAD).map(|(_, entry)| entry.costs.clone()).collect()
    }

    pub(crate) fn leave<Q>(&self, key: &Q, ticket: &mut Option<Ticket>)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let Some(ticket) = ticket.take() else { return };
        let mut queues = lock(&self.queues);
        let Some(queue) = queues.keys.get_mut(key) else { return };
        let was_first = queue.is_first(ticket);
        let left = queue.entries.remove(&ticket.0);
        // Relaxed: as in `is_empty`.
        self.waiters.fetch_sub(1, Relaxed);
        let next = queue.first().filter(|_| was_first);
        if was_first {
            queue.last_try = None;
        }
        if queue.entries.is_empty() {
            queues.keys.remove(key);
        }
        drop(queues);
        drop(left);
        next.into_iter().for_each(Waker::wake);
    }

    /// Wakes the first waiter in a key's queue, so that it asks again.
    pub fn wake_first<Q>(&self, key: &Q)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let first = lock(&self.queues).keys.get(key).and_then(OneQueue::first);
        first.into_iter().for_each(Waker::wake);
    }

    /// Wakes the first waiter in each key's queue, so that it asks again.
    pub fn wake_all_first(&self) {
        let queues = lock(&self.queues);
        let first: Vec<Waker> = queues.keys.values().filter_map(OneQueue::first).collect();
        drop(queues);
        first.into_iter().for_each(Waker::wake);
    }
}

impl<K: Hash + Eq> Default for WaitQueue<K> {
    fn default() -> WaitQueue<K> {
        WaitQueue::new()
    }
}

impl<K> fmt::Debug for WaitQueue<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = lock(&self.queues).keys.len();
        f.debug_struct("WaitQueue").field("keys", &keys).finish_non_exhaustive()
    }
}

/// The maximum number of waiters ahead that a forecast considers. If there are more waiters, the forecast is too early.
const MOST_AHEAD: usize = 1_000;

pub(crate) struct Forecast {
    limits: Arc<Limits>,
    state: LimitsState,
    now: Nanos,
    ahead: Vec<OwnedCosts>,
}

impl Forecast {
    pub(crate) fn new(
        limits: &Arc<Limits>,
        state: &LimitsState,
        now: Nanos,
        ahead: Vec<OwnedCosts>,
    ) -> Forecast {
        Forecast { limits: Arc::clone(limits), state: state.clone(), now, ahead }
    }

    pub(crate) fn admitted_at(mut self, costs: Costs<'_>) -> Result<Nanos, CostsRejected> {
        for other in std::mem::take(&mut self.ahead) {
            // A request that is never admitted leaves the queue, so its error is ignored.
            let _ = self.admit(other.as_costs());
        }
        self.admit(costs)
    }

    fn admit(&mut self, costs: Costs<'_>) -> Result<Nanos, CostsRejected> {
        loop {
            let Err(rejected) = self.limits.admit(&mut self.state, self.now, costs) else {
                return Ok(self.now);
            };
            match rejected.not_until() {
                Some(moment) if moment > self.now => self.now = moment,
                Some(moment) => return Ok(moment),
                None => return Err(rejected),
            }
        }
    }
}
