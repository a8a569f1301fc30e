//! Tests the interface and the decisions of governor, in one test program.

mod direct;
mod quota;
mod waiting;
