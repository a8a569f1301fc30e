//! The thread that waits for the store, so that a node can decide meanwhile.

use crate::clock::RunClock;
use crate::driver::Word;
use crate::error::FleetError;
use crate::message::{Reply, Request};
use crate::store::{RedisStore, Store};
use std::io;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

/// Where a node's requests go. There is one at a time; the thread ends with this.
#[derive(Debug)]
pub(crate) struct Link(Sender<Order>);

#[derive(Debug)]
struct Order {
    request: Request,
    patience: Duration,
    load: Option<Duration>,
}

/// A request and its answer, and when they went and came by the machine's clock.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) request: Request,
    pub(crate) reply: Result<Reply, FleetError>,
    pub(crate) sent_ns: u64,
    pub(crate) received_ns: u64,
}

impl Link {
    /// Answers go to `words`.
    pub(crate) fn start(
        mut store: RedisStore,
        clock: RunClock,
        words: Sender<Word>,
    ) -> io::Result<Link> {
        let (sender, orders) = channel::<Order>();
        thread::Builder::new().name("nanopace fleet link".into()).spawn(move || {
            for Order { request, patience, load } in orders {
                store.set_timeout(patience);
                store.keep_for(load);
                let sent_ns = clock.base_ns();
                let reply = store.call(&request);
                let received_ns = clock.base_ns();
                let exchange = Exchange { request, reply, sent_ns, received_ns };
                if words.send(Word::Exchange(exchange.into())).is_err() {
                    return;
                }
            }
        })?;
        Ok(Link(sender))
    }

    /// Its answer is waited for so long; the load has this duration, if it ends.
    pub(crate) fn send(&self, request: Request, patience: Duration, load: Option<Duration>) {
        // The thread is there as long as this is.
        let _ = self.0.send(Order { request, patience, load });
    }
}
