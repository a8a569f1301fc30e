//! The answer to a request: admitted or rejected, what is left, and when to retry.

use alloc::string::String;
use alloc::{format, string::ToString};
use core::cmp::Ordering;
use core::time::Duration;
use nanopace_nanos::Nanos;
use thiserror::Error;

/// Why a request was rejected. Nothing was counted.
///
/// The order is by how long the request has to wait. The smaller of two capacities is the greater
/// error.
///
/// ```
/// use nanopace_nanos::Nanos;
/// use nanopace_limits::Rejected;
///
/// let soon = Rejected::NotUntil(Nanos::from_nanos(1));
/// assert!(soon < Rejected::NotUntil(Nanos::from_nanos(2)));
/// assert!(soon < Rejected::ExceedsCapacity { capacity: 10 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum Rejected {
    /// Not yet. The same request gets in from this moment on, and not earlier, if nothing else is
    /// let in before.
    #[error("not before {0:?}")]
    NotUntil(Nanos),
    /// Never. The request is for more than the limiter ever lets in at once.
    #[error(
        "asked for more than the {capacity} that can be let in at once: ask for less, or raise the limit"
    )]
    ExceedsCapacity {
        /// The most that can be let in at once.
        capacity: u64,
    },
}

impl Rejected {
    /// The moment from which on the request gets in, if it ever does.
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
        match (self, other) {
            (Rejected::NotUntil(moment), Rejected::NotUntil(other)) => moment.cmp(other),
            (
                Rejected::ExceedsCapacity { capacity },
                Rejected::ExceedsCapacity { capacity: other },
            ) => other.cmp(capacity),
            (Rejected::NotUntil(_), Rejected::ExceedsCapacity { .. }) => Ordering::Less,
            (Rejected::ExceedsCapacity { .. }, Rejected::NotUntil(_)) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Rejected {
    fn partial_cmp(&self, other: &Rejected) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Why a request that costs each limit something of its own was rejected. Nothing was counted.
///
/// ```
/// use nanopace_limits::{CostsRejected, Limiter};
///
/// let limiter = Limiter::new("10/s, 1M/s".parse()?);
/// let error = limiter.try_acquire_costs(&[1]).unwrap_err();
/// assert_eq!(error, CostsRejected::Number { limits: 2, costs: 1 });
/// # Ok::<(), nanopace_limits::LimitsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum CostsRejected {
    /// The limits do not let it in.
    #[error(transparent)]
    Limit(#[from] Rejected),
    /// There is not one cost for each limit.
    #[error("limits {limits}, costs {costs}: give one cost for each limit, in their order")]
    Number {
        /// How many limits there are.
        limits: usize,
        /// How many costs were given.
        costs: usize,
    },
}

impl CostsRejected {
    /// The moment from which on the request gets in, if it ever does.
    #[must_use]
    pub fn not_until(&self) -> Option<Nanos> {
        match self {
            CostsRejected::Limit(rejected) => rejected.not_until(),
            CostsRejected::Number { .. } => None,
        }
    }
}

/// How a limit stands at a moment.
///
/// ```
/// use nanopace_nanos::Nanos;
/// use nanopace_limits::{Gcra, Rule, Standing};
/// use std::time::Duration;
///
/// let rule = Gcra::new("10/s".parse()?);
/// let mut state = rule.fresh();
/// rule.try_acquire(&mut state, Nanos::ZERO, 4).unwrap();
/// let standing = rule.standing(&state, Nanos::ZERO);
/// let reset = Duration::from_millis(400);
/// assert_eq!(standing, Standing { limit: 10, remaining: 6, reset });
/// # Ok::<(), nanopace_limits::QuotaError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Standing {
    /// The most that ever gets in at once.
    pub limit: u64,
    /// The most that would get in now.
    pub remaining: u64,
    /// After so long without a request, all of the limit would get in.
    pub reset: Duration,
}

/// A decision, and how the limit stands after it.
///
/// Of several limits on one request, it tells how that one stands which rejected the request for
/// the longest time, or else the one with the least left.
///
/// # Header fields
///
/// [`retry_after`](Decision::retry_after) is the field `Retry-After` of RFC 9110, section 10.2.3.
/// [`rate_limit`](Decision::rate_limit) and [`rate_limit_policy`](Decision::rate_limit_policy) are
/// the fields `RateLimit` and `RateLimit-Policy` of the IETF's
/// `draft-ietf-httpapi-ratelimit-headers-10`. All of them count whole seconds, rounded up.
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

    /// This decision, of which the limit of that number tells how it stands.
    pub(crate) fn by(self, which: usize) -> Decision {
        Decision { which, ..self }
    }

    /// Which of several limits it is that the decision tells about: 0 is the first.
    #[must_use]
    pub fn which(&self) -> usize {
        self.which
    }

    /// Whether the request was let in.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.answer.is_ok()
    }

    /// The answer alone.
    ///
    /// # Errors
    /// [`Rejected`], if the request was not let in.
    pub fn answer(&self) -> Result<(), Rejected> {
        self.answer
    }

    /// The most that ever gets in at once.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.standing.limit
    }

    /// The most that would get in after this request.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.standing.remaining
    }

    /// After so long without a request, all of the limit would get in.
    #[must_use]
    pub fn reset(&self) -> Duration {
        self.standing.reset
    }

    /// After so long, the same request gets in, if no other is let in before. None if it was let in,
    /// or if it is for more than ever gets in at once.
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

    /// The value of the header field `RateLimit`, for a policy of that name. A name is printable
    /// ASCII; other characters are left out.
    #[must_use]
    pub fn rate_limit(&self, name: &str) -> String {
        let Standing { remaining, reset, .. } = self.standing;
        format!("{};r={};t={}", quoted(name), integer(remaining), seconds(reset))
    }

    /// The value of the header field `RateLimit-Policy`, for a policy of that name.
    ///
    /// ```
    /// use nanopace_limits::Limiter;
    ///
    /// let limiter = Limiter::new("100/h".parse()?);
    /// assert_eq!(limiter.decide().rate_limit_policy("hourly"), r#""hourly";q=100"#);
    /// # Ok::<(), nanopace_limits::LimitsError>(())
    /// ```
    #[must_use]
    pub fn rate_limit_policy(&self, name: &str) -> String {
        policy(name, self.standing.limit, None)
    }
}

/// A policy: the most that gets in, in a window of this many seconds.
pub(crate) fn policy(name: &str, most: u64, window: Option<u128>) -> String {
    let window = window.and_then(|seconds| u64::try_from(seconds).ok());
    let window = window.map_or_else(String::new, |seconds| format!(";w={}", integer(seconds)));
    format!("{};q={}{window}", quoted(name), integer(most))
}

/// Whole seconds, rounded up.
fn seconds(span: Duration) -> u64 {
    integer(span.as_secs() + u64::from(span.subsec_nanos() > 0))
}

/// The largest integer of a structured field has 15 digits (RFC 9651, section 3.3.1).
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
