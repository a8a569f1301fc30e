//! The program with servers that are installed: fleets with Redis and Valkey, and requests to nginx.

#![cfg(unix)]

#[path = "../shared/command.rs"]
mod command;
mod fleet;
mod nginx;
