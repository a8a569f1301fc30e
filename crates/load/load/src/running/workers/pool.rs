//! Counts the connections of a pool that grows.

use crate::console::panics::locked;
use crate::results::pool_growth::PoolGrowth;
use crate::running::pool_size::PoolSize;
use nanopace::Nanos;
use std::sync::Mutex;

/// The maximum number of connections that the pool opens at the same time.
const AT_ONCE: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct Pool(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The number of connections reserved in addition to the first ones, including those that failed to open.
    added: usize,
    opening: usize,
    last_opened: Option<Nanos>,
}

impl Pool {
    /// Returns the thread's share of the connections to open for `lacking` slots, but at most `room`.
    pub(crate) fn reserve(&self, lacking: u64, room: usize, threads: usize) -> usize {
        let mut state = locked(&self.0);
        let lacking = usize::try_from(lacking).unwrap_or(usize::MAX).min(AT_ONCE);
        let count = lacking.saturating_sub(state.opening).div_ceil(threads).min(room);
        state.opening += count;
        state.added += count;
        count
    }

    pub(crate) fn opened(&self, now: Nanos) {
        let mut state = locked(&self.0);
        state.opening -= 1;
        state.last_opened = state.last_opened.max(Some(now));
    }

    pub(crate) fn growth(&self, size: PoolSize, start: Nanos) -> Option<PoolGrowth> {
        let [first, most] = [size.first, size.most].map(|count| count as usize);
        let state = locked(&self.0);
        let last_opened_seconds = state.last_opened.map(|last| (last - start).as_secs_f64());
        let opened = first + state.added;
        size.grows().then_some(PoolGrowth { first, most, opened, last_opened_seconds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_that_are_being_opened_are_not_opened_again() {
        let pool = Pool::default();
        assert_eq!(
            [(5, 9, 2), (5, 9, 2), (5, 1, 1)].map(|(n, room, of)| pool.reserve(n, room, of)),
            [3, 1, 1]
        );
        assert_eq!(pool.reserve(5, 9, 1), 0);
        pool.opened(Nanos::ZERO);
        assert_eq!((pool.reserve(5, 9, 1), pool.reserve(u64::MAX, 100, 1)), (1, 59));
    }
}
