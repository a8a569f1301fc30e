//! The layer, with its settings: the limits, the cost of requests, and the responses to rejected requests.

use crate::service::Settings;
use crate::{
    ByKey, Fields, LimitService, LimitsByKey, One, OnlyGrpc, Rejection, TextOrGrpc, WithoutKey,
};
use http::request::Parts;
use http::{HeaderName, Request, Response};
use std::net::IpAddr;
use tower_layer::Layer;

/// A [`Layer`] that puts limits in front of a service. All services of a layer and its clones share the limits.
#[derive(Clone, Debug)]
pub struct LimitLayer<D, C = One, A = TextOrGrpc>(Settings<D, C, A>);

impl<D> LimitLayer<D> {
    /// Creates a layer from any [`Decide`](crate::Decide). A [`Limiter`](crate::Limiter) limits all requests together.
    #[must_use]
    pub fn new(decide: D) -> Self {
        let fields = Fields::default();
        LimitLayer(Settings { decide, cost: One, answer: TextOrGrpc, fields })
    }
}

impl<F, K, L: LimitsByKey<K>> LimitLayer<ByKey<F, K, L>> {
    /// Creates a layer with limits for each key. `key` finds the key of a request, and can be any implementation of
    /// [`KeyOf`](crate::KeyOf).
    #[must_use]
    pub fn by_key(key: F, limits: L) -> Self {
        LimitLayer::new(ByKey::new(key, limits))
    }

    /// Creates a layer with limits for each key that the function returns.
    ///
    /// ```
    /// use axum::body::Body;
    /// use http::Request;
    /// use nanopace_tower::{Keyed, LimitLayer};
    ///
    /// /// An earlier layer adds this to the extensions of the request.
    /// #[derive(Clone, Copy)]
    /// struct UserId(u64);
    ///
    /// let user = |request: &Request<Body>| request.extensions().get().map(|UserId(id)| *id);
    /// let layer = LimitLayer::by_fn(user, Keyed::per_second(10).build()?);
    /// # Ok::<(), nanopace_tower::LimitsError>(())
    /// ```
    #[must_use]
    pub fn by_fn<B>(key: F, limits: L) -> Self
    where
        F: Fn(&Request<B>) -> Option<K>,
        K: Clone,
    {
        LimitLayer::by_key(key, limits)
    }
}

impl<L: LimitsByKey<String>> LimitLayer<ByKey<HeaderName, String, L>> {
    /// Creates a layer with limits for each value of a header field.
    ///
    /// Check before this layer that the client is allowed to use the key that it sends. Otherwise a client can escape
    /// its limit by sending other keys. A [`Keyed`](crate::Keyed) stores each key at full length until its requests no
    /// longer count.
    #[must_use]
    pub fn by_header(name: HeaderName, limits: L) -> Self {
        LimitLayer::by_key(name, limits)
    }
}

impl<F, L: LimitsByKey<IpAddr>> LimitLayer<ByKey<F, IpAddr, L>> {
    /// Creates a layer with limits for each address: [`Peer`](crate::Peer) or, with proxies,
    /// [`Forwarded`](crate::Forwarded).
    #[must_use]
    pub fn by_address(address: F, limits: L) -> Self {
        LimitLayer::by_key(address, limits)
    }
}

impl<F, K, L: LimitsByKey<K>, C, A> LimitLayer<ByKey<F, K, L>, C, A> {
    /// Sets what happens to a request without a key. By default it is rejected.
    #[must_use]
    pub fn without_key(self, without_key: WithoutKey<K>) -> Self {
        let decide = self.0.decide.without_key(without_key);
        LimitLayer(Settings { decide, ..self.0 })
    }
}

impl<D, C, A> LimitLayer<D, C, A> {
    /// Sets the function that returns the cost of a request, 1 by default. The limits admit every request with cost 0.
    #[must_use]
    pub fn cost<G, B>(self, cost: G) -> LimitLayer<D, G, A>
    where
        G: Fn(&Request<B>) -> u64,
    {
        let Settings { decide, answer, fields, .. } = self.0;
        LimitLayer(Settings { decide, cost, answer, fields })
    }

    /// Sets the function that makes the response to a rejected request, instead of [`TextOrGrpc`]. See
    /// [`Answer`](crate::Answer). The layer adds the header fields.
    #[must_use]
    pub fn answer<G, R>(self, answer: G) -> LimitLayer<D, C, G>
    where
        G: Fn(&Rejection, &Parts) -> Response<R>,
    {
        self.answered_by(answer)
    }

    /// Responds to every rejected request with a gRPC response, instead of [`TextOrGrpc`]. Use this for a server with
    /// tonic alone, whose response bodies cannot be made from strings.
    #[must_use]
    pub fn grpc(self) -> LimitLayer<D, C, OnlyGrpc> {
        self.answered_by(OnlyGrpc)
    }

    fn answered_by<G>(self, answer: G) -> LimitLayer<D, C, G> {
        let Settings { decide, cost, fields, .. } = self.0;
        LimitLayer(Settings { decide, cost, answer, fields })
    }

    /// Sets which responses contain the header fields `RateLimit` and `RateLimit-Policy`. By default, all responses do,
    /// except those to requests that the limits have not decided on.
    #[must_use]
    pub fn fields(self, fields: Fields) -> Self {
        LimitLayer(Settings { fields, ..self.0 })
    }
}

impl<S, D: Clone, C: Clone, A: Clone> Layer<S> for LimitLayer<D, C, A> {
    type Service = LimitService<S, D, C, A>;

    fn layer(&self, inner: S) -> Self::Service {
        LimitService::new(inner, self.0.clone())
    }
}
