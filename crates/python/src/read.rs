//! What callers write, read: each refusal says what to write instead.

use crate::errors::wrong;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDelta, PyString};
use std::str::FromStr;
use std::time::Duration;

/// A text that says a value of the engine's.
pub(crate) fn text<T: FromStr<Err: ToString>>(
    value: &Bound<'_, PyAny>,
    what: &str,
    example: &str,
) -> PyResult<T> {
    let Ok(text) = value.cast::<PyString>() else {
        let given = value.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "{what} is a text such as {example:?}, and not of type {given}"
        )));
    };
    let text = text.to_cow().map_err(|_| {
        wrong(format!("{what} has characters that are not Unicode: write {example:?}"))
    })?;
    text.parse().map_err(wrong)
}

/// A whole number in `min..=max`.
pub(crate) fn whole(value: &Bound<'_, PyAny>, what: &str, min: u64, max: u64) -> PyResult<u64> {
    let say = || format!("{what} is a whole number from {min} to {max}");
    if value.is_instance_of::<PyBool>() {
        return Err(PyTypeError::new_err(say()));
    }
    let number = value.extract::<u64>().map_err(|error| {
        let is_too_large = !error.is_instance_of::<PyTypeError>(value.py());
        if is_too_large { wrong(say()) } else { PyTypeError::new_err(say()) }
    })?;
    if (min..=max).contains(&number) { Ok(number) } else { Err(wrong(say())) }
}

/// A time of zero or more: in seconds, or a `timedelta`.
pub(crate) fn time(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Duration> {
    let say = || format!("{what} is a time of 0 seconds or more, such as 0.5 or a timedelta");
    if value.is_instance_of::<PyDelta>() {
        return value.extract().map_err(|_| wrong(say()));
    }
    if value.is_instance_of::<PyBool>() {
        return Err(PyTypeError::new_err(say()));
    }
    let seconds = value.extract::<f64>().map_err(|error| {
        let is_huge = !error.is_instance_of::<PyTypeError>(value.py());
        if is_huge { wrong(say()) } else { PyTypeError::new_err(say()) }
    })?;
    if seconds.is_nan() || seconds < 0.0 {
        return Err(PyValueError::new_err(say()));
    }
    Ok(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}
