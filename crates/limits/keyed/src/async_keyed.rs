//! Lets tasks wait until a key's limits admit a request, with the timers of `nanopace-async`.

use crate::{KeyRejected, Keyed, LimitsOf, Uniform};
use nanopace_async::Timer;
use nanopace_async::timer::{self, Alarms};
use nanopace_limits::{Wait, WaitError};
use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash, RandomState};
use std::io;
use std::time::Duration;

/// A [`Keyed`] for tasks: [`until_ready`](AsyncKeyed::until_ready) waits until a request is admitted, as
/// [`AsyncLimiter`](nanopace_limits::AsyncLimiter) does. All keys share one timer.
#[derive(Debug)]
pub struct AsyncKeyed<K = String, C = Uniform, S = RandomState> {
    keyed: Keyed<K, C, S>,
    alarms: Alarms,
}

impl<K, C, S> Clone for AsyncKeyed<K, C, S> {
    fn clone(&self) -> Self {
        AsyncKeyed { keyed: self.keyed.clone(), alarms: self.alarms.clone() }
    }
}

impl<K: Hash + Eq, C, S: BuildHasher> AsyncKeyed<K, C, S> {
    /// Creates limits by key for tasks, with the best timer for the caller's runtime ([`timer::best`]). If this is a
    /// timer of tokio, the caller's runtime must be driven while tasks wait, even if they wait in another runtime.
    ///
    /// # Errors
    /// Returns an I/O error if no timer is available.
    pub fn new(keyed: Keyed<K, C, S>) -> io::Result<AsyncKeyed<K, C, S>> {
        Ok(AsyncKeyed::with_timer(keyed, timer::best()?))
    }

    /// Creates limits by key for tasks that wait with this timer.
    pub fn with_timer(keyed: Keyed<K, C, S>, timer: impl Timer) -> AsyncKeyed<K, C, S> {
        AsyncKeyed { keyed, alarms: Alarms::new(timer) }
    }

    /// Waits until one request for `key` is admitted, and returns how long that took.
    ///
    /// # Errors
    /// Returns [`WaitError::Rejected`] if the limits never admit the request, the key has no limits, or a new key has
    /// no room.
    pub async fn until_ready<Q>(&self, key: &Q) -> Result<Duration, WaitError<KeyRejected>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        C: LimitsOf<Q>,
    {
        self.wait(key, Wait::default()).await
    }

    /// Waits with these options until a request for `key` is admitted, and returns how long that took.
    ///
    /// # Errors
    /// Returns [`WaitError`] if the request is not admitted.
    pub async fn wait<Q>(&self, key: &Q, wait: Wait<'_>) -> Result<Duration, WaitError<KeyRejected>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        C: LimitsOf<Q>,
    {
        let end = self.keyed.waiter(key, wait).wait_in_task(&self.alarms).await;
        self.keyed.meter().waited(&end);
        end
    }

    /// Returns the limits by key, for checks without waiting and for changes of the limits.
    #[must_use]
    pub fn keyed(&self) -> &Keyed<K, C, S> {
        &self.keyed
    }
}
