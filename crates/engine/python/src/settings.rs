//! Reads a pacer's load and its keyword arguments.

use crate::errors::wrong;
use crate::read::{beginning, float, text, time, whole};
use nanopace::{Arrivals, MonotonicClock, PacerBuilder, Rate, Strictness};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

pub(crate) fn load(value: &Bound<'_, PyAny>) -> PyResult<PacerBuilder> {
    let builder: PacerBuilder = load_text(value)?.parse().map_err(wrong)?;
    Ok(builder.clock(MonotonicClock))
}

/// Returns the load as a string. A number counts as a rate per second.
pub(crate) fn load_text(value: &Bound<'_, PyAny>) -> PyResult<String> {
    match float(value)? {
        Some(hz) => Ok(Rate::from_hz(hz).map_err(wrong)?.to_string()),
        None => text(value, "a load that is not a number per second", "5k/s"),
    }
}

pub(crate) fn apply(
    mut builder: PacerBuilder,
    settings: Option<&Bound<'_, PyDict>>,
) -> PyResult<PacerBuilder> {
    for (name, value) in settings.into_iter().flatten().filter(|(_, value)| !value.is_none()) {
        builder = set(builder, name.extract()?, &value)?;
    }
    let get = |name| settings.map_or(Ok(None), |settings| settings.get_item(name));
    Ok(builder.arrivals(arrivals(get("arrivals")?.as_ref(), get("seed")?.as_ref())?))
}

fn set(builder: PacerBuilder, name: &str, value: &Bound<'_, PyAny>) -> PyResult<PacerBuilder> {
    Ok(match name {
        "arrivals" | "seed" => builder,
        "shard" => builder.shard(text(value, name, "2/8")?),
        "strictness" => builder.strictness(strictness(value)?),
        "max_backlog" => builder.max_backlog(time(value, name)?),
        "skip_later_than" => builder.skip_later_than(time(value, name)?),
        "tolerance" => builder.tolerance(time(value, name)?),
        "sleep_threshold" => builder.sleep_threshold(time(value, name)?),
        "pause" => builder.pause(text(value, name, "hybrid")?),
        "slots" => builder.slots(whole(value, name, 0, u64::MAX)?),
        "duration" => builder.until(time(value, name)?),
        "start" => start(builder, &text::<String>(value, name, "on_first_use")?)?,
        _ => return Err(unknown(name)),
    })
}

pub(crate) fn arrivals(
    arrivals: Option<&Bound<'_, PyAny>>,
    seed: Option<&Bound<'_, PyAny>>,
) -> PyResult<Arrivals> {
    let given = |value: &&Bound<'_, PyAny>| !value.is_none();
    let arrivals: Arrivals = match arrivals.filter(given) {
        Some(value) => text(value, "arrivals", "poisson")?,
        None => Arrivals::even(),
    };
    let Some(seed) = seed.filter(given) else { return Ok(arrivals) };
    Ok(arrivals.with_seed(whole(seed, "seed", 0, u64::MAX)?))
}

pub(crate) fn strictness(value: &Bound<'_, PyAny>) -> PyResult<Strictness> {
    let number = float(value)?.ok_or_else(|| {
        PyTypeError::new_err("strictness must be a number such as 0, 0.5, 1 or 1.1")
    })?;
    Strictness::new(number).map_err(wrong)
}

fn start(builder: PacerBuilder, when: &str) -> PyResult<PacerBuilder> {
    match when {
        "now" => Ok(builder),
        "on_first_use" => Ok(builder.start_on_first_use()),
        "on_resume" => Ok(builder.start_paused()),
        _ => Err(PyValueError::new_err("start must be \"now\", \"on_first_use\" or \"on_resume\"")),
    }
}

fn unknown(name: &str) -> PyErr {
    PyTypeError::new_err(format!(
        "there is no setting {:?}: write arrivals, seed, shard, strictness, max_backlog, \
         skip_later_than, tolerance, sleep_threshold, pause, slots, duration or start",
        beginning(name)
    ))
}
