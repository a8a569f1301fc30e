//! Limits by key in a shared store, for tasks.

use crate::async_store::AsyncStore;
use crate::core::{Start, StoreRequest};
use crate::decide::{Answer, Step};
use crate::error::{RemoteRejected, StoreError};
use crate::keyed::RemoteKeyed;
use nanopace_keyed::{LimitsOf, Uniform};
use nanopace_limits::{Costs, Decision};
use std::sync::Arc;

/// A [`RemoteKeyed`] for tasks of tokio, with the same guarantees. Decisions do not block, and share one connection.
/// The runtime needs tokio's time and I/O drivers. The connection belongs to the runtime of the decision that made it.
/// If that runtime has ended or is not driven, the next decision finds the store lost, and a new connection is made.
///
/// ```no_run
/// use nanopace_remote::{AsyncRemoteKeyed, Remote};
///
/// # async fn in_a_task() -> Result<(), Box<dyn std::error::Error>> {
/// let users = Remote::lazy("redis://127.0.0.1/")?.limits("10/s burst 20").build()?;
/// let users = AsyncRemoteKeyed::new(users);
/// if users.try_acquire("alice").await.is_ok() {
///     // make the request
/// }
/// # Ok(())
/// # }
/// ```
///
/// If the future of a decision is dropped, the request may be counted in the store. Such a request is included in
/// [`Stats::lost`](crate::Stats::lost).
#[derive(Debug)]
pub struct AsyncRemoteKeyed<C: LimitsOf<str> + 'static = Uniform> {
    keyed: RemoteKeyed<C>,
    store: Arc<AsyncStore>,
}

impl<C: LimitsOf<str>> Clone for AsyncRemoteKeyed<C> {
    fn clone(&self) -> Self {
        Self { keyed: self.keyed.clone(), store: Arc::clone(&self.store) }
    }
}

impl<C: LimitsOf<str>> AsyncRemoteKeyed<C> {
    /// Creates a handle for tasks to the same limits as `keyed`, with a connection of its own.
    #[must_use]
    pub fn new(keyed: RemoteKeyed<C>) -> Self {
        let (client, settings) = keyed.store().pool().parts();
        Self { keyed, store: AsyncStore::new(client, settings) }
    }

    /// Returns the same limits for threads, for example to read their statistics or to change them.
    #[must_use]
    pub fn keyed(&self) -> &RemoteKeyed<C> {
        &self.keyed
    }

    /// Returns the reason for the last failure on the connection that tasks share. Returns `None` if there was no
    /// failure yet, or if the store has responded without a failure since then.
    #[must_use]
    pub fn trouble(&self) -> Option<StoreError> {
        self.store.trouble()
    }

    /// Admits or rejects one request for `key`, as [`RemoteKeyed::try_acquire`] does.
    ///
    /// # Errors
    /// Returns [`RemoteRejected`] if the request is not admitted.
    pub async fn try_acquire(&self, key: &str) -> Result<(), RemoteRejected> {
        self.try_acquire_costs(key, 1).await
    }

    /// Admits or rejects a request for `key` with costs, as [`RemoteKeyed::try_acquire_costs`] does.
    ///
    /// # Errors
    /// Returns [`RemoteRejected`] if the request is not admitted.
    pub async fn try_acquire_costs<'a>(
        &self,
        key: &str,
        costs: impl Into<Costs<'a>>,
    ) -> Result<(), RemoteRejected> {
        Ok(self.decide_costs(key, costs).await?.answer()?)
    }

    /// Decides on one request for `key`, as [`RemoteKeyed::decide`] does.
    ///
    /// # Errors
    /// Returns [`RemoteRejected`] if there is no decision, as for [`RemoteKeyed::decide`].
    pub async fn decide(&self, key: &str) -> Result<Decision, RemoteRejected> {
        self.decide_costs(key, 1).await
    }

    /// Decides on a request for `key` with costs, as [`RemoteKeyed::decide_costs`] does.
    ///
    /// # Errors
    /// Returns [`RemoteRejected`] if there is no decision, as for [`RemoteKeyed::decide`].
    pub async fn decide_costs<'a>(
        &self,
        key: &str,
        costs: impl Into<Costs<'a>>,
    ) -> Result<Decision, RemoteRejected> {
        match self.keyed.core().begin(key, costs.into())? {
            Start::Decided(decision) => Ok(decision),
            Start::Ask(request) => {
                let asked = self.ask(&request).await;
                self.keyed.core().conclude(key, &request, asked)
            }
        }
    }

    async fn ask(&self, request: &StoreRequest) -> Result<Answer, StoreError> {
        let deadline = self.store.deadline();
        let mut conversation = self.keyed.core().conversation(request);
        let mut call = conversation.call();
        loop {
            let answer = self.store.call_by(&call, deadline, || conversation.sent()).await;
            let answer = answer.map_err(|error| conversation.failed(error))?;
            match conversation.next(&answer)? {
                Step::Call(next) => call = next,
                Step::Done(answer) => return Ok(answer),
            }
        }
    }
}
