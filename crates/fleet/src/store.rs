//! The store, behind which there is Redis or Valkey.

#[cfg(test)]
mod agreement;
#[cfg(any(test, feature = "simulation"))]
mod model;
mod reading;
mod redis;
mod writing;

#[cfg(any(test, feature = "simulation"))]
pub(crate) use self::model::Model;
pub(crate) use self::redis::RedisStore;

use crate::error::FleetError;
use crate::message::{Reply, Request};

/// Decides requests, one at a time.
pub(crate) trait Store: Send {
    fn call(&mut self, request: &Request) -> Result<Reply, FleetError>;
}

/// Owners are kept in keys of so many frames each.
pub(crate) const CHUNK: u64 = 64;
