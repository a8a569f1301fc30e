//! Opens more connections during a run while slots lack a connection: `--connections 16..512`.
//!
//! A connection is opened if a slot is due while all connections are busy. Each thread checks this once a millisecond.
//! By Little's law, the pool grows to about the rate times the mean service time, or to its maximum. It never shrinks.
//!
//! A delay of the generator does not let the pool grow. If the calls in flight started late because of the generator, a
//! generator without delays would have started these calls earlier. A connection might then be free for a slot that has
//! been due for less than this delay, so the slot opens no connection.

use super::shared::RunShared;
use nanopace::Ledger;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use tokio::time;

const LOOK: Duration = Duration::from_millis(1);

/// Returns the number of slots that lack a connection. During a pause, it is 0.
pub(crate) fn lacking(shared: &RunShared) -> u64 {
    let Ledger { backlog_slots, backlog, .. } = shared.pacer.ledger();
    let is_due = backlog_slots > 0 && !shared.pacer.is_paused();
    let are_busy = || shared.recorders.iter().all(|it| it.lacks_connection(backlog));
    if is_due && are_busy() { backlog_slots } else { 0 }
}

pub(super) struct Growth {
    pub(super) shared: Arc<RunShared>,
    pub(super) left: Range<usize>,
}

impl Growth {
    /// Returns the range of the next connections to open, or `None` if the thread opens no more. The future can be
    /// dropped at any time.
    pub(super) async fn more(&mut self) -> Option<Range<usize>> {
        let Growth { shared, left } = self;
        while left.start < left.end && !shared.pacer.is_closed() && !shared.pacer.is_finished() {
            time::sleep(LOOK).await;
            let count = shared.pool.reserve(lacking(shared), left.len(), shared.recorders.len());
            if count > 0 {
                left.start += count;
                return Some(left.start - count..left.start);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::cpu_time::CpuTime;
    use crate::results::operation::Answer;
    use crate::running::measuring::recorder::Flight;
    use crate::running::pool_size::PoolSize;
    use nanopace::{ManualClock, Nanos, Pacer, Rate};

    const SIZE: PoolSize = PoolSize { first: 16, most: 100 };

    /// Returns the number of connections that are opened in a simulation of 3 s with 1 000 slots/s. The thread does
    /// nothing in the milliseconds `frozen`.
    fn opened(service_ms: u64, frozen: Range<u64>) -> usize {
        let clock = ManualClock::new();
        let pacer = Pacer::builder(Rate::per_second(1_000).unwrap()).clock(clock.clone()).build();
        let shared = RunShared::new(pacer, Duration::MAX, &[SIZE.first as usize], false);
        let (recorder, pacer) = (&shared.recorders[0], &shared.pacer);
        let (mut free, mut busy): (usize, Vec<(Flight, Nanos)>) = (SIZE.first as usize, Vec::new());
        for ms in 0..3_000_u64 {
            clock.advance(Duration::from_millis(1));
            if frozen.contains(&ms) {
                continue;
            }
            recorder.wakes(CpuTime::default);
            let (done, awaited) = busy.into_iter().partition(|(_, end)| *end <= pacer.now());
            (busy, free) = (awaited, free + Vec::len(&done));
            for (flight, _) in done {
                flight.end(Answer::completed(pacer.now()));
            }
            while free > 0
                && let Ok(grant) = pacer.try_acquire()
            {
                let slot = (grant.slot(), grant.intended_start());
                let flight = recorder.start(slot, true);
                busy.push((flight, pacer.now() + Duration::from_millis(service_ms)));
                free -= 1;
            }
            let room = SIZE.most as usize - free - busy.len();
            for _ in 0..shared.pool.reserve(lacking(&shared), room, 1) {
                recorder.added(recorder.add());
                shared.pool.opened(pacer.now());
                free += 1;
            }
            recorder.beat(CpuTime::default());
            recorder.sleeps(CpuTime::default);
        }
        assert_eq!(recorder.connections(), free + busy.len());
        shared.pool.growth(SIZE, Nanos::ZERO).unwrap().opened
    }

    #[test]
    fn a_pool_grows_to_the_rate_times_the_service_time_and_no_further() {
        for (service_ms, expected) in [(1, 16..=16), (16, 16..=17), (50, 50..=53), (500, 100..=100)]
        {
            let opened = opened(service_ms, 0..0);
            assert!(expected.contains(&opened), "{service_ms} ms: {opened}");
        }
    }

    #[test]
    fn a_delay_of_the_generator_does_not_let_the_pool_grow() {
        assert_eq!(opened(5, 1_000..1_200), 16);
    }
}
