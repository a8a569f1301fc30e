//! Sends a request in steps, each with as many bytes as the system accepts.

use super::request::Outgoing;
use crate::http::client::failure::Failure;
use crate::http::client::request::body::Flow;
use crate::http::client::transport::stream::Io;
use hyper::body::Buf;
use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pub(super) struct Sending<'a> {
    /// The result of sending, or `None` while bytes are left to send and neither a write nor a read of the body file
    /// has failed.
    sent: Option<Result<(), Failure>>,
    parts: [&'a [u8]; 5],
    /// The body file. Only the head is sent before it, and only the end of a chunked body is sent after it.
    file: Option<Flow>,
}

impl<'a> Sending<'a> {
    pub(super) fn new(request: &Outgoing<'a>) -> Sending<'a> {
        Sending { sent: None, parts: request.parts, file: request.file.map(Flow::of_large) }
    }

    pub(super) fn is_done(&self) -> bool {
        self.sent == Some(Ok(()))
    }

    pub(super) fn poll(
        &mut self,
        io: &mut dyn Io,
        written: &mut u64,
        cx: &mut Context<'_>,
    ) -> Option<Failure> {
        if self.sent.is_none()
            && let Poll::Ready(sent) = self.poll_rest(io, written, cx)
        {
            self.sent = Some(sent.map_err(|error| Failure::from(&error)));
        }
        self.sent?.err()
    }

    /// Sends the rest of the request, if possible with a single system call. `Ready(Ok(()))` means that everything has
    /// been sent.
    fn poll_rest(
        &mut self,
        io: &mut dyn Io,
        written: &mut u64,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        let mut io = Pin::new(io);
        ready!(self.poll_file(&mut *io, written, cx))?;
        while self.parts.iter().any(|part| !part.is_empty()) {
            let bytes = ready!(match self.parts {
                [part, [], [], [], []] => io.as_mut().poll_write(cx, part),
                parts => io.as_mut().poll_write_vectored(cx, &parts.map(IoSlice::new)),
            });
            let bytes = taken(bytes)?;
            *written += bytes as u64;
            self.advance(bytes);
        }
        io.poll_flush(cx)
    }

    fn poll_file(
        &mut self,
        io: &mut dyn Io,
        written: &mut u64,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        let Sending { parts: [head, ..], file: Some(file), .. } = self else {
            return Poll::Ready(Ok(()));
        };
        let mut io = Pin::new(io);
        while !head.is_empty() {
            let bytes = taken(ready!(io.as_mut().poll_write(cx, head)))?;
            *head = &head[bytes..];
            *written += bytes as u64;
        }
        while file.left() > 0 {
            let next = file.next()?;
            let bytes = taken(ready!(io.as_mut().poll_write(cx, next)))?;
            next.advance(bytes);
            *written += bytes as u64;
        }
        Poll::Ready(Ok(()))
    }

    fn advance(&mut self, mut bytes: usize) {
        for part in &mut self.parts {
            let taken = bytes.min(part.len());
            *part = &part[taken..];
            bytes -= taken;
        }
    }
}

fn taken(written: io::Result<usize>) -> io::Result<usize> {
    match written? {
        0 => Err(ErrorKind::WriteZero.into()),
        bytes => Ok(bytes),
    }
}
