//! Gives each connection its own slots: `--per-connection 2s`.
//!
//! Slot s of the load belongs to connection s mod n, even while that connection is busy. Slots are claimed in order. A
//! worker claims slots until it gets its own, and keeps the others for their workers. A claim that its worker does not
//! start is given back at the end of the run, and counts as unstarted if it was due.

use crate::console::panics::locked;
use nanopace::{Claim, Ended, Pacer};
use std::collections::VecDeque;
use std::sync::Mutex;

#[derive(Debug)]
pub(crate) struct ConnectionSlots(Mutex<Claims>);

#[derive(Debug)]
struct Claims {
    claimed: usize,
    of: Vec<VecDeque<Claim<'static>>>,
}

impl ConnectionSlots {
    pub(crate) fn new(connections: usize) -> ConnectionSlots {
        let of = (0..connections).map(|_| VecDeque::new()).collect();
        ConnectionSlots(Mutex::new(Claims { claimed: 0, of }))
    }

    pub(super) fn claim(&self, index: usize, pacer: &Pacer) -> Result<Claim<'static>, Ended> {
        let Claims { claimed, of } = &mut *locked(&self.0);
        loop {
            if let Some(claim) = of[index].pop_front() {
                return Ok(claim);
            }
            let owner = *claimed % of.len();
            of[owner].push_back(pacer.claim()?.into_owned());
            *claimed += 1;
        }
    }

    /// Drops the claims that no worker has started. The pacer must be closed, and all workers must have ended, except
    /// stuck ones, which may still ask for a slot.
    pub(crate) fn give_back(&self) {
        locked(&self.0).of.iter_mut().for_each(VecDeque::clear);
    }
}
