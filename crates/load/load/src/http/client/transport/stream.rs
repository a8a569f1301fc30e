//! Defines the byte stream of a connection, and a wrapper that counts its bytes.

use crate::net::tls;
use std::io::{self, ErrorKind, IoSlice};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::coop::consume_budget;
use tokio::task::yield_now;

/// The bytes per unit of cooperative budget. Without a budget, an endless response could keep a task running for
/// seconds.
const STEP: usize = 4096;

pub(crate) trait Io: AsyncRead + AsyncWrite + Unpin + Send {
    fn delays(&mut self) -> Option<Delays> {
        None
    }

    /// Reads when the client expects no response. An implementation does not have to wake the task when bytes arrive
    /// later.
    fn poll_unasked(
        &mut self,
        cx: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(self).poll_read(cx, room)
    }
}

impl Io for TcpStream {
    /// Implements [`Io::poll_unasked`] without a system call and without a lock if nothing has arrived.
    fn poll_unasked(
        &mut self,
        _: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.try_read(room.initialize_unfilled()) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Poll::Pending,
            read => Poll::Ready(read.map(|bytes| room.advance(bytes))),
        }
    }
}

#[cfg(unix)]
impl Io for tokio::net::UnixStream {}

impl Io for tls::Stream<Box<dyn Io>> {}

#[cfg(test)]
impl Io for tokio::io::DuplexStream {}

/// The delays between this process and the kernel in one exchange. A delay is `None` if a timestamp is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Delays {
    /// The time from the beginning of the last write of the request until the kernel sent the last byte of the request.
    pub(crate) sending: Option<Duration>,
    /// The time from when the kernel received the last byte of the response until the call of [`Io::delays`].
    pub(crate) reading: Option<Duration>,
}

/// The number of bytes that HTTP has read and written on a connection. The overhead of TLS is not included.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    read: AtomicU64,
    written: AtomicU64,
    reads: AtomicU64,
    has_carried: AtomicBool,
    is_broken: AtomicBool,
}

impl Traffic {
    pub(crate) fn is_broken(&self) -> bool {
        // Relaxed: for the reason given in `take`.
        self.is_broken.load(Ordering::Relaxed)
    }

    pub(crate) fn carry(&self) {
        // Relaxed: for the reason given in `take`.
        self.has_carried.store(true, Ordering::Relaxed);
    }

    pub(crate) fn has_carried(&self) -> bool {
        // Relaxed: for the reason given in `take`.
        self.has_carried.load(Ordering::Relaxed)
    }

    pub(crate) fn reads(&self) -> u64 {
        // Relaxed: for the reason given in `take`.
        self.reads.load(Ordering::Relaxed)
    }

    pub(crate) fn take(&self) -> (u64, u64) {
        // Relaxed: only the connection's own thread reads and writes the counters. No loom model: the counters order
        // nothing else.
        (self.read.swap(0, Ordering::Relaxed), self.written.swap(0, Ordering::Relaxed))
    }
}

pub(crate) fn charge(bytes: usize, cx: &mut Context<'_>) {
    for _ in 0..bytes / STEP {
        if pin!(consume_budget()).poll(cx).is_pending() {
            return;
        }
    }
}

/// Counts bytes. Reading continues after a failed write, because a server that rejects a request may have responded.
/// After the connection was dropped, a write that would have to wait fails. Otherwise, the stream would stay open until
/// the server reads again.
pub(crate) struct Counted {
    io: Box<dyn Io>,
    traffic: Arc<Traffic>,
    broken: Option<ErrorKind>,
    /// The end of the stream. `None` before the end, and after the end was reported to the reader.
    end: Option<io::Result<()>>,
}

impl Counted {
    pub(crate) fn new(io: Box<dyn Io>, traffic: Arc<Traffic>) -> Counted {
        Counted { io, traffic, broken: None, end: None }
    }

    /// Writes with the function `write`. After a failed write, drops the bytes instead, and reports them as written.
    fn write(
        &mut self,
        cx: &mut Context<'_>,
        bytes: usize,
        write: impl FnOnce(Pin<&mut dyn Io>, &mut Context<'_>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if self.broken.is_none() {
            let written = match write(Pin::new(&mut *self.io), cx) {
                Poll::Pending if Arc::strong_count(&self.traffic) == 1 => {
                    Err(ErrorKind::BrokenPipe.into())
                }
                written => ready!(written),
            };
            match written {
                Ok(bytes) => {
                    // Relaxed: for the reason given in `take`.
                    self.traffic.written.fetch_add(bytes as u64, Ordering::Relaxed);
                    return Poll::Ready(Ok(bytes));
                }
                Err(error) => {
                    self.broken = Some(error.kind());
                    // Relaxed: for the reason given in `take`.
                    self.traffic.is_broken.store(true, Ordering::Relaxed);
                }
            }
        }
        Poll::Ready(Ok(bytes))
    }

    /// Reports the end of the stream one poll later, so that a response that arrived before the end is handled first.
    fn end(&mut self, end: io::Result<()>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.end = Some(self.broken.map_or(end, |kind| Err(kind.into())));
        pin!(yield_now()).poll(cx).map(Ok)
    }
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(end) = self.end.take() {
            return Poll::Ready(end);
        }
        let before = buf.filled().len();
        let read = ready!(Pin::new(&mut self.io).poll_read(cx, buf));
        let bytes = buf.filled().len() - before;
        if bytes == 0 {
            return self.end(read, cx);
        }
        // Relaxed: for the reason given in `take`.
        self.traffic.read.fetch_add(bytes as u64, Ordering::Relaxed);
        self.traffic.reads.fetch_add(1, Ordering::Relaxed);
        charge(bytes, cx);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Counted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.write(cx, buf.len(), |io, cx| io.poll_write(cx, buf))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let bytes = bufs.iter().map(|buf| buf.len()).sum();
        self.write(cx, bytes, |io, cx| io.poll_write_vectored(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flush = |io: Pin<&mut dyn Io>, cx: &mut Context<'_>| io.poll_flush(cx).map_ok(|()| 0);
        self.write(cx, 0, flush).map_ok(drop)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shutdown =
            |io: Pin<&mut dyn Io>, cx: &mut Context<'_>| io.poll_shutdown(cx).map_ok(|()| 0);
        self.write(cx, 0, shutdown).map_ok(drop)
    }
}
