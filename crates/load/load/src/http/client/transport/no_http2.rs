//! Replaces HTTP/2 in builds without the feature `http2`, which cannot open HTTP/2 connections.

#[path = "http2/request.rs"]
pub(crate) mod request;

use super::stream::Io;
use crate::http::client::failure::Failure;
use crate::http::client::request::body::Flow;
use crate::http::client::response::observer::ResponseObserver;
use crate::running::workers::deadline::Deadline;
use hyper::{Request, StatusCode};

#[derive(Clone, Debug)]
pub(crate) enum Connection {}

#[expect(clippy::unused_async, reason = "http2.rs has these signatures")]
impl Connection {
    pub(crate) async fn open(_: Box<dyn Io>) -> Result<Connection, Failure> {
        Err(Failure::Unreadable)
    }

    pub(crate) fn is_over(&self) -> bool {
        match *self {}
    }

    pub(crate) async fn is_ready(&mut self, _: &mut Deadline) -> bool {
        match *self {}
    }

    pub(crate) async fn exchange(
        &mut self,
        _: Request<Flow>,
        _: &mut Deadline,
        _: Option<&mut ResponseObserver>,
    ) -> Result<StatusCode, Failure> {
        match *self {}
    }

    pub(crate) fn has_carried(&self) -> bool {
        match *self {}
    }

    pub(crate) fn reads(&self) -> u64 {
        match *self {}
    }

    pub(crate) fn take_traffic(&self) -> (u64, u64) {
        match *self {}
    }
}
