//! Who decides on a request.

use crate::{KeyOf, Rejection, Verdict};
use http::Request;
use nanopace_keyed::{Keyed, LimitsOf, Uniform};
use nanopace_limits::Limiter;
use std::borrow::{Borrow, Cow};
use std::hash::{BuildHasher, Hash, RandomState};

/// Decides on requests, at once. A [`Limiter`] does for all of them together, [`ByKey`] for each key.
///
/// ```
/// use http::Request;
/// use nanopace_tower::{Decide, Limiter};
///
/// let limiter = Limiter::per_second(10).build()?;
/// let verdict = limiter.decide_on(&Request::new("body"), 2)?.expect("it was counted");
/// assert_eq!(verdict.decision().remaining(), 8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Decide<B> {
    /// Lets a request in that costs so much, and says how the limits stand. None if it was let in
    /// without being counted.
    ///
    /// # Errors
    /// [`Rejection`].
    ///
    /// ```
    /// use http::Request;
    /// use nanopace_tower::{Decide, Limiter, Rejection};
    ///
    /// let limiter = Limiter::per_second(10).build()?;
    /// let rejection = limiter.decide_on(&Request::new("body"), 11).unwrap_err();
    /// assert!(matches!(rejection, Rejection::Limit(_)));
    /// # Ok::<(), nanopace_tower::LimitsError>(())
    /// ```
    fn decide_on(&self, request: &Request<B>, cost: u64) -> Result<Option<Verdict>, Rejection>;
}

impl<B> Decide<B> for Limiter {
    fn decide_on(&self, _: &Request<B>, cost: u64) -> Result<Option<Verdict>, Rejection> {
        outcome(Verdict::new(self.decide_n(cost), Some(self.limits())))
    }
}

/// What happens to a request that has no key.
///
/// ```
/// use http::HeaderName;
/// use nanopace_tower::{Keyed, LimitLayer, WithoutKey};
///
/// let users = Keyed::per_second(10).build()?;
/// let layer = LimitLayer::by_header(HeaderName::from_static("x-api-key"), users)
///     .without_key(WithoutKey::Common("anonymous".to_owned()));
/// # let _ = layer;
/// # Ok::<(), nanopace_tower::LimitsError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WithoutKey<K> {
    /// It is rejected: the default, because otherwise a client could leave its key out, and nobody
    /// would notice that a server does not know its peers' addresses.
    #[default]
    Reject,
    /// It is let in, and not counted.
    LetIn,
    /// It has this key, together with all others that have none.
    Common(K),
}

/// Limits for each key of the requests.
///
/// ```
/// use http::{HeaderName, Request};
/// use nanopace_tower::{ByKey, Decide, Keyed};
///
/// let users = Keyed::per_minute(1).build()?;
/// let by_key = ByKey::new(HeaderName::from_static("x-api-key"), users);
/// let request = Request::get("/").header("x-api-key", "alice").body(())?;
/// assert!(by_key.decide_on(&request, 1).is_ok());
/// assert!(by_key.decide_on(&request, 1).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ByKey<F, K, C = Uniform, S = RandomState> {
    key: F,
    keyed: Keyed<K, C, S>,
    without_key: WithoutKey<K>,
}

impl<F: Clone, K: Clone, C, S> Clone for ByKey<F, K, C, S> {
    fn clone(&self) -> Self {
        ByKey {
            key: self.key.clone(),
            keyed: self.keyed.clone(),
            without_key: self.without_key.clone(),
        }
    }
}

impl<F, K, C, S> ByKey<F, K, C, S> {
    /// Limits for each key that `key` finds. A request without one is rejected.
    ///
    /// ```
    /// use http::HeaderName;
    /// use nanopace_tower::{ByKey, Keyed};
    ///
    /// let users = Keyed::<String>::per_minute(1).build()?;
    /// let by_key = ByKey::new(HeaderName::from_static("x-api-key"), users);
    /// # let _ = by_key;
    /// # Ok::<(), nanopace_tower::LimitsError>(())
    /// ```
    #[must_use]
    pub fn new(key: F, keyed: Keyed<K, C, S>) -> Self {
        ByKey { key, keyed, without_key: WithoutKey::default() }
    }

    /// What happens to a request that has no key.
    ///
    /// ```
    /// use http::HeaderName;
    /// use nanopace_tower::{ByKey, Keyed, WithoutKey};
    ///
    /// let users = Keyed::<String>::per_minute(1).build()?;
    /// let by_key = ByKey::new(HeaderName::from_static("x-api-key"), users)
    ///     .without_key(WithoutKey::LetIn);
    /// # let _ = by_key;
    /// # Ok::<(), nanopace_tower::LimitsError>(())
    /// ```
    #[must_use]
    pub fn without_key(self, without_key: WithoutKey<K>) -> Self {
        ByKey { without_key, ..self }
    }
}

impl<B, F, K, C, S> Decide<B> for ByKey<F, K, C, S>
where
    F: KeyOf<B>,
    F::Key: Hash + Eq + ToOwned<Owned = K>,
    K: Hash + Eq + Borrow<F::Key>,
    C: LimitsOf<F::Key>,
    S: BuildHasher,
{
    fn decide_on(&self, request: &Request<B>, cost: u64) -> Result<Option<Verdict>, Rejection> {
        let key = match (self.key.key_of(request), &self.without_key) {
            (Some(key), _) => key,
            (None, WithoutKey::Common(key)) => Cow::Borrowed(key.borrow()),
            (None, WithoutKey::LetIn) => return Ok(None),
            (None, WithoutKey::Reject) => return Err(Rejection::NoKey(F::MISSING)),
        };
        let decision = self.keyed.decide_costs(&*key, cost).map_err(Rejection::Key)?;
        outcome(Verdict::new(decision, self.keyed.engine().config().limits_for(&key)))
    }
}

fn outcome(verdict: Verdict) -> Result<Option<Verdict>, Rejection> {
    if verdict.decision().is_allowed() { Ok(Some(verdict)) } else { Err(Rejection::Limit(verdict)) }
}
