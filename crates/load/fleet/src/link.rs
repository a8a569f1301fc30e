//! The thread that waits for the store, so that a node can decide meanwhile.

use crate::clock::RunClock;
use crate::message::Request;
use crate::store::{RedisStore, Store};
use crate::word::{Exchange, Word};
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

    /// Sends a request whose answer is waited for as `patience` says. `load` is how long the load lasts, if it ends.
    pub(crate) fn send(&self, request: Request, patience: Duration, load: Option<Duration>) {
        // The thread is there as long as this is.
        let _ = self.0.send(Order { request, patience, load });
    }
}
