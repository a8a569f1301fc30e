//! Defines the store that nodes share, which is Redis or Valkey.

#[cfg(feature = "redis")]
mod place;
#[cfg(test)]
mod played;
#[cfg(feature = "redis")]
mod reading;
#[cfg_attr(not(feature = "redis"), path = "store/no_redis.rs")]
mod redis;
#[cfg(test)]
mod script_equality;
#[cfg(test)]
mod script_tests;
#[cfg(feature = "redis")]
mod scripts;
#[cfg(feature = "redis")]
mod writing;

#[cfg(test)]
pub(crate) use self::played::{At, Played};
pub(crate) use self::redis::RedisStore;

use crate::error::FleetError;
use crate::message::{Reply, Request};

pub(crate) trait Store {
    fn call(&mut self, request: &Request) -> Result<Reply, FleetError>;
}

/// The number of consecutive frames whose owners are stored under one key.
pub(crate) const CHUNK: u64 = 64;
