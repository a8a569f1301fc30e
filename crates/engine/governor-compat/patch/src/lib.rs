//! Exports `nanopace-governor` under the name `governor`, on which tools depend.

// The dependency: its library is called governor too.
pub use ::governor::*;
