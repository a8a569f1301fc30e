//! The key of a request, which tells it apart from others.

use http::{HeaderName, Request, StatusCode};
use std::borrow::Cow;

/// Finds the key of a request.
///
/// These do: the name of a header field, whose value is the key ([`HeaderName`]); the sender's
/// address ([`Peer`](crate::Peer), [`Forwarded`](crate::Forwarded)); and every function from
/// `&Request<B>` to `Option<K>`. One of your own can lend the key, so that nothing is copied for a
/// key that is known already:
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
    /// The status of the response if there is no key: whose fault is that? It is the client's by
    /// default.
    const MISSING: StatusCode = StatusCode::BAD_REQUEST;

    /// What a key is. The owned form of it is kept for each key that is counted.
    type Key: ToOwned + ?Sized;

    /// The key of the request, if it has one.
    ///
    /// ```
    /// use http::{HeaderName, Request};
    /// use nanopace_tower::KeyOf;
    ///
    /// let request = Request::get("/").header("x-api-key", "alice").body(())?;
    /// let key = HeaderName::from_static("x-api-key");
    /// assert_eq!(key.key_of(&request).as_deref(), Some("alice"));
    /// # Ok::<(), http::Error>(())
    /// ```
    fn key_of<'r>(&'r self, request: &'r Request<B>) -> Option<Cow<'r, Self::Key>>;
}

/// The value of the field, the first if there are several. A value that is not visible ASCII is none.
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
