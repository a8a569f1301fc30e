//! Builds the requested load, which `nanopace plan` prints and `nanopace run` performs.
//!
//! A load consists of a shape (the rate over time), an arrival process (the times between requests) and a shard (the
//! part of the requests that this process starts).

pub(crate) mod args;
pub(crate) mod arrivals;
pub(crate) mod halves;
pub(crate) mod recording;
pub(crate) mod table;
