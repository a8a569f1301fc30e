//! The result of a request: admitted or rejected, what is left, and when to retry.

use alloc::string::String;
use alloc::{format, string::ToString};
use core::cmp::{Ordering, Reverse};
use core::time::Duration;
use nanopace_nanos::Nanos;
use thiserror::Error;

/// Why a request was rejected. Nothing was counted.
///
/// Errors are ordered by how long the request has to wait. The smaller of two capacities is the greater
/// error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum Rejected {
    /// The request is too early. The same request is admitted from this moment on, and not earlier, if no other request
    /// is admitted before it.
    #[error("not before {0:?}")]
    NotUntil(Nanos),
    /// The request is never admitted: it is larger than the limiter admits at once.
    #[error(
        "the request is larger than the {capacity} that can be admitted at once: ask for less, or raise the limit"
    )]
    ExceedsCapacity {
        /// The most that can be admitted at once.
        capacity: u64,
    },
}

impl Rejected {
    /// The moment from which on the request is admitted, if it ever is.
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

/// Why a request with a cost for each limit was rejected. Nothing was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum CostsRejected {
    /// The limits reject the request.
    #[error(transparent)]
    Limit(#[from] Rejected),
    /// The number of costs is not the number of limits.
    #[error("limits {limits}, costs {costs}: give one cost for each limit, in their order")]
    Number {
        /// The number of limits.
        limits: usize,
        /// The number of costs.
        costs: usize,
    },
}

impl CostsRejected {
    /// The moment from which on the request is admitted, if it ever is.
    #[must_use]
    pub fn not_until(&self) -> Option<Nanos> {
        match self {
            CostsRejected::Limit(rejected) => rejected.not_until(),
            CostsRejected::Number { .. } => None,
        }
    }
}

/// How much of a limit is left at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Standing {
    /// The most that is ever admitted at once.
    pub limit: u64,
    /// The most that would be admitted now.
    pub remaining: u64,
    /// The time after which the whole limit is admitted at once, if no request comes before.
    pub reset: Duration,
}

/// A decision, and how much of the limit is left after it.
///
/// With several limits, a decision describes one of them: the limit that rejected the request for the longest time, or,
/// after an admission, the limit with the least left.
///
/// # Header fields
///
/// [`retry_after`](Decision::retry_after) is the field `Retry-After` of RFC 9110, section 10.2.3.
/// [`rate_limit`](Decision::rate_limit) and [`rate_limit_policy`](Decision::rate_limit_policy) are the fields
/// `RateLimit` and `RateLimit-Policy` of the IETF's `draft-ietf-httpapi-ratelimit-headers-10`. All of them count whole
/// seconds, rounded up.
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

    /// The same decision, described by the limit with that number.
    pub(crate) fn by(self, which: usize) -> Decision {
        Decision { which, ..self }
    }

    /// The number of the limit that this decision describes: 0 is the first.
    #[must_use]
    pub fn which(&self) -> usize {
        self.which
    }

    /// Whether the request was admitted.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.answer.is_ok()
    }

    /// Whether the request was admitted, and if not, why.
    ///
    /// # Errors
    /// [`Rejected`], if the request was not admitted.
    pub fn answer(&self) -> Result<(), Rejected> {
        self.answer
    }

    /// The most that is ever admitted at once.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.standing.limit
    }

    /// The most that would be admitted after this request.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.standing.remaining
    }

    /// The time after which the whole limit is admitted at once, if no request comes before.
    #[must_use]
    pub fn reset(&self) -> Duration {
        self.standing.reset
    }

    /// The time after which the same request is admitted, if no other request is admitted before it. `None` if this
    /// request was admitted or is never admitted.
    #[must_use]
    pub fn retry(&self) -> Option<Duration> {
        match self.answer {
            Err(Rejected::NotUntil(moment)) => Some(moment - self.now),
            _ => None,
        }
    }

    /// The value of the header field `Retry-After`, if there is a [`retry`](Decision::retry).
    #[must_use]
    pub fn retry_after(&self) -> Option<String> {
        self.retry().map(|retry| seconds(retry).to_string())
    }

    /// The value of the header field `RateLimit` for a policy of that name. Characters other than printable
    /// ASCII are left out of the name.
    #[must_use]
    pub fn rate_limit(&self, name: &str) -> String {
        let Standing { remaining, reset, .. } = self.standing;
        format!("{};r={};t={}", quoted(name), integer(remaining), seconds(reset))
    }

    /// The value of the header field `RateLimit-Policy`, for a policy of that name.
    #[must_use]
    pub fn rate_limit_policy(&self, name: &str) -> String {
        policy(name, self.standing.limit, None)
    }
}

/// A policy: the most that is admitted, in a window of this many seconds.
pub(crate) fn policy(name: &str, most: u64, window: Option<u128>) -> String {
    let window = window.and_then(|seconds| u64::try_from(seconds).ok());
    let window = window.map_or_else(String::new, |seconds| format!(";w={}", integer(seconds)));
    format!("{};q={}{window}", quoted(name), integer(most))
}

/// Whole seconds, rounded up.
fn seconds(span: Duration) -> u64 {
    integer(span.as_secs() + u64::from(span.subsec_nanos() > 0))
}

/// The number as an integer of a structured field, which has at most 15 digits (RFC 9651, section 3.3.1).
fn integer(number: u64) -> u64 {
    number.min(999_999_999_999_999)
}

/// A string of a structured field (RFC 9651, section 3.3.3).
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
