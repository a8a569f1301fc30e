//! The reason why a request was rejected, and the message for its sender.

use crate::Verdict;
use http::StatusCode;
use nanopace_keyed::KeyRejected;
use std::error::Error;
use std::fmt;
use std::time::Duration;

/// The reason why a request was rejected. Its message is meant for the sender of the request, and reveals nothing about
/// the server.
///
/// ```
/// use http::StatusCode;
/// use nanopace_tower::{KeyRejected, Rejection};
///
/// let rejection = Rejection::Key(KeyRejected::TooManyKeys { max: 1_000 });
/// assert_eq!(rejection.status(), StatusCode::SERVICE_UNAVAILABLE);
/// assert_eq!(rejection.to_string(), "too many clients at the moment: retry later");
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Rejection {
    /// The limits rejected the request.
    Limit(Verdict),
    /// The key has no limits, there are too many keys, or the limits of the key could not be checked.
    Key(KeyRejected),
    /// The limits in the store could not decide on the request.
    #[cfg(feature = "remote")]
    #[cfg_attr(docsrs, doc(cfg(feature = "remote")))]
    Remote(nanopace_remote::RemoteRejected),
    /// The request has no key. The status shows whether the client (4xx) or the server (5xx) is at fault.
    NoKey(StatusCode),
}

impl Rejection {
    /// Returns the status of the response, as defined in RFC 9110 and RFC 6585.
    ///
    /// | rejected because | status |
    /// |---|---|
    /// | the limits rejected the request | 429 Too Many Requests |
    /// | the number of keys is at its maximum | 503 Service Unavailable: the cause is other clients, not this one |
    /// | the store made no decision, and the request was denied | 503 Service Unavailable |
    /// | no limits are configured for the key | 403 Forbidden |
    /// | the request has no key | 400 Bad Request, or 500 if the server should have provided it |
    /// | anything else | 500 Internal Server Error |
    #[must_use]
    pub fn status(&self) -> StatusCode {
        match self {
            Rejection::Limit(_) => StatusCode::TOO_MANY_REQUESTS,
            Rejection::Key(KeyRejected::TooManyKeys { .. }) => StatusCode::SERVICE_UNAVAILABLE,
            Rejection::Key(KeyRejected::NoLimits) => StatusCode::FORBIDDEN,
            #[cfg(feature = "remote")]
            Rejection::Remote(nanopace_remote::RemoteRejected::Store(_)) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            #[cfg(feature = "remote")]
            Rejection::Remote(_) => StatusCode::INTERNAL_SERVER_ERROR,
            Rejection::Key(_) => StatusCode::INTERNAL_SERVER_ERROR,
            Rejection::NoKey(status) => *status,
        }
    }

    /// Returns the decision with its limits, or `None` if the limits made no decision.
    #[must_use]
    pub fn verdict(&self) -> Option<&Verdict> {
        match self {
            Rejection::Limit(verdict) => Some(verdict),
            _ => None,
        }
    }

    /// Returns the time from the decision until the same request would be admitted, if no limit changes and nothing
    /// else is counted in the meantime. Returns `None` if that time is not known, or if the request is never admitted.
    #[must_use]
    pub fn retry(&self) -> Option<Duration> {
        self.verdict()?.decision().retry()
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rejection::Limit(verdict) => match verdict.decision().retry_after() {
                Some(seconds) => write!(text, "too many requests: retry in {seconds} s"),
                None => text.write_str(
                    "the request costs more than is ever admitted at once: lower its cost",
                ),
            },
            Rejection::Key(KeyRejected::TooManyKeys { .. }) => {
                text.write_str("too many clients at the moment: retry later")
            }
            Rejection::Key(KeyRejected::NoLimits) => text.write_str("this client is unknown"),
            Rejection::Key(_) => text.write_str("the limits could not be checked"),
            #[cfg(feature = "remote")]
            Rejection::Remote(_) => text.write_str("the limits could not be checked"),
            Rejection::NoKey(status) if status.is_server_error() => {
                text.write_str("the server cannot identify the sender of this request")
            }
            Rejection::NoKey(_) => text.write_str("the request does not identify its sender"),
        }
    }
}

impl Error for Rejection {}
