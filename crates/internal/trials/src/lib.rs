//! What the project tries itself with: processes, servers and threads that are treated badly, and
//! whether the promises hold.

pub mod demo;
pub mod fleet;
pub mod stress;
