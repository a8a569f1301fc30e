//! HTTP/1.1 (RFC 9112): one request after the other on a connection, written at once from bytes that are
//! ready, and answers read into memory that is kept.

pub(crate) mod answer;
mod body;
mod buffer;
pub(crate) mod head;
pub(crate) mod request;
mod sending;

use super::failure::Failure;
use super::patience::before;
use super::stream::{Delays, Io, charge};
use super::watch::Watch;
use answer::Answer;
use buffer::Buffer;
use hyper::StatusCode;
use hyper::body::{Buf, Bytes};
use nanopace_load::running::workers::deadline::Deadline;
use request::Outgoing;
use sending::Sending;
use std::io;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::ReadBuf;
use tokio::task::coop::has_budget_remaining;
use tokio::task::yield_now;

/// A connection that speaks HTTP/1.1.
pub(crate) struct Connection {
    io: Box<dyn Io>,
    buffer: Buffer,
    /// What is left of a request whose answer came before it was sent.
    unsent: Bytes,
    /// Whether no request can follow.
    is_over: bool,
    read: u64,
    written: u64,
}

impl Connection {
    pub(crate) fn new(io: Box<dyn Io>) -> Connection {
        let (buffer, unsent) = (Buffer::default(), Bytes::new());
        Connection { io, buffer, unsent, is_over: false, read: 0, written: 0 }
    }

    /// Whether no request can follow.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether a request can be sent. Not if the server has ended the connection, or has sent what nobody
    /// asked for: it would be taken for the next answer.
    pub(crate) async fn is_ready(&mut self, deadline: &mut Deadline) -> bool {
        // A task whose turn is over hears of nothing.
        if !has_budget_remaining() {
            yield_now().await;
        }
        before(deadline, |cx| self.poll_ready(cx)).await.unwrap_or(false)
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        if !self.unsent.is_empty() {
            let mut sending = Sending::of(&self.unsent);
            let sent = sending.poll(&mut *self.io, &mut self.written, cx);
            let left = sending.left();
            self.unsent.advance(self.unsent.len() - left);
            if ready!(sent).is_err() {
                return Poll::Ready(false);
            }
        }
        Poll::Ready(self.poll_read(cx).is_pending())
    }

    /// Sends a request and reads the whole answer.
    pub(crate) async fn exchange(
        &mut self,
        request: &Outgoing<'_>,
        deadline: &mut Deadline,
        mut watch: Option<&mut Watch>,
    ) -> Result<StatusCode, Failure> {
        let mut answer = Answer::to(request.asked);
        let mut sending = Sending::new(request);
        // Nor does one follow a request that is given up.
        self.is_over = true;
        let exchanged = |cx: &mut Context<'_>| {
            self.poll_exchange(cx, &mut sending, &mut answer, watch.as_deref_mut())
        };
        let status = before(deadline, exchanged).await?;
        if sending.left() > 0 {
            self.unsent = sending.rest();
        }
        self.is_over = sending.leaves_file()
            || request.is_last
            || !answer.is_kept()
            || !self.buffer.unread().is_empty();
        status
    }

    /// An answer that is there counts, even if the server did not want the rest of the request.
    fn poll_exchange(
        &mut self,
        cx: &mut Context<'_>,
        sending: &mut Sending<'_>,
        answer: &mut Answer,
        watch: Option<&mut Watch>,
    ) -> Poll<Result<StatusCode, Failure>> {
        let sent = sending.poll(&mut *self.io, &mut self.written, cx);
        match (self.poll_answer(cx, answer, watch), sent) {
            (Poll::Ready(Err(_)) | Poll::Pending, Poll::Ready(Err(error))) => {
                Poll::Ready(Err(Failure::from(&error)))
            }
            (answered, _) => answered,
        }
    }

    fn poll_answer(
        &mut self,
        cx: &mut Context<'_>,
        answer: &mut Answer,
        mut watch: Option<&mut Watch>,
    ) -> Poll<Result<StatusCode, Failure>> {
        loop {
            let taken = answer.take(self.buffer.unread(), watch.as_deref_mut())?;
            self.buffer.take(taken);
            let is_head_enough = watch.as_deref().is_some_and(Watch::is_head_enough);
            let status = if is_head_enough { answer.status_so_far() } else { answer.status() };
            if let Some(status) = status {
                watch.into_iter().for_each(Watch::end);
                return Poll::Ready(Ok(status));
            }
            let read = ready!(self.poll_read(cx)).map_err(|error| Failure::from(&error))?;
            if read == 0 {
                watch.into_iter().for_each(Watch::end);
                return Poll::Ready(answer.end(self.buffer.unread()));
            }
            if let Some(watch) = watch.as_deref_mut() {
                watch.came();
            }
        }
    }

    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut room = ReadBuf::new(self.buffer.room());
        ready!(Pin::new(&mut *self.io).poll_read(cx, &mut room))?;
        let bytes = room.filled().len();
        self.buffer.fill(bytes);
        self.read += bytes as u64;
        charge(bytes, cx);
        Poll::Ready(Ok(bytes))
    }

    /// Of an exchange that has just ended, if the kernel stamps it. Of a request that is not sent yet, nobody knows
    /// when it was.
    pub(crate) fn delays(&mut self) -> Option<Delays> {
        let Delays { sending, reading } = self.io.delays()?;
        Some(Delays { sending: sending.filter(|_| self.unsent.is_empty()), reading })
    }

    /// Bytes read and written since the last time that this was asked.
    pub(crate) fn take_traffic(&mut self) -> (u64, u64) {
        (mem::take(&mut self.read), mem::take(&mut self.written))
    }
}
