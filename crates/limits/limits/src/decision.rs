//! The result of a request: admitted or rejected, the remaining requests, and the retry time.

use alloc::string::String;
use alloc::{format, string::ToString};
use core::cmp::{Ordering, Reverse};
use core::time::Duration;
use nanopace_nanos::Nanos;
use thiserror::Error;

/// The reason why a request was rejected. Only limits that count rejected requests have counted the request, and only
/// if the reason is [`NotUntil`](Rejected::NotUntil).
///
/// Rejections are ordered by their retry times. [`ExceedsCapacity`](Rejected::ExceedsCapacity) is greater than any
/// [`NotUntil`](Rejected::NotUntil). If two rejections are `ExceedsCapacity`, the one with the smaller capacity is
/// greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum Rejected {
    /// The request is too early. If no request waits, no limit changes and nothing else is counted first, the same
    /// request is admitted from this moment on. An earlier retry is rejected, unless something else makes room, such as
    /// a refund, a change of the limits or the waiting tokens of a pool.
    #[error("too many requests: retry at {0:?} on the limiter's clock")]
    NotUntil(Nanos),
    /// The request is never admitted, because it is larger than the maximum that the limiter admits at once.
    #[error(
        "the request costs more than the {capacity} that can be admitted at once: lower its cost, or raise the limit"
    )]
    ExceedsCapacity {
        /// The maximum number of requests that can be admitted at once.
        capacity: u64,
    },
}

impl Rejected {
    /// Returns the moment from which the request is admitted, or `None` if it never is.
    #[must_use]
    pub fn not_until(&self) -> Option<Nanos> {
        match self {
            Rejected::NotUntil(moment) => Some(*moment),
            Rejected::ExceedsCapacity { .. } => None,
        }
    }
}

impl Ord for Rejected {
    fn cmp(&self, other: &Rejected) -> Ordering {
        let key = |rejected: &Rejected| match rejected {
            Rejected::NotUntil(moment) => (false, *moment, Reverse(0)),
            Rejected::ExceedsCapacity { capacity } => (true, Nanos::ZERO, Reverse(*capacity)),
        };
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Rejected {
    fn partial_cmp(&self, other: &Rejected) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The reason why a request with costs was rejected. Only limits that count rejected requests have counted the request,
/// and only if the reason is [`Rejected::NotUntil`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum CostsRejected {
    /// The limits reject the request.
    #[error(transparent)]
    Limit(#[from] Rejected),
    /// The number of costs differs from the number of limits.
    #[error(
        "the number of limits is {limits}, and the number of costs is {costs}: give one cost for each limit, in the same order"
    )]
    Number {
        /// The number of limits that the request is checked against.
        limits: usize,
        /// The number of costs that the request has.
        costs: usize,
    },
}

impl CostsRejected {
    /// Returns the moment from which the request is admitted, or `None` if it never is.
    #[must_use]
    pub fn not_until(&self) -> Option<Nanos> {
        match self {
            CostsRejected::Limit(rejected) => rejected.not_until(),
            CostsRejected::Number { .. } => None,
        }
    }
}

/// The standing of a limit at one moment: the maximum number of requests, how many of them remain, and the time until
/// all of them can be admitted again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Standing {
    /// The maximum number of requests that is ever admitted at once.
    pub limit: u64,
    /// The maximum number of requests that could be admitted at once at the moment of this standing.
    pub remaining: u64,
    /// The time from the moment of this standing until [`limit`](Standing::limit) requests can be admitted at once, if
    /// no request is made before that.
    pub reset: Duration,
}

