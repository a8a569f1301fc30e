//! `nanopace-governor` under the name that tools depend on.

// The dependency: its library is called governor too.
pub use ::governor::*;
