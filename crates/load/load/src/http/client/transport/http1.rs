//! Implements HTTP/1.1 (RFC 9112). A request is sent with one write if possible, and memory is reused.

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
use buffer::{Buffer, with_memory};
use hyper::StatusCode;
use request::Outgoing;
use sending::Sending;
use std::future::poll_fn;
use std::io;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::ReadBuf;
use tokio::task::coop::has_budget_remaining;
use tokio::task::yield_now;

pub(crate) struct Connection {
    io: Box<dyn Io>,
    buffer: Buffer,
    is_sent: bool,
    is_over: bool,
    read: u64,
    written: u64,
}

impl Connection {
    pub(crate) fn new(io: Box<dyn Io>) -> Connection {
        Connection {
            io,
            buffer: Buffer::default(),
            is_sent: true,
            is_over: false,
            read: 0,
            written: 0,
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns whether a request may be sent. The result is `false` if the server has closed the connection, or has
    /// sent unsolicited bytes, which the client would parse as the next response.
    pub(crate) async fn is_ready(&mut self) -> bool {
        // A task that has used up its cooperative budget would not notice that the connection is readable.
        if !has_budget_remaining() {
            yield_now().await;
        }
        let mut poll = |cx: &mut Context<'_>| {
            with_memory(|memory| self.io.poll_unasked(cx, &mut ReadBuf::new(memory)).is_pending())
        };
        poll_fn(|cx| Poll::Ready(poll(cx))).await
    }

    /// Sends a request and reads its response. If the response ends before the whole request was sent, the connection
    /// is over, because the server may never read the rest of the request.
    pub(crate) async fn exchange(
        &mut self,
        request: &Outgoing<'_>,
        deadline: &mut Deadline,
        mut observer: Option<&mut ResponseObserver>,
    ) -> Result<StatusCode, Failure> {
        let mut answer = Answer::to(request.asked);
        let mut sending = Sending::new(request);
        // If the request is given up, the connection stays marked as over.
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

    /// Sends and reads as many bytes as possible without waiting. Reading continues after a write has failed, because a
    /// server that rejects a request often responds, and closes the connection before it has read the body.
    fn poll_exchange(
        &mut self,
        cx: &mut Context<'_>,
        sending: &mut Sending<'_>,
        answer: &mut Answer,
        observer: Option<&mut ResponseObserver>,
    ) -> Poll<Result<StatusCode, Failure>> {
        let unsent = sending.poll(&mut *self.io, &mut self.written, cx);
        match (self.poll_answer(cx, answer, unsent, observer), unsent) {
            // The rest of the body cannot be read from its file, and the server would wait for it.
            (Poll::Pending, Some(Failure::BodyFile)) => Poll::Ready(Err(Failure::BodyFile)),
            (Poll::Ready(Err(Failure::HungUp | Failure::Connection(_))), Some(unsent)) => {
                Poll::Ready(Err(unsent))
            }
            (answered, _) => answered,
        }
    }

    fn poll_answer(
        &mut self,
        cx: &mut Context<'_>,
        answer: &mut Answer,
        unsent: Option<Failure>,
        mut observer: Option<&mut ResponseObserver>,
    ) -> Poll<Result<StatusCode, Failure>> {
        loop {
            let read = match ready!(self.poll_read(cx, answer, observer.as_deref_mut()))? {
                Err(error) => Err(Failure::from(&error)),
                // After a reset, the write reports the failure, and a read reports only the end of the stream.
                Ok(0) => unsent.filter(|it| *it != Failure::HungUp).map_or(Ok(0), Err),
                Ok(bytes) => Ok(bytes),
            };
            if read.map_err(|failure| answer.cut_by(failure))? == 0 {
                observer.into_iter().for_each(ResponseObserver::end);
                return Poll::Ready(answer.end(self.buffer.unread()));
            }
            let is_head_enough = observer.as_deref().is_some_and(ResponseObserver::is_head_enough);
            let status = if is_head_enough { answer.status_so_far() } else { answer.status() };
            if let Some(status) = status {
                observer.into_iter().for_each(ResponseObserver::end);
                return Poll::Ready(Ok(status));
            }
        }
    }

    /// Reads once, and passes the bytes to the parser. Returns the number of bytes.
    fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        answer: &mut Answer,
        mut observer: Option<&mut ResponseObserver>,
    ) -> Poll<Result<io::Result<usize>, Failure>> {
        let Connection { io, buffer, read, .. } = self;
        with_memory(|memory| {
            let mut room = ReadBuf::new(memory);
            if let Err(error) = ready!(Pin::new(&mut **io).poll_read(cx, &mut room)) {
                return Poll::Ready(Ok(Err(error)));
            }
            let bytes = room.filled();
            *read += bytes.len() as u64;
            charge(bytes.len(), cx);
            if !bytes.is_empty() {
                observer.as_deref_mut().into_iter().for_each(ResponseObserver::came);
                buffer.parse(bytes, |bytes| answer.take(bytes, observer))?;
            }
            Poll::Ready(Ok(Ok(bytes.len())))
        })
    }

    /// Returns the delays of the last exchange. If the response ended before the whole request was sent, the send time
    /// is unknown.
    pub(crate) fn delays(&mut self) -> Option<Delays> {
        let Delays { sending, reading } = self.io.delays()?;
        Some(Delays { sending: sending.filter(|_| self.is_sent), reading })
    }

    pub(crate) fn read(&self) -> u64 {
        self.read
    }

    pub(crate) fn take_traffic(&mut self) -> (u64, u64) {
        (mem::take(&mut self.read), mem::take(&mut self.written))
    }
}
