//! `nanopace-governor` under the name that tools ask for.

// The dependency: its library is called governor too.
pub use ::governor::*;
