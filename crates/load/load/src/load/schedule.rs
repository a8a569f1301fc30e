//! The load that is asked for: `nanopace plan` draws it, and `nanopace run` makes it.
//!
//! Three things make a load: a shape (the rate over time), an arrival process (how requests lie
//! around it) and a shard (which of them are this process's).

pub(crate) mod args;
pub(crate) mod arrivals;
pub(crate) mod help;
pub(crate) mod recording;
pub(crate) mod table;
