//! Reads arguments. Each error says what to write instead. An exception that a value raises is passed on.

use crate::errors::wrong;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDelta, PyFloat, PyInt, PyString};
use std::str::FromStr;
use std::time::Duration;

pub(crate) fn text<T: FromStr<Err: ToString>>(
    value: &Bound<'_, PyAny>,
    what: &str,
    example: &str,
) -> PyResult<T> {
    let Ok(text) = value.cast::<PyString>() else {
        let given = beginning(value.get_type().name()?.to_str()?);
        return Err(PyTypeError::new_err(format!(
            "{what} must be a string such as {example:?}, not of type {given}"
        )));
    };
    let text = text.to_cow().map_err(|_| {
        wrong(format!("{what} has characters that are not Unicode: write {example:?}"))
    })?;
    text.parse().map_err(wrong)
}

pub(crate) fn whole(value: &Bound<'_, PyAny>, what: &str, min: u64, max: u64) -> PyResult<u64> {
    number_as(value, min, max, || format!("{what} must be a whole number from {min} to {max}"))
}

pub(crate) fn moment(value: &Bound<'_, PyAny>, what: &str) -> PyResult<u64> {
    number_as(value, 0, u64::MAX, || {
        format!("{what} must be a moment, a whole number of nanoseconds: write time.monotonic_ns()")
    })
}

fn number_as(
    value: &Bound<'_, PyAny>,
    min: u64,
    max: u64,
    say: impl Fn() -> String,
) -> PyResult<u64> {
    let number = integer(value)?.ok_or_else(|| PyTypeError::new_err(say()))?;
    let number = number.extract().ok().filter(|number| (min..=max).contains(number));
    number.ok_or_else(|| wrong(say()))
}

pub(crate) fn time(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Duration> {
    let say = || format!("{what} must be a time of 0 seconds or more, such as 0.5 or a timedelta");
    if value.is_instance_of::<PyDelta>() {
        return value.extract().map_err(|_| wrong(say()));
    }
    let seconds = float(value)?.ok_or_else(|| PyTypeError::new_err(say()))?;
    if seconds.is_nan() || seconds < 0.0 {
        return Err(wrong(say()));
    }
    Ok(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

/// Returns the value as a float, or `None` if it is not a number. An integer that is too large for a float becomes NaN.
pub(crate) fn float(value: &Bound<'_, PyAny>) -> PyResult<Option<f64>> {
    if let Ok(float) = value.cast::<PyFloat>() {
        return Ok(Some(float.value()));
    }
    if let Some(integer) = integer(value)? {
        return Ok(Some(integer.extract().unwrap_or(f64::NAN)));
    }
    let number = if is_bool(value) { None } else { converted(value, "__float__")? };
    Ok(number.and_then(|number| number.extract().ok()))
}

fn integer<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyInt>>> {
    if is_bool(value) {
        return Ok(None);
    }
    if let Ok(integer) = value.cast::<PyInt>() {
        return Ok(Some(integer.clone()));
    }
    let number = converted(value, "__index__")?;
    Ok(number.and_then(|number| number.cast_into().ok()))
}

/// Python converts a bool to a whole number, but a bool as an argument is a mistake.
fn is_bool(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyBool>()
}

/// Looks the method up in the value's class, as Python does.
fn converted<'py>(value: &Bound<'py, PyAny>, method: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let class = value.get_type();
    class.hasattr(method)?.then(|| class.call_method1(method, (value,))).transpose()
}

pub(crate) fn beginning(name: &str) -> String {
    name.chars().take(60).collect()
}
