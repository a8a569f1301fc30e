//! Holds the rules of a proxy, which can change while connections are open.

use rustix::net::sockopt::set_socket_reuseaddr;
use rustix::net::{Shutdown, listen, shutdown};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const WAITING: i32 = 128;

/// The treatment of new connections while the proxy is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewConnections {
    /// New connections are refused.
    Refused,
    /// New connections are accepted but get no response, as if packets were lost. [`Proxy::mend`](super::Proxy::mend)
    /// serves them if their clients still wait.
    Hang,
}

pub(crate) struct Accepted {
    pub(crate) number: u64,
    pub(crate) client: TcpStream,
    pub(crate) upstream: SocketAddr,
}

/// The state of a proxy. A proxy numbers its connections in the order in which it accepts them.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) upstream: SocketAddr,
    pub(crate) delay: Duration,
    pub(crate) replies_to_drop: usize,
    listener: Option<TcpListener>,
    accepting: bool,
    ended: bool,
    next: u64,
    /// Connections with a lower number must be closed.
    ended_below: u64,
    /// Requests on connections with a lower number are held.
    held_below: u64,
}

impl State {
    pub(crate) fn end_connections(&mut self) {
        self.ended_below = self.next;
    }

    pub(crate) fn hold(&mut self) {
        self.held_below = self.next;
    }

    pub(crate) fn release(&mut self) {
        self.held_below = 0;
    }

    pub(crate) fn end(&mut self) {
        self.end_connections();
        self.ended = true;
        self.listener = None;
    }

    fn accept(&mut self) -> io::Result<Accepted> {
        let listener = self.listener.as_ref().filter(|_| self.accepting);
        let (client, _) = listener.ok_or(ErrorKind::WouldBlock)?.accept()?;
        let number = self.next;
        self.next += 1;
        Ok(Accepted { number, client, upstream: self.upstream })
    }
}

#[derive(Debug)]
pub(crate) struct Rules {
    state: Mutex<State>,
    changed: Condvar,
}

impl Rules {
    pub(crate) fn new(upstream: SocketAddr, listener: TcpListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let state = State {
            upstream,
            delay: Duration::ZERO,
            replies_to_drop: 0,
            listener: Some(listener),
            accepting: true,
            ended: false,
            next: 1,
            ended_below: 0,
            held_below: 0,
        };
        Ok(Self { state: Mutex::new(state), changed: Condvar::new() })
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    pub(crate) fn cut(&self, new: NewConnections) {
        self.change(|now| {
            now.end_connections();
            now.accepting = false;
            if let (NewConnections::Refused, Some(listener)) = (new, &now.listener) {
                // On Linux, the socket stops listening but keeps its port. Without SO_REUSEADDR, no other socket can
                // bind that port.
                let _ = shutdown(listener, Shutdown::Read);
                let _ = set_socket_reuseaddr(listener, false);
            }
        });
    }

    pub(crate) fn mend(&self) -> io::Result<()> {
        let mut state = self.lock();
        if let Some(listener) = &state.listener {
            // Without SO_REUSEADDR, `listen` would fail while closed connections still use the port.
            set_socket_reuseaddr(listener, true)?;
            listen(listener, WAITING)?;
        }
        state.accepting = true;
        Ok(())
    }

    pub(crate) fn accept(&self) -> Option<io::Result<Accepted>> {
        let mut state = self.lock();
        (!state.ended).then(|| state.accept())
    }

    pub(crate) fn delay(&self) -> Duration {
        self.lock().delay
    }

    /// Waits until data may be forwarded. Returns `false` if the data must be dropped, because its connection was
    /// closed in the meantime.
    pub(crate) fn wait(&self, number: u64, due: Instant, is_request: bool) -> bool {
        let mut state = self.lock();
        loop {
            if number < state.ended_below {
                return false;
            }
            let left = due.saturating_duration_since(Instant::now());
            let held = is_request && number < state.held_below;
            if left.is_zero() && !held {
                return true;
            }
            let wait = if held { Duration::from_secs(1) } else { left };
            state =
                self.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    pub(crate) fn wait_for_end(&self, number: u64, mut is_over: impl FnMut() -> bool) {
        let mut state = self.lock();
        while number >= state.ended_below && !is_over() {
            let wait = self.changed.wait(state);
            state = wait.unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(crate) fn tell(&self) {
        // The lock ensures that no thread is between its check and its wait.
        drop(self.lock());
        self.changed.notify_all();
    }

    pub(crate) fn drops_reply(&self) -> bool {
        let mut state = self.lock();
        let drops = state.replies_to_drop > 0;
        state.replies_to_drop = state.replies_to_drop.saturating_sub(1);
        drops
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
