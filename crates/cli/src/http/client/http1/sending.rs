//! A request that is being sent.

use crate::http::client::stream::Io;
use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// What is left to send.
pub(super) struct Sending<'a>(pub(super) [&'a [u8]; 5]);

impl Sending<'_> {
    /// Sends what is left, in one piece if the system takes it. Ready when it is on its way. Counts the
    /// bytes in `written`.
    pub(super) fn poll(
        &mut self,
        io: &mut dyn Io,
        written: &mut u64,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        let mut io = Pin::new(io);
        while self.left() > 0 {
            let bytes = ready!(match self.0 {
                [part, [], [], [], []] => io.as_mut().poll_write(cx, part),
                parts => io.as_mut().poll_write_vectored(cx, &parts.map(IoSlice::new)),
            })?;
            if bytes == 0 {
                return Poll::Ready(Err(ErrorKind::WriteZero.into()));
            }
            *written += bytes as u64;
            self.advance(bytes);
        }
        io.poll_flush(cx)
    }

    /// How many bytes are left.
    pub(super) fn left(&self) -> usize {
        self.0.iter().map(|part| part.len()).sum()
    }

    fn advance(&mut self, mut bytes: usize) {
        for part in &mut self.0 {
            let taken = bytes.min(part.len());
            *part = &part[taken..];
            bytes -= taken;
        }
    }
}
