//! Shares HTTP/2 connections between the sessions of a thread. The connections are closed at the latest when the
//! runtime of the thread ends.

use super::http2;
use crate::console::panics::locked;
use std::sync::{Arc, Mutex, Weak};
use std::thread::{self, ThreadId};
use tokio::sync::OnceCell;

/// The first session that needs the connection opens it. The connection is closed when no session uses it any more.
#[derive(Debug, Default)]
pub(crate) struct SharedConnection(pub(crate) OnceCell<http2::Connection>);

#[derive(Debug)]
pub(crate) struct Pool {
    most: usize,
    known: Mutex<Vec<(ThreadId, usize, Weak<SharedConnection>)>>,
}

impl Pool {
    pub(crate) fn new(most: usize) -> Pool {
        Pool { most, known: Mutex::new(Vec::new()) }
    }

    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Returns a connection of this thread that has room for another session, or else a new one, which is not open yet.
    pub(crate) fn join(&self, server: usize) -> Arc<SharedConnection> {
        let thread = thread::current().id();
        let mut known = locked(&self.known);
        known.retain(|(.., shared)| shared.strong_count() > 0);
        let mut with_room = known.iter().filter(|(its_thread, its_server, shared)| {
            (*its_thread, *its_server) == (thread, server) && shared.strong_count() < self.most
        });
        let open = with_room.find_map(|(.., shared)| shared.upgrade().filter(|it| !it.is_over()));
        open.unwrap_or_else(|| {
            let shared = Arc::<SharedConnection>::default();
            known.push((thread, server, Arc::downgrade(&shared)));
            shared
        })
    }
}

impl SharedConnection {
    fn is_over(&self) -> bool {
        self.0.get().is_some_and(http2::Connection::is_over)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_of_a_thread_share_a_connection_up_to_the_limit() {
        let pool = Pool::new(3);
        let all: Vec<_> = (0..7).map(|_| pool.join(0)).collect();
        let is_same = |one: usize, other: usize| Arc::ptr_eq(&all[one], &all[other]);
        assert!(
            is_same(0, 1) && is_same(0, 2) && is_same(3, 5) && !is_same(0, 3) && !is_same(5, 6)
        );
        let other_server = pool.join(1);
        assert!(all.iter().all(|it| !Arc::ptr_eq(it, &other_server)));
        let other_thread = thread::scope(|scope| scope.spawn(|| pool.join(0)).join().unwrap());
        assert!(all.iter().all(|it| !Arc::ptr_eq(it, &other_thread)));
        let left: Vec<_> = all.into_iter().skip(1).collect();
        assert!(Arc::ptr_eq(&left[0], &pool.join(0)));
        drop((left, other_server, other_thread));
        drop(pool.join(0));
        assert_eq!(pool.known.lock().unwrap().len(), 1);
    }
}
