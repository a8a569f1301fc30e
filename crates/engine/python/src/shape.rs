//! Computes the intended starts of a load, without running it.

use crate::errors::wrong;
use crate::ledger::nanos;
use crate::read::{text, time, whole};
use crate::settings;
use nanopace::Shard;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::time::Duration;

/// The maximum number of intended starts in a list. The list takes 1 GiB of memory, and twice that while it is made.
const MOST: usize = 1 << 27;

const AT_A_TIME: usize = 1 << 18;

/// A function of time that gives the rate of a load. It is built from a rate or a shape.
#[pyclass(frozen, module = "nanopace")]
#[derive(Debug)]
pub(crate) struct Shape(nanopace::Shape);

#[pymethods]
impl Shape {
    #[new]
    fn new(load: &Bound<'_, PyAny>) -> PyResult<Shape> {
        let pacer = settings::load(load)?.build();
        Ok(Shape(pacer.shape().unwrap_or_else(|| nanopace::Shape::constant(pacer.rate()))))
    }

    /// The duration in seconds, or None if the shape never ends.
    #[getter]
    fn duration(&self) -> Option<f64> {
        self.0.duration().as_ref().map(Duration::as_secs_f64)
    }

    /// The highest rate, in operations per second.
    #[getter]
    fn peak(&self) -> f64 {
        self.0.peak()
    }

    /// Returns the rate after `elapsed` seconds, in operations per second.
    fn rate_at(&self, elapsed: &Bound<'_, PyAny>) -> PyResult<f64> {
        Ok(self.0.rate_at(time(elapsed, "elapsed")?))
    }

    /// Returns the number of operations in the first `elapsed` seconds, with fractions.
    fn count_at(&self, elapsed: &Bound<'_, PyAny>) -> PyResult<f64> {
        Ok(self.0.count_at(time(elapsed, "elapsed")?))
    }

    /// Returns the intended starts in nanoseconds since the load's beginning, as consecutive 64-bit numbers.
    /// `nanopace.plan` makes an array of them.
    #[pyo3(signature = (count = None, duration = None, shard = None, arrivals = None, seed = None))]
    fn starts<'py>(
        &self,
        py: Python<'py>,
        count: Option<&Bound<'py, PyAny>>,
        duration: Option<&Bound<'py, PyAny>>,
        shard: Option<&Bound<'py, PyAny>>,
        arrivals: Option<&Bound<'py, PyAny>>,
        seed: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let count = count.map_or(Ok(u64::MAX), |count| whole(count, "count", 0, u64::MAX))?;
        let end = duration.map_or(Ok(Duration::MAX), |duration| time(duration, "duration"))?;
        let shard = match shard {
            Some(shard) => text(shard, "shard", "2/8")?,
            None => Shard::new(0, 1).map_err(wrong)?,
        };
        let arrivals = settings::arrivals(arrivals, seed)?;
        let count = few(count.min(arrivals.starts_before(end, &self.0, &shard)))?;
        listed(py, &mut arrivals.starts(self.0.clone(), shard).take(count))
    }
}

fn few(count: u64) -> PyResult<usize> {
    let count = usize::try_from(count).ok().filter(|&count| count <= MOST);
    count.ok_or_else(|| {
        wrong(format!(
            "a plan has at most {MOST} starts: give a smaller count or a shorter duration"
        ))
    })
}

fn listed<'py>(
    py: Python<'py>,
    starts: &mut (impl Iterator<Item = Duration> + Send),
) -> PyResult<Bound<'py, PyBytes>> {
    let mut bytes = Vec::new();
    loop {
        let before = bytes.len();
        py.detach(|| {
            bytes.extend(
                starts.by_ref().take(AT_A_TIME).flat_map(|start| nanos(start).to_ne_bytes()),
            );
        });
        if bytes.len() == before {
            return Ok(PyBytes::new(py, &bytes));
        }
        py.check_signals()?;
    }
}
