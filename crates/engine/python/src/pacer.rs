//! Defines the class `Pacer`.

use crate::errors::{ended, refused, wrong};
use crate::grant::Grant;
use crate::lane::Lane;
use crate::ledger::Ledger;
use crate::read::{text, whole};
use crate::settings;
use crate::waiting::{self, if_due, until_ended};
use nanopace::Refused;
use nanopace::driver::Drive;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Paces operations: each `acquire` blocks until the intended start of the next slot, and returns a grant that
/// contains how late the start is. Any number of threads can share a pacer.
///
/// The load is a rate such as "5k/s", a number (operations per second), or a shape such as "ramp 100/s..5k/s 30s, hold
/// 60s". A time is a number of seconds or a `timedelta`. By default the schedule starts now. With
/// `start="on_first_use"` it starts when a caller first tries to claim a slot, and with `start="on_resume"` when
/// `resume` is called.
#[pyclass(frozen, subclass, module = "nanopace")]
#[derive(Debug)]
pub(crate) struct Pacer(pub(crate) nanopace::Pacer);

#[pymethods]
impl Pacer {
    #[new]
    #[pyo3(
        signature = (load, /, **settings),
        text_signature = "(load, /, *, arrivals='even', seed=0, shard='1/1', strictness=0, \
                          max_backlog=None, skip_later_than=None, tolerance=0.0001, \
                          sleep_threshold=0, pause='sleep', slots=None, duration=None, start='now')"
    )]
    fn new(load: &Bound<'_, PyAny>, settings: Option<&Bound<'_, PyDict>>) -> PyResult<Pacer> {
        Ok(Pacer(settings::apply(settings::load(load)?, settings)?.build()))
    }

    /// Claims the next slot, blocks until its intended start, and returns its grant, which contains how late the start
    /// is.
    ///
    /// Raises Closed or Finished when no more operations start, and `TimeoutError` once the slot certainly cannot
    /// start within `timeout`. A call that raises one of these has claimed no slot.
    #[pyo3(signature = (timeout = None))]
    fn acquire(&self, py: Python<'_>, timeout: Option<&Bound<'_, PyAny>>) -> PyResult<Grant> {
        let deadline = waiting::deadline(timeout)?;
        match self.0.try_acquire() {
            Ok(grant) => Ok(Grant(grant)),
            Err(Refused::NotUntil(_) | Refused::Paused) => self.wait(py, 1, deadline),
            Err(ended) => Err(refused(ended)),
        }
    }

    /// Claims the next `n` slots as one operation, for operations whose size is counted in bytes, rows or requests. `n`
    /// must be 1 or more, because an operation without slots has no intended start. Raises Finished if fewer than `n`
    /// slots are left. In other respects, this method works like `acquire`.
    #[pyo3(signature = (n, timeout = None))]
    fn acquire_many(
        &self,
        py: Python<'_>,
        n: &Bound<'_, PyAny>,
        timeout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Grant> {
        self.wait(py, slots(n)?, waiting::deadline(timeout)?)
    }

    /// Starts the next slot if it is due now. Otherwise claims no slot, and returns None. Raises Closed or Finished
    /// when no more operations start.
    fn try_acquire(&self) -> PyResult<Option<Grant>> {
        if_due(self.0.try_acquire())
    }

    /// Starts the next `n` slots as one operation if the first of them is due now. Otherwise claims no slot, and
    /// returns None. Raises the errors of `try_acquire`.
    fn try_acquire_many(&self, n: &Bound<'_, PyAny>) -> PyResult<Option<Grant>> {
        if_due(self.0.try_acquire_many(slots(n)?))
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    /// Returns the next grant. Iteration ends when no more operations start.
    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Grant>> {
        until_ended(py, self.acquire(py, None))
    }

    /// Returns a handle for one worker's thread, which claims several slots at once when they are late.
    fn lane(&self) -> Lane {
        Lane::of(&self.0)
    }

    /// Returns the due time of the next free slot, by `time.monotonic_ns()`. Returns None if no due time is known, for
    /// example while the pacer is paused. Raises Closed or Finished when no more operations start.
    fn next_due_ns(&self) -> PyResult<Option<u64>> {
        let due = self.0.next_due().map_err(ended)?;
        Ok(Some(due.as_nanos()).filter(|_| due != nanopace::Nanos::MAX))
    }

    /// Changes the load to a rate or a shape. The change also applies to waiting callers.
    fn set_load(&self, load: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.set_load(&settings::load_text(load)?).map_err(wrong)
    }

    /// The strictness, which sets how late starts change the schedule, from 0 to 1000.
    #[getter]
    fn strictness(&self) -> f64 {
        self.0.strictness().get()
    }

    /// Changes the strictness.
    fn set_strictness(&self, strictness: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.set_strictness(settings::strictness(strictness)?);
        Ok(())
    }

    /// Changes this process's share of the load to `shard`, such as "2/8", beginning with the slot with the number
    /// `from_slot` in the whole load.
    fn set_shard(&self, shard: &Bound<'_, PyAny>, from_slot: &Bound<'_, PyAny>) -> PyResult<()> {
        let from = whole(from_slot, "from_slot", 0, u64::MAX)?;
        self.0.set_shard(text(shard, "shard", "2/8")?, from).map_err(wrong)
    }

    /// The current rate, in operations per second. The rate is 0 while a shape's rate is zero or at most one per day,
    /// and after the end of a shape. A pause does not change the rate.
    #[getter]
    fn rate(&self) -> f64 {
        self.0.rate_hz()
    }

    /// Stops all starts until `resume`. The time of a pause does not become backlog.
    fn pause(&self) {
        self.0.pause();
    }

    /// Continues the schedule after a pause, or starts a schedule that has not started yet.
    fn resume(&self) {
        self.0.resume();
    }

    /// Whether the pacer is paused.
    #[getter]
    fn is_paused(&self) -> bool {
        self.0.is_paused()
    }

    /// Ends the schedule permanently. Waiting callers wake up and get Closed.
    fn close(&self) {
        self.0.close();
    }

    /// Whether the pacer has been closed.
    #[getter]
    fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, _error: &Bound<'_, PyAny>) {
        self.close();
    }

    /// Returns the account of time and slots at the time of the call.
    fn ledger(&self) -> Ledger {
        Ledger::of(&self.0)
    }

    fn __repr__(&self) -> String {
        let shape = self.0.shape().map(|shape| shape.to_string());
        format!("Pacer({:?})", shape.unwrap_or_else(|| self.0.rate().to_string()))
    }
}

impl Pacer {
    fn wait(&self, py: Python<'_>, n: u32, deadline: Option<nanopace::Nanos>) -> PyResult<Grant> {
        waiting::wait(py, deadline, self.0.claim_many(n).map_err(refused)?)
    }
}

fn slots(n: &Bound<'_, PyAny>) -> PyResult<u32> {
    Ok(u32::try_from(whole(n, "n", 1, u32::MAX.into())?).unwrap_or(u32::MAX))
}
