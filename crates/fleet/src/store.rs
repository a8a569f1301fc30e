//! The store, behind which there is Redis or Valkey.

mod reading;
mod redis;
mod writing;

pub(crate) use self::redis::RedisStore;

use crate::error::FleetError;
use crate::message::{Reply, Request};

/// Decides requests, one at a time.
pub(crate) trait Store: Send {
    fn call(&mut self, request: &Request) -> Result<Reply, FleetError>;
}

/// Owners are kept in keys of so many frames each.
pub(crate) const CHUNK: u64 = 64;
