//! Waits for slots without the interpreter's lock, and checks for signals.
//!
//! A slot that has started cannot be given back. The slot is therefore started after the last check for signals, so an
//! exception at that check loses no slot. The interpreter checks for signals again after the call; an exception at that
//! check loses the slot.

use crate::errors::{Ended, refused};
use crate::grant::Grant;
use crate::read::time;
use nanopace::{Claim, Clock, MonotonicClock, Nanos, Refused};
use pyo3::exceptions::PyTimeoutError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::time::Duration;

/// The maximum length of a pause in the main thread, and so about the maximum delay of a signal's handler.
const SLICE: Duration = Duration::from_millis(40);

/// The maximum length of a pause in the other threads, which handle no signals.
const FAR: Duration = Duration::from_secs(86_400);

pub(crate) fn deadline(timeout: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Nanos>> {
    let timeout = timeout.filter(|timeout| !timeout.is_none());
    let timeout = timeout.map(|timeout| time(timeout, "timeout")).transpose()?;
    Ok(timeout.map(|timeout| MonotonicClock.now() + timeout))
}

pub(crate) fn wait(
    py: Python<'_>,
    deadline: Option<Nanos>,
    mut claim: Claim<'_>,
) -> PyResult<Grant> {
    let longest = if is_main_thread(py)? { SLICE } else { FAR };
    loop {
        let left = deadline.map_or(longest, |deadline| deadline - MonotonicClock.now());
        match claim.start() {
            Ok(grant) => return Ok(Grant(grant)),
            Err(refusal) => goes_on(refusal, deadline)?,
        }
        py.detach(|| claim.pause_for(longest.min(left)));
        py.check_signals()?;
    }
}

pub(crate) fn goes_on(refusal: Refused, deadline: Option<Nanos>) -> PyResult<()> {
    match refusal {
        Refused::NotUntil(due) if deadline.is_some_and(|end| end < due) => {
            Err(PyTimeoutError::new_err("the next slot is due after the timeout"))
        }
        Refused::Paused if deadline.is_some_and(|end| end <= MonotonicClock.now()) => {
            Err(PyTimeoutError::new_err("the pacer is paused"))
        }
        Refused::NotUntil(_) | Refused::Paused => Ok(()),
        ended => Err(refused(ended)),
    }
}

pub(crate) fn if_due(tried: Result<nanopace::Grant, Refused>) -> PyResult<Option<Grant>> {
    match tried {
        Ok(grant) => Ok(Some(Grant(grant))),
        Err(Refused::NotUntil(_) | Refused::Paused) => Ok(None),
        Err(ended) => Err(refused(ended)),
    }
}

pub(crate) fn until_ended(py: Python<'_>, grant: PyResult<Grant>) -> PyResult<Option<Grant>> {
    match grant {
        Err(error) if error.is_instance_of::<Ended>(py) => Ok(None),
        grant => grant.map(Some),
    }
}

fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    static MAIN: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    static CURRENT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let main = MAIN.import(py, "threading", "main_thread")?.call0()?.getattr("ident")?;
    main.eq(CURRENT.import(py, "threading", "get_ident")?.call0()?)
}
