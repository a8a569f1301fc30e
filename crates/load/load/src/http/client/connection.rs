//! Opens HTTP/1.1 and HTTP/2 connections, and sends requests on them.

use super::failure::Failure;
use super::plan::{Memory, Plan, Prepared};
use super::response::observer::ResponseObserver;
use super::transport::pool::SharedConnection;
use super::transport::stream::{Delays, Io};
use super::transport::{http1, http2, proxy};
use crate::load::details::SetUp;
use crate::net::tls;
use crate::net::trust::Tls;
use crate::running::workers::deadline::Deadline;
use hyper::StatusCode;
use std::sync::Arc;
use std::time::Instant;
use tokio::time::timeout;

pub(crate) enum Connection {
    Http1(http1::Connection),
    Http2 { connection: http2::Connection, place: Option<Arc<SharedConnection>> },
}

impl Connection {
    pub(crate) async fn open(
        plan: &Plan,
        endpoint: usize,
    ) -> Result<(Connection, Option<SetUp>), Failure> {
        let opening = async {
            let Some(pool) = &plan.pool else {
                let (io, set_up) = Connection::stream(plan, endpoint).await?;
                let connection = if plan.http2 {
                    let connection = http2::Connection::open(io).await?;
                    Connection::Http2 { connection, place: None }
                } else {
                    Connection::Http1(http1::Connection::new(io))
                };
                return Ok((connection, Some(set_up)));
            };
            let (shared, mut opened) = (pool.join(endpoint), None);
            let open = async {
                let (io, set_up) = Connection::stream(plan, endpoint).await?;
                opened = Some(set_up);
                http2::Connection::open(io).await
            };
            let connection = shared.0.get_or_try_init(|| open).await.cloned()?;
            Ok((Connection::Http2 { connection, place: Some(shared) }, opened))
        };
        timeout(plan.connect_timeout, opening).await.unwrap_or(Err(Failure::ConnectTimeout))
    }

    async fn stream(plan: &Plan, endpoint: usize) -> Result<(Box<dyn Io>, SetUp), Failure> {
        let endpoint = &plan.endpoints[endpoint];
        let begin = Instant::now();
        let mut io = endpoint.connect(plan.connect_timeout).await?;
        if let Some(request) = &endpoint.tunnel {
            proxy::open(&mut *io, request).await?;
        }
        let connect = begin.elapsed();
        let (io, tls) = match (&endpoint.tls_name, &plan.tls) {
            (Some(name), Some(connector)) => {
                let io = shake_hands(connector, name, io, plan.http2).await?;
                (io, Some(begin.elapsed().saturating_sub(connect)))
            }
            _ => (io, None),
        };
        Ok((io, SetUp { connect, tls }))
    }

    /// Returns whether the connection is known to be over. If the server has closed the connection, but no read or
    /// write has shown it yet, the result is `false`.
    pub(crate) fn is_over(&self) -> bool {
        match self {
            Connection::Http1(connection) => connection.is_over(),
            Connection::Http2 { connection, .. } => connection.is_over(),
        }
    }

    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Connection::Http2 { place: Some(_), .. })
    }

    /// Returns whether a session that shares the connection has received a response on it.
    pub(crate) fn has_carried(&self) -> bool {
        match self {
            Connection::Http1(_) => false,
            Connection::Http2 { connection, .. } => connection.has_carried(),
        }
    }

    /// Returns a counter that grows with each read from the connection, including the reads of other sessions that
    /// share it.
    pub(crate) fn reads(&self) -> u64 {
        match self {
            Connection::Http1(connection) => connection.read(),
            Connection::Http2 { connection, .. } => connection.reads(),
        }
    }

    pub(crate) async fn is_ready(&mut self, deadline: &mut Deadline) -> bool {
        match self {
            Connection::Http1(connection) => connection.is_ready().await,
            Connection::Http2 { connection, .. } => connection.is_ready(deadline).await,
        }
    }

    pub(crate) async fn exchange(
        &mut self,
        plan: &Plan,
        request: Prepared,
        memory: &mut Memory,
        deadline: &mut Deadline,
        observer: Option<&mut ResponseObserver>,
    ) -> Result<StatusCode, Failure> {
        match self {
            Connection::Http1(connection) => {
                connection.exchange(&plan.text(request, memory), deadline, observer).await
            }
            Connection::Http2 { connection, .. } => {
                let request = plan.http2(request, memory)?;
                // The future is boxed, because the future of an HTTP/1.1 call is moved as a whole before it begins.
                Box::pin(connection.exchange(request, deadline, observer)).await
            }
        }
    }

    pub(crate) fn delays(&mut self) -> Option<Delays> {
        match self {
            Connection::Http1(connection) => connection.delays(),
            Connection::Http2 { .. } => None,
        }
    }

    pub(crate) fn take_traffic(&mut self) -> (u64, u64) {
        match self {
            Connection::Http1(connection) => connection.take_traffic(),
            Connection::Http2 { connection, .. } => connection.take_traffic(),
        }
    }
}

async fn shake_hands(
    connector: &tls::Connector,
    name: &tls::Name,
    io: Box<dyn Io>,
    http2: bool,
) -> Result<Box<dyn Io>, Failure> {
    let stream = connector.connect(name, io).await;
    let stream = stream
        .map_err(|error| tls::reason(&error).map_or_else(|| Failure::from(&error), Failure::Tls))?;
    // If the server ignores the ALPN offer, it speaks HTTP/1.1.
    if http2 && !tls::speaks_http2(&stream) {
        return Err(Failure::Tls(Tls::NoHttp2));
    }
    Ok(Box::new(stream))
}