/// The decision on a request, and the number of requests that can be admitted right after the decision.
///
/// With several limits, the numbers of a decision describe one limit. If the request is admitted, they describe the
/// limit with the fewest remaining requests. If the request is rejected, they describe the limit with the greatest
/// [`Rejected`]. If the request yields to waiting requests, however, the decision describes the limit with the fewest
/// remaining requests, and reports that 0 remain. A limit that counts rejected requests may delay the retry time of a
/// request that another limit rejects.
///
/// # Header fields
///
/// [`retry_after`](Decision::retry_after) is the field `Retry-After` of RFC 9110, section 10.2.3.
/// [`rate_limit`](Decision::rate_limit) and [`rate_limit_policy`](Decision::rate_limit_policy) are the fields
/// `RateLimit` and `RateLimit-Policy` of the IETF's `draft-ietf-httpapi-ratelimit-headers-10`. All times in these
/// fields are in whole seconds, rounded up.
///
/// ```
/// use nanopace_limits::Limiter;
///
/// let limiter = Limiter::per_second(10).burst(1).build()?;
/// assert!(limiter.decide().is_allowed());
///
/// let decision = limiter.decide();
/// assert!(!decision.is_allowed());
/// assert_eq!(decision.retry_after().as_deref(), Some("1"));
/// assert_eq!(decision.rate_limit("default"), r#""default";r=0;t=1"#);
/// assert_eq!(decision.rate_limit_policy("default"), r#""default";q=1"#);
/// # Ok::<(), nanopace_limits::LimitsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Decision {
    answer: Result<(), Rejected>,
    now: Nanos,
    standing: Standing,
    which: usize,
}

impl Decision {
    pub(crate) fn new(answer: Result<(), Rejected>, now: Nanos, standing: Standing) -> Decision {
        Decision { answer, now, standing, which: 0 }
    }

    pub(crate) fn by(self, which: usize) -> Decision {
        Decision { which, ..self }
    }

    /// Returns the index of the limit that this decision describes, counted from 0.
    #[must_use]
    pub fn which(&self) -> usize {
        self.which
    }

    /// Returns whether the request was admitted.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.answer.is_ok()
    }

    /// Returns `Ok` if the request was admitted, or the reason for the rejection.
    ///
    /// # Errors
    /// Returns [`Rejected`] if the request was not admitted.
    pub fn answer(&self) -> Result<(), Rejected> {
        self.answer
    }

    /// Returns the maximum number of requests that is ever admitted at once.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.standing.limit
    }

    /// Returns the maximum number of requests that could be admitted at once right after this decision.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.standing.remaining
    }

    /// Returns the time from the decision until [`limit`](Decision::limit) requests can be admitted at once. See
    /// [`Standing::reset`].
    #[must_use]
    pub fn reset(&self) -> Duration {
        self.standing.reset
    }

    /// Returns the time from the decision until the same request would be admitted, if no limit changes and nothing
    /// else is counted in the meantime. Returns `None` if this request was admitted or is never admitted.
    #[must_use]
    pub fn retry(&self) -> Option<Duration> {
        match self.answer {
            Err(Rejected::NotUntil(moment)) => Some(moment - self.now),
            _ => None,
        }
    }

    /// Returns the value of the header field `Retry-After`, or `None` if there is no [`retry`](Decision::retry) time.
    #[must_use]
    pub fn retry_after(&self) -> Option<String> {
        self.retry().map(|retry| seconds(retry).to_string())
    }

    /// Returns the value of the header field `RateLimit` for a policy with this name. Characters other than printable
    /// ASCII are removed from the name.
    #[must_use]
    pub fn rate_limit(&self, name: &str) -> String {
        let Standing { remaining, reset, .. } = self.standing;
        format!("{};r={};t={}", quoted(name), integer(remaining), seconds(reset))
    }

    /// Returns the value of the header field `RateLimit-Policy` for a policy with this name.
    #[must_use]
    pub fn rate_limit_policy(&self, name: &str) -> String {
        policy(name, self.standing.limit, None)
    }
}

pub(crate) fn policy(name: &str, most: u64, window: Option<u128>) -> String {
    let window = window.and_then(|seconds| u64::try_from(seconds).ok());
    let window = window.map_or_else(String::new, |seconds| format!(";w={}", integer(seconds)));
    format!("{};q={}{window}", quoted(name), integer(most))
}

fn seconds(span: Duration) -> u64 {
    integer(span.as_secs() + u64::from(span.subsec_nanos() > 0))
}

/// Caps the number at the largest integer of a structured field, which has 15 digits (RFC 9651, section 3.3.1).
fn integer(number: u64) -> u64 {
    number.min(999_999_999_999_999)
}

/// Formats `text` as a string of a structured field (RFC 9651, section 3.3.3).
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars().filter(|character| (' '..='~').contains(character)) {
        if matches!(character, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(character);
    }
    quoted + "\""
}
