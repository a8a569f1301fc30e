//! Implements HTTP/2 with hyper. A separate task runs each connection.

mod failure;
pub(crate) mod request;

use super::stream::{Counted, Io, Traffic};
use super::time_limit::before;
use crate::http::client::failure::{Failure, LONGEST_HEAD};
use crate::http::client::request::body::Flow;
use crate::http::client::response::observer::ResponseObserver;
use crate::running::workers::deadline::Deadline;
use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::pin::pin;
use std::sync::Arc;
use tokio::task::coop::consume_budget;

/// An HTTP/2 connection. Clones share it, and each clone has at most one request in flight.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    sender: SendRequest<Flow>,
    traffic: Arc<Traffic>,
}

impl Connection {
    pub(crate) async fn open(io: Box<dyn Io>) -> Result<Connection, Failure> {
        let traffic = Arc::<Traffic>::default();
        let io = TokioIo::new(Counted::new(io, Arc::clone(&traffic)));
        let mut builder = Builder::new(TokioExecutor::new());
        builder.max_header_list_size(u32::try_from(LONGEST_HEAD).unwrap_or(u32::MAX));
        // By default, the client ends a connection with all its requests after it has reset 1024 streams, for example
        // because responses came after their timeouts.
        builder.max_local_error_reset_streams(None);
        let (sender, driver) = builder.handshake(io).await.map_err(of)?;
        // The error that ends the connection is also returned to each request in flight, so it is dropped here.
        tokio::spawn(async { drop(driver.await) });
        Ok(Connection { sender, traffic })
    }

    pub(crate) fn is_over(&self) -> bool {
        self.sender.is_closed() || self.traffic.is_broken()
    }

    pub(crate) async fn is_ready(&mut self, deadline: &mut Deadline) -> bool {
        if self.is_over() {
            return false;
        }
        let mut ready = pin!(self.sender.ready());
        matches!(before(deadline, |cx| ready.as_mut().poll(cx)).await, Ok(Ok(())))
    }

    pub(crate) async fn exchange(
        &mut self,
        request: Request<Flow>,
        deadline: &mut Deadline,
        mut observer: Option<&mut ResponseObserver>,
    ) -> Result<StatusCode, Failure> {
        let mut answer = pin!(self.sender.try_send_request(request));
        let answer = before(deadline, |cx| answer.as_mut().poll(cx)).await?.map_err(of)?;
        self.traffic.carry();
        if let Some(observer) = observer.as_deref_mut() {
            observer.came();
            observer.headers(answer.headers());
            if observer.is_head_enough() {
                return Ok(answer.status());
            }
        }
        whole(answer, deadline, observer).await
    }

    pub(crate) fn has_carried(&self) -> bool {
        self.traffic.has_carried()
    }

    pub(crate) fn reads(&self) -> u64 {
        self.traffic.reads()
    }

    pub(crate) fn take_traffic(&self) -> (u64, u64) {
        self.traffic.take()
    }
}

async fn whole(
    mut answer: Response<Incoming>,
    deadline: &mut Deadline,
    mut observer: Option<&mut ResponseObserver>,
) -> Result<StatusCode, Failure> {
    while !answer.body().is_end_stream() {
        let frame = {
            let mut frame = pin!(next_frame(answer.body_mut()));
            before(deadline, |cx| frame.as_mut().poll(cx)).await?
        };
        match frame {
            Some(frame) => {
                let frame = frame.map_err(|error| of(error).after(answer.status()))?;
                if let (Some(observer), Some(content)) = (observer.as_deref_mut(), frame.data_ref())
                {
                    observer.came();
                    observer.observe_body(content);
                }
            }
            // If the server resets a stream with the error code NO_ERROR (0), hyper ends the body as if it were
            // complete, but it is not.
            None if !answer.body().is_end_stream() => return Err(Failure::Reset(0)),
            None => break,
        }
    }
    observer.into_iter().for_each(ResponseObserver::end);
    Ok(answer.status())
}

/// Yields to other tasks from time to time, because a body may be endless.
async fn next_frame(body: &mut Incoming) -> Option<hyper::Result<Frame<Bytes>>> {
    consume_budget().await;
    body.frame().await
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` passes errors by value")]
fn of<E>(error: E) -> Failure
where
    for<'a> Failure: From<&'a E>,
{
    Failure::from(&error)
}
