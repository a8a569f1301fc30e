//! Defines the class `Grant`, the result of `acquire`.

use crate::ledger::nanos;
use crate::read::moment;
use nanopace::{Clock, MonotonicClock, Nanos};
use pyo3::prelude::*;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

/// Permission to start one operation now. Times are those of `time.monotonic_ns()`.
// Reused objects save a tenth of a call. A class with a free list cannot have the options `eq` and `hash`, so `__eq__`
// and `__hash__` are written below.
#[pyclass(frozen, module = "nanopace", freelist = 64)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grant(pub(crate) nanopace::Grant);

impl Grant {
    fn response(&self, end_ns: Option<&Bound<'_, PyAny>>) -> PyResult<Duration> {
        let end = match end_ns.filter(|end| !end.is_none()) {
            Some(end) => Nanos::from_nanos(moment(end, "end_ns")?),
            None => MonotonicClock.now(),
        };
        Ok(self.0.response_time(end))
    }
}

#[pymethods]
impl Grant {
    /// The slot's number in the whole load. The first slot has the number 0.
    #[getter]
    fn slot(&self) -> u64 {
        self.0.slot()
    }

    /// The time at which the operation should start according to the schedule, in nanoseconds.
    #[getter]
    fn intended_start_ns(&self) -> u64 {
        self.0.intended_start().as_nanos()
    }

    /// The time at which the operation was allowed to start, in nanoseconds.
    #[getter]
    fn actual_start_ns(&self) -> u64 {
        self.0.actual_start().as_nanos()
    }

    /// The lateness of the operation in nanoseconds: actual minus intended start, never negative.
    #[getter]
    fn wait_time_ns(&self) -> u64 {
        self.0.wait_nanos()
    }

    /// The lateness of the operation in seconds.
    #[getter]
    fn wait_time(&self) -> f64 {
        self.0.wait_time().as_secs_f64()
    }

    /// Returns the response time in nanoseconds: the time from the intended start to `end_ns`, which is now by
    /// default.
    #[pyo3(signature = (end_ns = None))]
    fn response_time_ns(&self, end_ns: Option<&Bound<'_, PyAny>>) -> PyResult<u64> {
        self.response(end_ns).map(nanos)
    }

    /// Returns the response time in seconds: the time from the intended start to `end_ns`, which is now by default.
    #[pyo3(signature = (end_ns = None))]
    fn response_time(&self, end_ns: Option<&Bound<'_, PyAny>>) -> PyResult<f64> {
        self.response(end_ns).map(|time| time.as_secs_f64())
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Grant>().is_ok_and(|other| other.get() == self)
    }

    fn __hash__(&self) -> u64 {
        let mut state = DefaultHasher::new();
        (self.0.slot(), self.intended_start_ns()).hash(&mut state);
        state.finish()
    }

    fn __repr__(&self) -> String {
        format!("Grant(slot={}, wait_time={})", self.0.slot(), self.wait_time())
    }
}
