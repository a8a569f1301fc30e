//! Limits that many processes share by a store.

use crate::decide::outcome;
use crate::{DecideKey, Decided, Deciding, LimitsByKey, Rejection, Verdict};
use nanopace_keyed::LimitsOf;
use nanopace_remote::{AsyncRemoteKeyed, RemoteRejected};
use std::future::Future;
use std::pin::Pin;

impl<K, C: LimitsOf<str>> LimitsByKey<K> for AsyncRemoteKeyed<C> {}

/// The store has keys by their text. So no two keys of a type may have the same.
impl<C, Q> DecideKey<Q> for AsyncRemoteKeyed<C>
where
    C: LimitsOf<str> + Send + Sync + 'static,
    Q: ToString + ?Sized,
{
    /// A box is nothing beside a call over the network.
    type Later = Pin<Box<dyn Future<Output = Decided> + Send>>;

    fn decide_key(&self, key: &Q, cost: u64) -> Deciding<Self::Later> {
        let (limits, key) = (self.clone(), key.to_string());
        Deciding::Later(Box::pin(async move { decide(&limits, &key, cost).await }))
    }
}

async fn decide<C: LimitsOf<str>>(users: &AsyncRemoteKeyed<C>, key: &str, cost: u64) -> Decided {
    let decision = users.decide_costs(key, cost).await?;
    outcome(Verdict::new(decision, users.keyed().config().limits_for(key)))
}

impl From<RemoteRejected> for Rejection {
    fn from(rejected: RemoteRejected) -> Self {
        match rejected {
            RemoteRejected::Key(rejected) => Rejection::Key(rejected),
            rejected => Rejection::Remote(rejected),
        }
    }
}
