//! Replaces the store in builds without Redis. Such builds cannot reach any store.

use super::Store;
use crate::error::FleetError;
use crate::message::{Reply, Request};
use std::time::Duration;

#[derive(Debug)]
pub(crate) enum RedisStore {}

impl RedisStore {
    pub(crate) fn new(_: &str, _: &str) -> Result<RedisStore, FleetError> {
        Err(FleetError::NotBuilt)
    }

    pub(crate) fn set_timeout(&mut self, _: Duration) {
        match *self {}
    }

    pub(crate) fn keep_for(&mut self, _: Option<Duration>) {
        match *self {}
    }

    pub(crate) fn check_policy(&mut self) -> Result<(), FleetError> {
        match *self {}
    }
}

impl Store for RedisStore {
    fn call(&mut self, _: &Request) -> Result<Reply, FleetError> {
        match *self {}
    }
}
