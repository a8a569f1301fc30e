//! The compiled module of the Python package: the engine's types for Python.
//!
//! The classes are `frozen` and shared by reference, so the module declares that it needs no global interpreter lock. A
//! call first tries to succeed with the lock held, and releases the lock only to wait or to compute a plan. `PyO3`
//! turns a panic into an exception; no panic of the engine is expected.

mod errors;
mod grant;
mod lane;
mod ledger;
mod pacer;
mod read;
mod settings;
mod shape;
#[cfg(target_os = "linux")]
mod timer;
mod waiting;

/// The compiled part of `nanopace`. Import `nanopace` instead.
#[pyo3::pymodule(gil_used = false)]
mod _nanopace {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::errors::{Closed, Ended, Finished};
    #[pymodule_export]
    use crate::grant::Grant;
    #[pymodule_export]
    use crate::lane::Lane;
    #[pymodule_export]
    use crate::ledger::Ledger;
    #[pymodule_export]
    use crate::pacer::Pacer;
    #[pymodule_export]
    use crate::shape::Shape;
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::timer::Timer;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // `PyO3` panics if a signal handler raises an error while a call imports `datetime`, so import it here.
        module.py().import("datetime")?;
        module.setattr("__version__", env!("CARGO_PKG_VERSION"))
    }
}
