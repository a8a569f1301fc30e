//! HTTP/1.1 (RFC 9112): one request after the other on a connection, written at once from bytes that are
//! ready, and answers read into memory that is kept.

pub(crate) mod answer;
mod body;
mod buffer;
pub(crate) mod head;
pub(crate) mod request;
mod sending;

use super::stream::{Delays, Io, charge};
use super::time_limit::before;
use crate::http::client::failure::Failure;
use crate::http::client::response::observer::ResponseObserver;
use crate::running::workers::deadline::Deadline;
use answer::Answer;
use buffer::Buffer;
use hyper::StatusCode;
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
    /// Whether the last request was sent to its end.
    is_sent: bool,
    /// Whether no request can follow.
    is_over: bool,
    read: u64,
    written: u64,
}

impl Connection {
    pub(crate) fn new(io: Box<dyn Io>) -> Connection {
        let buffer = Buffer::default();
        Connection { io, buffer, is_sent: true, is_over: false, read: 0, written: 0 }
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
        before(deadline, |cx| Poll::Ready(self.poll_read(cx).is_pending())).await.unwrap_or(false)
    }

    /// Sends a request and reads the whole answer. An answer that comes before the request is sent ends the
    /// connection: the rest of the request would delay the next one, and the server may never read it.
    pub(crate) async fn exchange(
        &mut self,
        request: &Outgoing<'_>,
        deadline: &mut Deadline,
        mut observer: Option<&mut ResponseObserver>,
    ) -> Result<StatusCode, Failure> {
        let mut answer = Answer::to(request.asked);
        let mut sending = Sending::new(request);
        // Nor does one follow a request that is given up.
        self.is_over = true;
        let exchanged = |cx: &mut Context<'_>| {
            self.poll_exchange(cx, &mut sending, &mut answer, observer.as_deref_mut())
        };
        let status = before(deadline, exchanged).await?;
        self.is_sent = sending.is_done();
        self.is_over = !self.is_sent
            || request.is_last
            || !answer.is_kept()
            || !self.buffer.unread().is_empty();
        status
    }

    /// When sending fails, reading goes on: a server that refuses a request often answers before it has read the body,
    /// and closes the connection.
    fn poll_exchange(
        &mut self,
        cx: &mut Context<'_>,
        sending: &mut Sending<'_>,
        answer: &mut Answer,
        observer: Option<&mut ResponseObserver>,
    ) -> Poll<Result<StatusCode, Failure>> {
        let unsent = sending.poll(&mut *self.io, &mut self.written, cx);
        match (self.poll_answer(cx, answer, unsent, observer), unsent) {
            // The server waits for the rest of the body.
            (Poll::Pending, Some(Failure::BodyFile)) => Poll::Ready(Err(Failure::BodyFile)),
            (Poll::Ready(Err(Failure::HungUp | Failure::Connection(_))), Some(unsent)) => {
                Poll::Ready(Err(unsent))
            }
            (answered, _) => answered,
        }
    }

    /// Reads the answer to a request that could not be sent to its end, if `unsent` says why.
    fn poll_answer(
        &mut self,
        cx: &mut Context<'_>,
        answer: &mut Answer,
        unsent: Option<Failure>,
        mut observer: Option<&mut ResponseObserver>,
    ) -> Poll<Result<StatusCode, Failure>> {
        loop {
            let taken = answer.take(self.buffer.unread(), observer.as_deref_mut())?;
            self.buffer.take(taken);
            let is_head_enough = observer.as_deref().is_some_and(ResponseObserver::is_head_enough);
            let status = if is_head_enough { answer.status_so_far() } else { answer.status() };
            if let Some(status) = status {
                observer.into_iter().for_each(ResponseObserver::end);
                return Poll::Ready(Ok(status));
            }
            let read = match ready!(self.poll_read(cx)) {
                Err(error) => Err(Failure::from(&error)),
                // Unless the server has closed the connection, it has reset it, and sending has reported that.
                Ok(0) => unsent.filter(|it| *it != Failure::HungUp).map_or(Ok(0), Err),
                Ok(bytes) => Ok(bytes),
            };
            if read.map_err(|failure| answer.cut_by(failure))? == 0 {
                observer.into_iter().for_each(ResponseObserver::end);
                return Poll::Ready(answer.end(self.buffer.unread()));
            }
            observer.as_deref_mut().into_iter().for_each(ResponseObserver::came);
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

    /// Of an exchange that has just ended, if the kernel stamps it. Of a request that is not sent to its end, nobody
    /// knows when it was.
    pub(crate) fn delays(&mut self) -> Option<Delays> {
        let Delays { sending, reading } = self.io.delays()?;
        Some(Delays { sending: sending.filter(|_| self.is_sent), reading })
    }

    /// Bytes read since the last time that traffic was taken.
    pub(crate) fn read(&self) -> u64 {
        self.read
    }

    /// Bytes read and written since the last time that this was asked.
    pub(crate) fn take_traffic(&mut self) -> (u64, u64) {
        (mem::take(&mut self.read), mem::take(&mut self.written))
    }
}
