//! Limits by key: finds the key of a request, and decides by the key's limits.

use crate::decide::outcome;
use crate::{Decide, Decided, Deciding, Rejection, Verdict};
use http::{HeaderName, Request, StatusCode};
use nanopace_keyed::{Keyed, LimitsOf};
use std::borrow::{Borrow, Cow};
use std::future::{Future, Ready};
use std::hash::{BuildHasher, Hash};

/// Finds the key of a request.
///
/// This trait is implemented for [`HeaderName`], with the value of the field as the key; for the sender's address
/// ([`Peer`](crate::Peer), [`Forwarded`](crate::Forwarded)); and for every function from `&Request<B>` to `Option<K>`.
/// Your own implementation can borrow the key from the request, so that a known key is not copied:
///
/// ```
/// use http::Request;
/// use nanopace_tower::{Keyed, KeyOf, LimitLayer};
/// use std::borrow::Cow;
///
/// /// The first part of the path.
/// #[derive(Clone, Debug)]
/// struct Tenant;
///
/// impl<B> KeyOf<B> for Tenant {
///     type Key = str;
///
///     fn key_of<'r>(&'r self, request: &'r Request<B>) -> Option<Cow<'r, str>> {
///         request.uri().path().split('/').nth(1).map(Cow::Borrowed)
///     }
/// }
///
/// let layer = LimitLayer::by_key(Tenant, Keyed::<String>::per_second(10).build()?);
/// # Ok::<(), nanopace_tower::LimitsError>(())
/// ```
pub trait KeyOf<B> {
    /// The status of the response to a request without a key: by default 400, because the client is at fault.
    const MISSING: StatusCode = StatusCode::BAD_REQUEST;

    /// The type of a key. Its owned form is stored for each counted key.
    type Key: ToOwned + ?Sized;

    /// Returns the key of the request, or `None` if it has no key.
    fn key_of<'r>(&'r self, request: &'r Request<B>) -> Option<Cow<'r, Self::Key>>;
}

/// The key is the value of the field, or the first of several values. A value with other characters than visible ASCII,
/// spaces and tabs is not a key.
impl<B> KeyOf<B> for HeaderName {
    type Key = str;

    fn key_of<'r>(&'r self, request: &'r Request<B>) -> Option<Cow<'r, str>> {
        let value = request.headers().get(self)?;
        value.to_str().ok().map(Cow::Borrowed)
    }
}

impl<B, F, K> KeyOf<B> for F
where
    F: Fn(&Request<B>) -> Option<K>,
    K: Clone,
{
    type Key = K;

    fn key_of<'r>(&'r self, request: &'r Request<B>) -> Option<Cow<'r, K>> {
        self(request).map(Cow::Owned)
    }
}

/// The treatment of requests without a key, set by [`LimitLayer::without_key`](crate::LimitLayer::without_key).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WithoutKey<K> {
    /// The request is rejected. This is the default, because otherwise a client could escape its limits by omitting its
    /// key, and a server that does not provide the addresses of its peers would go unnoticed.
    #[default]
    Reject,
    /// The request is admitted, and not counted.
    LetIn,
    /// The request is counted for this key, which all requests without a key share.
    Common(K),
}

/// Marks limits by key that a layer can use, with `K` as the owned type of keys: a [`Keyed`] of this process, or, with
/// the feature `remote`, an `AsyncRemoteKeyed`, which many processes share through a store.
pub trait LimitsByKey<K> {}

/// Decides on a request by its key.
pub trait DecideKey<Q: ?Sized> {
    /// The future of a decision that is not made at once.
    type Later: Future<Output = Decided>;

    /// Admits or rejects a request for this key with this cost.
    fn decide_key(&self, key: &Q, cost: u64) -> Deciding<Self::Later>;
}

impl<K, C, S> LimitsByKey<K> for Keyed<K, C, S> {}

impl<K, C, S, Q> DecideKey<Q> for Keyed<K, C, S>
where
    K: Hash + Eq + Borrow<Q>,
    Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    C: LimitsOf<Q>,
    S: BuildHasher,
{
    type Later = Ready<Decided>;

    fn decide_key(&self, key: &Q, cost: u64) -> Deciding<Self::Later> {
        let decision = self.decide_costs(key, cost).map_err(Rejection::Key);
        let limits = || self.config().limits_for(key);
        Deciding::Now(decision.and_then(|decision| outcome(Verdict::new(decision, limits()))))
    }
}

/// Limits requests by key, with separate limits for each key. [`LimitLayer::by_key`](crate::LimitLayer::by_key) creates
/// a layer with such limits.
#[derive(Clone, Debug)]
pub struct ByKey<F, K, L = Keyed<K>> {
    key: F,
    limits: L,
    without_key: WithoutKey<K>,
}

impl<F, K, L: LimitsByKey<K>> ByKey<F, K, L> {
    /// Creates limits for each key that `key` finds. A request without a key is rejected.
    #[must_use]
    pub fn new(key: F, limits: L) -> Self {
        ByKey { key, limits, without_key: WithoutKey::default() }
    }

    /// Sets what happens to a request without a key.
    #[must_use]
    pub fn without_key(self, without_key: WithoutKey<K>) -> Self {
        ByKey { without_key, ..self }
    }
}

impl<B, F, K, L> Decide<B> for ByKey<F, K, L>
where
    F: KeyOf<B>,
    F::Key: ToOwned<Owned = K>,
    K: Borrow<F::Key>,
    L: DecideKey<F::Key>,
{
    type Later = L::Later;

    fn decide_on(&self, request: &Request<B>, cost: u64) -> Deciding<Self::Later> {
        let key = match (self.key.key_of(request), &self.without_key) {
            (Some(key), _) => key,
            (None, WithoutKey::Common(key)) => Cow::Borrowed(key.borrow()),
            (None, WithoutKey::LetIn) => return Deciding::Now(Ok(None)),
            (None, WithoutKey::Reject) => {
                return Deciding::Now(Err(Rejection::NoKey(F::MISSING)));
            }
        };
        self.limits.decide_key(&key, cost)
    }
}

#[cfg(feature = "remote")]
mod remote {
    use super::{DecideKey, LimitsByKey};
    use crate::decide::outcome;
    use crate::{Decided, Deciding, Rejection, Verdict};
    use nanopace_keyed::LimitsOf;
    use nanopace_remote::{AsyncRemoteKeyed, RemoteRejected};
    use std::future::Future;
    use std::pin::Pin;

    impl<K, C: LimitsOf<str>> LimitsByKey<K> for AsyncRemoteKeyed<C> {}

    /// The store identifies a key by its string, so no two keys of a type may have the same string.
    impl<C, Q> DecideKey<Q> for AsyncRemoteKeyed<C>
    where
        C: LimitsOf<str> + Send + Sync + 'static,
        Q: ToString + ?Sized,
    {
        /// The future is boxed, because the future of an `async` block has no name.
        type Later = Pin<Box<dyn Future<Output = Decided> + Send>>;

        fn decide_key(&self, key: &Q, cost: u64) -> Deciding<Self::Later> {
            let (limits, key) = (self.clone(), key.to_string());
            Deciding::Later(Box::pin(async move { decide(&limits, &key, cost).await }))
        }
    }

    async fn decide<C: LimitsOf<str>>(
        users: &AsyncRemoteKeyed<C>,
        key: &str,
        cost: u64,
    ) -> Decided {
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
}
