//! What can go wrong in the loop, which returns it without a box.

#[path = "../../latte-cli/src/error.rs"]
mod boxed;

pub use boxed::LatteError;

pub type Result<T> = std::result::Result<T, LatteError>;
