//! Gives each connection its own slots: `--per-connection 2s`.
//!
//! Slot s of the load belongs to connection s mod n, even while that connection is busy. Slots are claimed in order. A
//! worker claims slots until it gets its own, and keeps the others for their workers. A claim that its worker does not
//! start is given back at the end of the run, and counts as unstarted if it was due.

use crate::console::human::float;
use crate::console::panics::locked;
use nanopace::{Claim, Ended, Ledger, Nanos, Pacer};
use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct ConnectionSlots(Mutex<Claims>);

#[derive(Debug)]
struct Claims {
    claimed: usize,
    /// The claims of each connection, with the numbers of their slots.
    of: Vec<VecDeque<(usize, Claim<'static>)>>,
}

impl ConnectionSlots {
    pub(crate) fn new(connections: usize) -> ConnectionSlots {
        let of = (0..connections).map(|_| VecDeque::new()).collect();
        ConnectionSlots(Mutex::new(Claims { claimed: 0, of }))
    }

    pub(super) fn claim(&self, index: usize, pacer: &Pacer) -> Result<Claim<'static>, Ended> {
        let Claims { claimed, of } = &mut *locked(&self.0);
        loop {
            if let Some((_, claim)) = of[index].pop_front() {
                return Ok(claim);
            }
            let owner = *claimed % of.len();
            of[owner].push_back((*claimed, pacer.claim()?.into_owned()));
            *claimed += 1;
        }
    }

    /// Moves the slots that are due at `now` and wait for busy connections from the claimed slots of `ledger` to its
    /// backlog.
    pub(super) fn add_backlog(&self, mut ledger: Ledger, pacer: &Pacer, now: Nanos) -> Ledger {
        let slots = self.due(pacer.asked_before(now));
        let time = Duration::from_secs_f64(float(slots) * pacer.rate().interval_ns() * 1e-9);
        let time = time.min(ledger.allocated);
        ledger.granted = ledger.granted.saturating_sub(slots);
        ledger.backlog_slots += slots;
        ledger.allocated -= time;
        ledger.backlog += time;
        ledger
    }

    /// Returns how many of the first `asked` slots of the load wait for busy connections.
    fn due(&self, asked: u64) -> u64 {
        let is_due = |(number, _): &(usize, Claim<'_>)| (*number as u64) < asked;
        locked(&self.0).of.iter().map(|claims| claims.partition_point(is_due) as u64).sum()
    }

    /// Drops the claims that no worker has started. The pacer must be closed, so that workers claim no more slots.
    pub(crate) fn give_back(&self) {
        locked(&self.0).of.iter_mut().for_each(VecDeque::clear);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::running::workers::shared::RunShared;
    use nanopace::{ManualClock, Rate};

    #[test]
    fn slots_that_wait_for_a_busy_connection_are_backlog_once_they_are_due() {
        let clock = ManualClock::new();
        let pacer = Pacer::builder(Rate::per_second(10).unwrap()).clock(clock.clone()).build();
        let connection_slots = Some(ConnectionSlots::new(2));
        let shared =
            RunShared { connection_slots, ..RunShared::new(pacer, Duration::MAX, &[2], false) };
        let start = |index| {
            let claim = shared.connection_slots.as_ref().unwrap().claim(index, &shared.pacer);
            claim.unwrap().start().unwrap();
        };
        let backlog = || {
            let Ledger { granted, backlog_slots, allocated, backlog, .. } = shared.ledger();
            let [allocated, backlog] = [allocated, backlog].map(|time| time.as_millis());
            (granted, backlog_slots, allocated, backlog)
        };
        start(0);
        clock.advance(Duration::from_millis(100));
        start(1);
        // Connection 1 stays busy until the end: its slots 3, 5 and 7 wait for it.
        for _ in 0..3 {
            clock.advance(Duration::from_millis(200));
            start(0);
        }
        clock.advance(Duration::from_millis(50));
        assert_eq!(backlog(), (5, 3, 500, 250));
        let claim = || shared.connection_slots.as_ref().unwrap().claim(0, &shared.pacer).unwrap();
        let _early = [claim(), claim()];
        assert_eq!(backlog(), (8, 3, 450, 300), "slots 8 to 10 are not due");
        shared.pacer.pause();
        clock.advance(Duration::from_secs(9));
        assert_eq!(backlog(), (8, 3, 450, 300), "the schedule is paused");
    }
}
