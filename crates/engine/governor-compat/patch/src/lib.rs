//! Exports `nanopace-governor` under the name `governor`, on which tools depend.

pub use ::governor::*;
