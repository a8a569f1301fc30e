//! Records the metrics of a named limiter.

#[cfg(feature = "metrics")]
use std::sync::Arc;
use std::time::Duration;

/// Counts the decisions of a named limiter, and records how long admitted requests waited, through the
/// [`metrics`](https://docs.rs/metrics) facade. A meter without a name counts nothing. Without the feature `metrics`, a
/// meter takes no memory and no time.
#[derive(Clone, Debug, Default)]
pub struct Meter(Option<Handles>);

#[cfg(feature = "metrics")]
#[derive(Clone, Debug)]
struct Handles(Arc<Named>);

#[cfg(feature = "metrics")]
#[derive(Debug)]
struct Named {
    admitted: metrics::Counter,
    rejected: metrics::Counter,
    waited: metrics::Histogram,
}

#[cfg(not(feature = "metrics"))]
#[derive(Clone, Debug)]
enum Handles {}

#[cfg(not(feature = "metrics"))]
const _: () = assert!(size_of::<Meter>() == 0);

#[cfg(feature = "metrics")]
const ADMITTED: &str = "nanopace_limits_admitted_total";
#[cfg(feature = "metrics")]
const REJECTED: &str = "nanopace_limits_rejected_total";
#[cfg(feature = "metrics")]
const WAITED: &str = "nanopace_limits_waited_seconds";

impl Meter {
    /// Creates a meter that counts under `name` with the current recorder. Install the recorder first.
    #[cfg(feature = "metrics")]
    #[must_use]
    pub fn named(name: &str) -> Meter {
        metrics::describe_counter!(ADMITTED, "requests that a limiter has admitted");
        metrics::describe_counter!(REJECTED, "requests that a limiter has rejected");
        metrics::describe_histogram!(
            WAITED,
            metrics::Unit::Seconds,
            "how long admitted requests have waited, including jitter"
        );
        let limiter = || name.to_owned();
        Meter(Some(Handles(Arc::new(Named {
            admitted: metrics::counter!(ADMITTED, "limiter" => limiter()),
            rejected: metrics::counter!(REJECTED, "limiter" => limiter()),
            waited: metrics::histogram!(WAITED, "limiter" => limiter()),
        }))))
    }

    /// Counts one request: as admitted if `let_in` is true, otherwise as rejected.
    #[inline]
    pub fn answered(&self, let_in: bool) {
        if let Some(handles) = &self.0 {
            handles.answered(let_in);
        }
    }

    /// Counts a request at the end of its wait. `end` is the waiting time of an admitted request, or the error of a
    /// rejected one.
    #[inline]
    pub fn waited<E>(&self, end: &Result<Duration, E>) {
        self.answered(end.is_ok());
        if let (Some(handles), Ok(waited)) = (&self.0, end) {
            handles.waited(*waited);
        }
    }
}

#[cfg(feature = "metrics")]
impl Handles {
    fn answered(&self, let_in: bool) {
        let Named { admitted, rejected, .. } = &*self.0;
        if let_in { admitted } else { rejected }.increment(1);
    }

    fn waited(&self, waited: Duration) {
        self.0.waited.record(waited);
    }
}

#[cfg(not(feature = "metrics"))]
impl Handles {
    fn answered(&self, _: bool) {
        match *self {}
    }

    fn waited(&self, _: Duration) {
        match *self {}
    }
}
