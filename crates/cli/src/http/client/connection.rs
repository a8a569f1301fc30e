//! One connection, which carries one request after the other.

use super::failure::{Failure, Tls};
use super::plan::{Plan, Prepared};
use super::stream::{Counted, Io, Traffic};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::client::conn::{http1, http2};
use hyper::{Response, StatusCode, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use nanopace_load::load::details::SetUp;
use nanopace_load::running::workers::deadline::Deadline;
use rustls::pki_types::ServerName;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;
use tokio::task::coop::consume_budget;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// The longest head of an answer over HTTP/2, in bytes: about as much as HTTP/1.1 has room for.
const LONGEST_HEAD: u32 = 400 * 1024;

/// A connection to one of the plan's servers.
pub(crate) struct Connection {
    sender: Sender,
    traffic: Arc<Traffic>,
    /// What of the traffic has been told.
    told: (u64, u64),
}

type Driver = http1::Connection<TokioIo<Counted>, Full<Bytes>>;

enum Sender {
    /// The connection makes progress only while it is polled; none once it is closed.
    Http1(http1::SendRequest<Full<Bytes>>, Option<Box<Driver>>),
    /// The connection is a task of its own.
    Http2(http2::SendRequest<Full<Bytes>>),
}

impl Connection {
    /// Opens a connection to a server of the plan.
    pub(crate) async fn open(
        plan: &Plan,
        endpoint: usize,
        turn: usize,
    ) -> Result<(Connection, SetUp), Failure> {
        timeout(plan.connect_timeout, Connection::open_at_leisure(plan, endpoint, turn))
            .await
            .unwrap_or(Err(Failure::ConnectTimeout))
    }

    async fn open_at_leisure(
        plan: &Plan,
        endpoint: usize,
        turn: usize,
    ) -> Result<(Connection, SetUp), Failure> {
        let endpoint = &plan.endpoints[endpoint];
        let begin = Instant::now();
        let io = endpoint.connect(turn).await.map_err(|error| Failure::Connection(error.kind()))?;
        let connect = begin.elapsed();
        let (io, tls) = match (&endpoint.tls_name, &plan.tls) {
            (Some(name), Some(config)) => {
                let connector = TlsConnector::from(Arc::clone(config));
                let io = shake_hands(&connector, name, io, plan.http2).await?;
                (io, Some(begin.elapsed().saturating_sub(connect)))
            }
            _ => (io, None),
        };
        let traffic = Arc::<Traffic>::default();
        let io = TokioIo::new(Counted::new(io, Arc::clone(&traffic)));
        let sender = Sender::new(io, plan.http2).await.map_err(of)?;
        Ok((Connection { sender, traffic, told: (0, 0) }, SetUp { connect, tls }))
    }

    /// Whether a request can be sent. False when the server has closed the connection.
    pub(crate) async fn is_ready(&mut self, deadline: &mut Deadline) -> bool {
        let ready = match &mut self.sender {
            Sender::Http1(sender, driver) => {
                poll_once(driver).await;
                driven(driver, deadline, pin!(sender.ready())).await
            }
            Sender::Http2(sender) => driven(&mut None, deadline, pin!(sender.ready())).await,
        };
        matches!(ready, Ok(Ok(())))
    }

    /// Whether a request can be sent, as far as it is known without looking at the connection.
    pub(crate) fn seems_ready(&self) -> bool {
        match &self.sender {
            Sender::Http1(sender, _) => sender.is_ready(),
            Sender::Http2(sender) => sender.is_ready(),
        }
    }

    /// Sends a request and reads the whole answer.
    pub(crate) async fn exchange(
        &mut self,
        request: &Prepared<'_>,
        deadline: &mut Deadline,
    ) -> Result<StatusCode, Failure> {
        let request = request.request();
        match &mut self.sender {
            Sender::Http1(sender, driver) => {
                let answer =
                    driven(driver, deadline, pin!(sender.try_send_request(request))).await?;
                whole(answer.map_err(of)?, driver, deadline).await
            }
            Sender::Http2(sender) => {
                let answer = pin!(sender.try_send_request(request));
                let answer = driven(&mut None, deadline, answer).await?;
                whole(answer.map_err(of)?, &mut None, deadline).await
            }
        }
    }

    /// Bytes read and written since the last time that this was asked.
    pub(crate) fn traffic(&mut self) -> (u64, u64) {
        let (read, written) = self.traffic.so_far();
        let before = std::mem::replace(&mut self.told, (read, written));
        (read - before.0, written - before.1)
    }
}

impl Sender {
    async fn new(io: TokioIo<Counted>, http2: bool) -> hyper::Result<Sender> {
        if http2 {
            let mut http2 = http2::Builder::new(TokioExecutor::new());
            let (sender, driver) = http2.max_header_list_size(LONGEST_HEAD).handshake(io).await?;
            // What ends the connection is told to the request that is on it.
            tokio::spawn(async { drop(driver.await) });
            return Ok(Sender::Http2(sender));
        }
        let (sender, driver) = http1::handshake(io).await?;
        Ok(Sender::Http1(sender, Some(Box::new(driver))))
    }
}

async fn shake_hands(
    connector: &TlsConnector,
    name: &ServerName<'static>,
    io: Box<dyn Io>,
    http2: bool,
) -> Result<Box<dyn Io>, Failure> {
    let stream = connector.connect(name.clone(), io).await.map_err(|error| {
        match error.get_ref().and_then(|source| source.downcast_ref::<rustls::Error>()) {
            Some(tls) => Failure::Tls(tls.into()),
            None if error.kind() == io::ErrorKind::UnexpectedEof => Failure::HungUp,
            None => Failure::Connection(error.kind()),
        }
    })?;
    // A server that does not answer the offer speaks HTTP/1.1.
    if http2 && stream.get_ref().1.alpn_protocol() != Some(b"h2") {
        return Err(Failure::Tls(Tls::NoHttp2));
    }
    Ok(Box::new(stream))
}

/// Reads the body to its end.
async fn whole(
    mut answer: Response<Incoming>,
    driver: &mut Option<Box<Driver>>,
    deadline: &mut Deadline,
) -> Result<StatusCode, Failure> {
    while !answer.body().is_end_stream() {
        let frame = driven(driver, deadline, pin!(next_frame(answer.body_mut()))).await?;
        match frame {
            Some(frame) => drop(frame.map_err(of)?),
            // A reset without an error looks like the end of the body, which it is not.
            None if answer.version() == Version::HTTP_2 && !answer.body().is_end_stream() => {
                return Err(Failure::Reset(0));
            }
            None => break,
        }
    }
    Ok(answer.status())
}

/// The next part of a body. One that never ends takes turns with other requests.
async fn next_frame(body: &mut Incoming) -> Option<hyper::Result<Frame<Bytes>>> {
    consume_budget().await;
    body.frame().await
}

/// `future`, together with the connection that it waits for.
async fn driven<F: Future>(
    driver: &mut Option<Box<Driver>>,
    deadline: &mut Deadline,
    mut future: Pin<&mut F>,
) -> Result<F::Output, Failure> {
    poll_fn(|cx| {
        // The connection is only looked at if what is known does not do.
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(Ok(output));
        }
        poll_driver(driver, cx);
        match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Ok(output)),
            Poll::Pending => deadline.poll_passed(cx).map(|()| Err(Failure::Timeout)),
        }
    })
    .await
}

/// Lets a connection that nobody waits for notice that it is closed.
async fn poll_once(driver: &mut Option<Box<Driver>>) {
    poll_fn(|cx| {
        poll_driver(driver, cx);
        Poll::Ready(())
    })
    .await;
}

fn poll_driver(driver: &mut Option<Box<Driver>>, cx: &mut Context<'_>) {
    if driver.as_mut().is_some_and(|driver| Pin::new(driver).poll(cx).is_ready()) {
        *driver = None;
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it maps the error of a result")]
fn of<E>(error: E) -> Failure
where
    for<'a> Failure: From<&'a E>,
{
    Failure::from(&error)
}
