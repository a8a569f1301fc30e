//! A decision on a request, with the limits of its key.

use http::{HeaderMap, HeaderValue};
use nanopace_limits::{Decision, Limits};
use std::sync::Arc;

/// A decision on a request, with the limits of its key.
///
/// The layer reads the limits after the decision, so they are already the new ones if they changed in between. With
/// leases or a local share of `nanopace-remote`, the decision was made by smaller limits than these.
#[derive(Clone, Debug)]
pub struct Verdict {
    decision: Decision,
    limits: Option<Arc<Limits>>,
}

impl Verdict {
    /// Combines a decision with its limits. Without limits, the response gets no fields `RateLimit` and
    /// `RateLimit-Policy`.
    #[must_use]
    pub fn new(decision: Decision, limits: Option<Arc<Limits>>) -> Verdict {
        Verdict { decision, limits }
    }

    /// Returns the decision.
    #[must_use]
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// Returns the limits, or `None` if they are not known.
    #[must_use]
    pub fn limits(&self) -> Option<&Limits> {
        self.limits.as_deref()
    }

    /// Adds the header fields to the response. `RateLimit` and `RateLimit-Policy` are lists, so the values of other
    /// layers are kept.
    pub(crate) fn write(&self, headers: &mut HeaderMap) {
        let Some(limits) = &self.limits else { return };
        let Some(limit) = limits.each().get(self.decision.which()) else { return };
        let rate_limit = HeaderValue::try_from(self.decision.rate_limit(&limit.to_string()));
        let policy = HeaderValue::try_from(limits.policy());
        if let (Ok(rate_limit), Ok(policy)) = (rate_limit, policy) {
            headers.append("ratelimit", rate_limit);
            headers.append("ratelimit-policy", policy);
        }
    }
}
