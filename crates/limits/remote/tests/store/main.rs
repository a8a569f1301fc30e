//! Tests decisions by real servers. All tests are in one program, so that tests that wait run at the same time.

mod common;
mod config;
mod expiry;
mod law;
mod leased;
mod loss;
mod lost;
mod memory;
mod one_key;
mod refused;
mod strict;
mod tasks;
mod timeout;
#[cfg(feature = "tls")]
mod tls;
