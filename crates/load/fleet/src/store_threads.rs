//! The threads of a node that wait for the store, each on a connection of its own: one asks for slots, and one
//! sends results so far. The node's own thread gets replies and commands as messages.

use crate::clock::RunClock;
use crate::error::FleetError;
use crate::message::{Reply, Request};
use crate::store::{RedisStore, Store};
use crate::track_ownership::NodeId;
use std::io;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

/// A message to the thread of a node.
#[derive(Debug)]
pub(crate) enum ThreadMessage {
    Command(Command),
    Exchange(Box<Exchange>),
}

/// A command of the node's user.
#[derive(Debug)]
pub(crate) enum Command {
    Leave(Sender<Result<(), FleetError>>),
    NotStarted(u64, Sender<Result<(), FleetError>>),
    Finish(Vec<u8>, Sender<Result<bool, FleetError>>),
    /// The node was dropped.
    Drop,
}

/// A request and its answer, with the times of both by the machine's clock.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) request: Request,
    pub(crate) reply: Result<Reply, FleetError>,
    pub(crate) sent_ns: u64,
    pub(crate) received_ns: u64,
}

/// Sends one request at a time to the store. The thread ends when this is dropped.
#[derive(Debug)]
pub(crate) struct StoreThread(Sender<Order>);

#[derive(Debug)]
struct Order {
    request: Request,
    patience: Duration,
    load: Option<Duration>,
}

impl StoreThread {
    /// Replies go to `messages`.
    pub(crate) fn start(
        mut store: RedisStore,
        clock: RunClock,
        messages: Sender<ThreadMessage>,
    ) -> io::Result<StoreThread> {
        let (sender, orders) = channel::<Order>();
        thread::Builder::new().name("nanopace fleet link".into()).spawn(move || {
            for Order { request, patience, load } in orders {
                store.set_timeout(patience);
                store.keep_for(load);
                let sent_ns = clock.base_ns();
                let reply = store.call(&request);
                let received_ns = clock.base_ns();
                let exchange = Exchange { request, reply, sent_ns, received_ns };
                if messages.send(ThreadMessage::Exchange(exchange.into())).is_err() {
                    return;
                }
            }
        })?;
        Ok(StoreThread(sender))
    }

    /// Sends a request whose answer is waited for as `patience` says. `load` is how long the load lasts, if it ends.
    pub(crate) fn send(&self, request: Request, patience: Duration, load: Option<Duration>) {
        // The thread is there as long as this is.
        let _ = self.0.send(Order { request, patience, load });
    }
}

/// Sends results so far to the store. The thread ends when this is dropped.
#[derive(Debug)]
pub(crate) struct ResultsThread(Sender<Vec<u8>>);

impl ResultsThread {
    /// Sends the results of this node of the run with this number.
    pub(crate) fn start(
        mut store: RedisStore,
        id: String,
        node: NodeId,
    ) -> io::Result<ResultsThread> {
        let (sender, told) = channel::<Vec<u8>>();
        thread::Builder::new().name("nanopace fleet tell".into()).spawn(move || {
            while let Ok(first) = told.recv() {
                let results = told.try_iter().last().unwrap_or(first);
                // The next results contain those that do not come through.
                let _ = store.call(&Request::Tell { id: id.clone(), node, results });
            }
        })?;
        Ok(ResultsThread(sender))
    }

    /// Sends these results next, in place of those that have not been sent.
    pub(crate) fn tell(&self, results: Vec<u8>) {
        // The thread is there as long as this is.
        let _ = self.0.send(results);
    }
}
