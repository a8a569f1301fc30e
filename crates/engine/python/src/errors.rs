//! Defines the exceptions, and converts the engine's errors to them.

use pyo3::exceptions::{PyException, PyTimeoutError, PyValueError};
use pyo3::{PyErr, create_exception};

create_exception!(nanopace, Ended, PyException, "No more operations start.");
create_exception!(nanopace, Closed, Ended, "The pacer has been closed.");
create_exception!(nanopace, Finished, Ended, "The schedule has no slot left.");

#[expect(clippy::needless_pass_by_value, reason = "`map_err` passes errors by value")]
pub(crate) fn wrong(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

pub(crate) fn ended(ended: nanopace::Ended) -> PyErr {
    refused(ended.into())
}

pub(crate) fn refused(refused: nanopace::Refused) -> PyErr {
    use nanopace::Refused;
    match refused {
        Refused::Closed => Closed::new_err("the pacer is closed"),
        Refused::Finished => Finished::new_err("the schedule has no slot left"),
        Refused::Paused | Refused::NotUntil(_) => PyTimeoutError::new_err(refused.to_string()),
        _ => wrong(refused),
    }
}
