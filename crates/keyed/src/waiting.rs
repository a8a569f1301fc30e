//! Waiting until a key's limits let a request in.

use crate::{KeyRejected, Keyed, LimitsOf};
use nanopace::Nanos;
use nanopace_limits::{Costs, Refusal, Wait, WaitError, Waiter};
use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};
use std::time::Duration;

impl Refusal for KeyRejected {
    fn not_until(&self) -> Option<Nanos> {
        match self {
            KeyRejected::Limit(rejected) => rejected.not_until(),
            _ => None,
        }
    }
}

impl<K: Hash + Eq, C, S: BuildHasher> Keyed<K, C, S> {
    /// Waits in this thread until one request gets in for `key`, and returns how long that took. For
    /// each key, threads and tasks get in in the order in which they came; only those who do not
    /// wait may come between.
    ///
    /// # Errors
    /// [`WaitError::Rejected`] if waiting does not help.
    ///
    /// ```
    /// use nanopace_keyed::Keyed;
    /// use std::time::Duration;
    ///
    /// let users = Keyed::per_second(1_000).burst(1).build()?;
    /// users.until_key_ready("alice")?;
    /// assert!(users.until_key_ready("alice")? > Duration::ZERO);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn until_key_ready<Q>(&self, key: &Q) -> Result<Duration, WaitError<KeyRejected>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        C: LimitsOf<Q>,
    {
        self.wait(key, Wait::default())
    }

    /// Waits in this thread, as `wait` says, and returns how long that took. A change by
    /// [`set_limits`](Keyed::set_limits), and a reservation that is taken back, reach who waits at
    /// once; a change of a configuration store does within a second.
    ///
    /// # Errors
    /// [`WaitError`].
    ///
    /// ```
    /// use nanopace_keyed::{Keyed, Wait};
    /// use std::time::Duration;
    ///
    /// let users = Keyed::per_second(1_000).build()?;
    /// users.wait("alice", Wait::new(10).timeout(Duration::from_secs(1)))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait<Q>(&self, key: &Q, wait: Wait<'_>) -> Result<Duration, WaitError<KeyRejected>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        C: LimitsOf<Q>,
    {
        let admit = || self.admit(key, wait.costs());
        let end = self.waiter(key, wait).block(self.clock(), admit);
        self.meter().waited(&end);
        end
    }

    pub(crate) fn waiter<'l, Q>(&'l self, key: &'l Q, wait: Wait<'_>) -> Waiter<'l, K, Q>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        Waiter::new(self.line(), key, wait, self.clock().now())
    }

    /// Lets a request in if it fits now, and counts nothing otherwise.
    pub(crate) fn admit<Q>(&self, key: &Q, costs: Costs<'_>) -> Result<(), KeyRejected>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        C: LimitsOf<Q>,
    {
        self.step(key, |limits, state, at| Ok(limits.admit(state, at, costs)?))
    }
}
