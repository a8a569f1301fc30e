//! Waits until a request for a key is admitted.

use crate::{KeyRejected, Keyed, LimitsOf};
use nanopace_limits::custom::{LimitsState, Receipt, WaitQueue, Waitable, Waiter};
use nanopace_limits::{Costs, CostsRejected, Limits, Wait, WaitError};
use nanopace_nanos::{Clock, Nanos};
use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;
use std::time::Duration;

impl<K: Hash + Eq, C, S: BuildHasher> Keyed<K, C, S> {
    /// Waits in this thread until one request for `key` is admitted, in FIFO order, and returns how long that took.
    ///
    /// # Errors
    /// Returns [`WaitError::Rejected`] if the limits never admit the request, the key has no limits, or a new key has
    /// no room.
    pub fn until_ready<Q>(&self, key: &Q) -> Result<Duration, WaitError<KeyRejected>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        C: LimitsOf<Q>,
    {
        self.wait(key, Wait::default())
    }

    /// Waits in this thread with these options until a request for `key` is admitted, and returns how long that took. A
    /// change by [`set_limits`](Keyed::set_limits) and a refunded reservation reach the first waiting request of the
    /// key at once. Any other change of the limits reaches it within a second.
    ///
    /// # Errors
    /// Returns [`WaitError`] if the request is not admitted.
    pub fn wait<Q>(&self, key: &Q, wait: Wait<'_>) -> Result<Duration, WaitError<KeyRejected>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        C: LimitsOf<Q>,
    {
        let end = self.waiter(key, wait).block();
        self.meter().waited(&end);
        end
    }

    /// Returns a waiting request for `key` for an event loop, which calls [`Waiter::step`]. The metrics do not count
    /// the request.
    #[must_use]
    pub fn waiter<'a, 'l, Q>(
        &'l self,
        key: &'l Q,
        wait: Wait<'a>,
    ) -> Waiter<'a, impl Waitable<Key = K, Asked = Q, Refusal = KeyRejected> + use<'l, Q, K, C, S>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        C: LimitsOf<Q>,
    {
        Waiter::new(OfKey { keyed: self, key }, wait)
    }
}

#[derive(Debug)]
struct OfKey<'l, K, C, S, Q: ?Sized> {
    keyed: &'l Keyed<K, C, S>,
    key: &'l Q,
}

impl<K, C, S, Q> Waitable for OfKey<'_, K, C, S, Q>
where
    K: Hash + Eq + Borrow<Q>,
    Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    C: LimitsOf<Q>,
    S: BuildHasher,
{
    type Key = K;
    type Asked = Q;
    type Refusal = KeyRejected;

    fn key(&self) -> &Q {
        self.key
    }

    fn queue(&self) -> &WaitQueue<K> {
        self.keyed.queue()
    }

    fn clock(&self) -> &dyn Clock {
        self.keyed.clock()
    }

    fn step<T>(
        &self,
        step: impl Fn(&Arc<Limits>, &mut LimitsState, Nanos) -> Result<T, CostsRejected>,
    ) -> Result<T, KeyRejected> {
        self.keyed.step(self.key, |limits, state, at| Ok(step(limits, state, at)?))
    }

    fn not_until(refusal: &KeyRejected) -> Option<Nanos> {
        match refusal {
            KeyRejected::Limit(rejected) => rejected.not_until(),
            _ => None,
        }
    }

    fn refund(&self, receipt: &Receipt) {
        self.keyed.settle(self.key.to_owned(), receipt, Costs::Same(0));
    }
}
