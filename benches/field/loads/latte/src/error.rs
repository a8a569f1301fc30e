//! Defines the error types of the run loop. The loop returns them unboxed.

#[path = "../../latte-cli/src/error.rs"]
mod boxed;

pub use boxed::LatteError;

pub type Result<T> = std::result::Result<T, LatteError>;
