//! Defines the class `Lane`: one worker's handle to a pacer.

use crate::errors::{ended, refused};
use crate::grant::Grant;
use crate::waiting::{self, if_due, until_ended};
use nanopace::Refused;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::thread::{self, ThreadId};

/// One worker's handle to a pacer. It claims several slots at once when they are late. A lane belongs to the thread
/// that first uses it, and raises `RuntimeError` in any other thread.
#[pyclass(frozen, module = "nanopace")]
#[derive(Debug)]
pub(crate) struct Lane {
    pacer: nanopace::Pacer,
    slots: Mutex<nanopace::Lane>,
    owner: OnceLock<ThreadId>,
}

impl Lane {
    pub(crate) fn of(pacer: &nanopace::Pacer) -> Lane {
        let slots = Mutex::new(pacer.lane());
        Lane { pacer: pacer.clone(), slots, owner: OnceLock::new() }
    }

    fn own(&self) -> PyResult<MutexGuard<'_, nanopace::Lane>> {
        let current = thread::current().id();
        let slots =
            self.slots.try_lock().ok().filter(|_| *self.owner.get_or_init(|| current) == current);
        slots.ok_or_else(|| {
            PyRuntimeError::new_err(
                "a lane is for one thread: call pacer.lane() in each thread to make a lane for it",
            )
        })
    }
}

#[pymethods]
impl Lane {
    /// Acquires the next slot, like `Pacer.acquire`.
    #[pyo3(signature = (timeout = None))]
    fn acquire(&self, py: Python<'_>, timeout: Option<&Bound<'_, PyAny>>) -> PyResult<Grant> {
        let deadline = waiting::deadline(timeout)?;
        let tried = self.own()?.try_acquire();
        match tried {
            Ok(grant) => Ok(Grant(grant)),
            Err(Refused::NotUntil(_) | Refused::Paused) => {
                waiting::wait(py, deadline, self.pacer.claim().map_err(ended)?)
            }
            Err(refusal) => Err(refused(refusal)),
        }
    }

    /// Starts the next slot if it is due now, like `Pacer.try_acquire`.
    fn try_acquire(&self) -> PyResult<Option<Grant>> {
        if_due(self.own()?.try_acquire())
    }

    /// Gives back the slots that the lane has claimed and not started. Call this method before the worker stops
    /// acquiring for a long time.
    fn give_back(&self) -> PyResult<()> {
        self.own()?.give_back();
        Ok(())
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    /// Returns the next grant. Iteration ends when no more operations start.
    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Grant>> {
        until_ended(py, self.acquire(py, None))
    }
}
