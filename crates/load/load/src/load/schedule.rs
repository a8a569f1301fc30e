//! Builds the requested load, which `nanopace plan` prints and `nanopace run` performs.

pub(crate) mod args;
pub(crate) mod arrivals;
pub(crate) mod halves;
pub(crate) mod recording;
pub(crate) mod table;
