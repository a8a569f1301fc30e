//! Simulates a connection on which a write fails while a response arrives.

use crate::http::client::transport::stream::Io;
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

pub(super) const RESET: ErrorKind = ErrorKind::ConnectionReset;

pub(super) struct Broken {
    pub(super) takes: usize,
    /// The error of the first write that fails. All later writes fail with a broken pipe.
    pub(super) write_error: ErrorKind,
    pub(super) first: Vec<u8>,
    pub(super) parts: VecDeque<Vec<u8>>,
    /// The result of a read after all parts. `WouldBlock` means that no more bytes arrive, but the stream does not end.
    pub(super) end: Result<(), ErrorKind>,
    /// Whether a read of each part, and of the end, returns `Pending` once before it succeeds.
    pub(super) pauses: bool,
    pub(super) has_failed: bool,
    pub(super) has_paused: bool,
    pub(super) reader: Option<Waker>,
}

impl Broken {
    pub(super) fn new(write_error: ErrorKind, end: Result<(), ErrorKind>) -> Broken {
        Broken {
            takes: 0,
            write_error,
            first: Vec::new(),
            parts: VecDeque::new(),
            end,
            pauses: true,
            has_failed: false,
            has_paused: false,
            reader: None,
        }
    }
}

impl Io for Broken {}

impl AsyncRead for Broken {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.first.is_empty() {
            buf.put_slice(&mem::take(&mut self.first));
            return Poll::Ready(Ok(()));
        }
        if !self.has_failed {
            self.reader = Some(cx.waker().clone());
            return Poll::Pending;
        }
        self.has_paused = self.pauses && !self.has_paused;
        if self.has_paused {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        match self.parts.pop_front() {
            Some(part) => buf.put_slice(&part),
            None if self.end == Err(ErrorKind::WouldBlock) => return Poll::Pending,
            None => self.end.map_err(io::Error::from)?,
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Broken {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let taken = self.takes.min(buf.len());
        self.takes -= taken;
        if taken > 0 {
            return Poll::Ready(Ok(taken));
        }
        self.has_failed = true;
        self.reader.take().into_iter().for_each(Waker::wake);
        Poll::Ready(Err(mem::replace(&mut self.write_error, ErrorKind::BrokenPipe).into()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
