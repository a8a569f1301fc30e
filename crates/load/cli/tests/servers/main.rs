//! Tests of the program that need installed servers: fleets with Redis and Valkey, and requests to nginx.

#![cfg(unix)]

#[path = "../shared/command.rs"]
mod command;
mod fleet;
mod nginx;
