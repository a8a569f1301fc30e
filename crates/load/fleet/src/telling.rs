//! The thread that tells the store what a node has done so far. It has a connection of its own, so no claim
//! waits for it.

use crate::message::Request;
use crate::owners::NodeId;
use crate::store::{RedisStore, Store};
use std::io;
use std::sync::mpsc::{Sender, channel};
use std::thread;

/// Where a node's results so far go. The thread ends with this.
#[derive(Debug)]
pub(crate) struct Telling(Sender<Vec<u8>>);

impl Telling {
    /// A telling of this node of the run with this number.
    pub(crate) fn start(mut store: RedisStore, id: String, node: NodeId) -> io::Result<Telling> {
        let (sender, told) = channel::<Vec<u8>>();
        thread::Builder::new().name("nanopace fleet tell".into()).spawn(move || {
            while let Ok(first) = told.recv() {
                let results = told.try_iter().last().unwrap_or(first);
                // What does not come through, the next telling has, too.
                let _ = store.call(&Request::Tell { id: id.clone(), node, results });
            }
        })?;
        Ok(Telling(sender))
    }

    /// Tells this next, in place of what has not been sent.
    pub(crate) fn tell(&self, results: Vec<u8>) {
        // The thread is there as long as this is.
        let _ = self.0.send(results);
    }
}
