//! What a node's thread hears.

use crate::error::FleetError;
use crate::message::{Reply, Request};
use std::sync::mpsc::Sender;

/// What a node's thread hears.
#[derive(Debug)]
pub(crate) enum Word {
    Command(Command),
    Exchange(Box<Exchange>),
}

/// What it is told to do.
#[derive(Debug)]
pub(crate) enum Command {
    Leave(Sender<Result<(), FleetError>>),
    NotStarted(u64, Sender<Result<(), FleetError>>),
    Finish(Vec<u8>, Sender<Result<bool, FleetError>>),
    /// Nobody has the node any more.
    Drop,
}

/// A request and its answer, and when they went and came by the machine's clock.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) request: Request,
    pub(crate) reply: Result<Reply, FleetError>,
    pub(crate) sent_ns: u64,
    pub(crate) received_ns: u64,
}
