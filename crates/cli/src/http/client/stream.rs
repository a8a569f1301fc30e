//! The byte stream of a connection, and one that is counted.

use nanopace_load::net::tls;
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::coop::consume_budget;

/// So many bytes count as one of the steps that a task may take in its turn. Else a server that never
/// stops sending could make a turn last for seconds.
const STEP: usize = 4096;

/// A stream to a server: TCP or a Unix socket, with TLS or without.
pub(crate) trait Io: AsyncRead + AsyncWrite + Unpin + Send {
    /// Of an exchange that has just ended, if the kernel stamps it.
    fn delays(&mut self) -> Option<Delays> {
        None
    }
}

impl Io for TcpStream {}

#[cfg(unix)]
impl Io for tokio::net::UnixStream {}

impl Io for tls::Stream<Box<dyn Io>> {}

#[cfg(test)]
impl Io for tokio::io::DuplexStream {}

/// What of the time of an exchange passed between this process and the kernel, as far as the kernel has told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Delays {
    /// From when the last bytes of the request were written until the last one was sent.
    pub(crate) sending: Option<Duration>,
    /// From when the last byte of the answer was received until now.
    pub(crate) reading: Option<Duration>,
}

/// Bytes of HTTP that went over a connection, without TLS.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    read: AtomicU64,
    written: AtomicU64,
    /// How often anything was read, ever.
    reads: AtomicU64,
}

impl Traffic {
    /// How often anything was read, ever.
    pub(crate) fn reads(&self) -> u64 {
        // Relaxed: as in `take`.
        self.reads.load(Ordering::Relaxed)
    }

    /// Bytes read and written since the last time that this was asked.
    pub(crate) fn take(&self) -> (u64, u64) {
        // Relaxed: a count, taken by the thread that counts. No model: nothing is ordered by it.
        (self.read.swap(0, Ordering::Relaxed), self.written.swap(0, Ordering::Relaxed))
    }
}

/// Counts what passes.
pub(crate) struct Counted {
    io: Box<dyn Io>,
    traffic: Arc<Traffic>,
}

impl Counted {
    /// Counts what passes through `io` in `traffic`.
    pub(crate) fn new(io: Box<dyn Io>, traffic: Arc<Traffic>) -> Counted {
        Counted { io, traffic }
    }

    fn wrote(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = written {
            // Relaxed: as in `take`.
            self.traffic.written.fetch_add(bytes as u64, Ordering::Relaxed);
        }
        written
    }
}

/// Takes what it costs to read so many bytes off the turn of the current task.
pub(crate) fn charge(bytes: usize, cx: &mut Context<'_>) {
    for _ in 0..bytes / STEP {
        if pin!(consume_budget()).poll(cx).is_pending() {
            return;
        }
    }
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.io).poll_read(cx, buf))?;
        let bytes = buf.filled().len() - before;
        // Relaxed: as in `take`.
        self.traffic.read.fetch_add(bytes as u64, Ordering::Relaxed);
        self.traffic.reads.fetch_add(u64::from(bytes > 0), Ordering::Relaxed);
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
        let written = Pin::new(&mut self.io).poll_write(cx, buf);
        self.wrote(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write_vectored(cx, bufs);
        self.wrote(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
