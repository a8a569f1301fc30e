//! Runs the two threads of a node that wait for the store, each on its own connection: one sends the node's requests,
//! and one sends its interim results.

use crate::clock::RunClock;
use crate::error::FleetError;
use crate::message::{Reply, Request};
use crate::store::{RedisStore, Store};
use crate::track_ownership::NodeId;
use std::io;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

#[derive(Debug)]
pub(crate) enum ThreadMessage {
    Command(Command),
    Exchange(Box<Exchange>),
}

#[derive(Debug)]
pub(crate) enum Command {
    Leave(Sender<Result<(), FleetError>>),
    NotStarted(u64, Sender<Result<(), FleetError>>),
    Finish(Vec<u8>, Sender<Result<bool, FleetError>>),
    Drop,
}

/// A request and its response. The times are those of the machine's clock.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) request: Request,
    pub(crate) reply: Result<Reply, FleetError>,
    pub(crate) sent_ns: u64,
    pub(crate) received_ns: u64,
}

/// The handle of the thread that sends the node's requests. The thread ends when the handle is dropped.
#[derive(Debug)]
pub(crate) struct StoreThread(Sender<Order>);

#[derive(Debug)]
struct Order {
    request: Request,
    patience: Duration,
    load: Option<Duration>,
}

impl StoreThread {
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

    pub(crate) fn send(&self, request: Request, patience: Duration, load: Option<Duration>) {
        // The thread exists as long as this handle, so the send cannot fail.
        let _ = self.0.send(Order { request, patience, load });
    }
}

/// The handle of the thread that sends interim results. The thread ends when the handle is dropped.
#[derive(Debug)]
pub(crate) struct ResultsThread(Sender<Vec<u8>>);

impl ResultsThread {
    pub(crate) fn start(
        mut store: RedisStore,
        id: String,
        node: NodeId,
    ) -> io::Result<ResultsThread> {
        let (sender, told) = channel::<Vec<u8>>();
        thread::Builder::new().name("nanopace fleet tell".into()).spawn(move || {
            while let Ok(first) = told.recv() {
                let results = told.try_iter().last().unwrap_or(first);
                // A failed report is not repeated, because the next report replaces it.
                let _ = store.call(&Request::Tell { id: id.clone(), node, results });
            }
        })?;
        Ok(ResultsThread(sender))
    }

    pub(crate) fn tell(&self, results: Vec<u8>) {
        // The thread exists as long as this handle, so the send cannot fail.
        let _ = self.0.send(results);
    }
}
