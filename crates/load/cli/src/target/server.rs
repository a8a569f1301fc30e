//! Accepts and serves the connections of the embedded target.
//!
//! There are no timeouts, because an endless request or a silent client costs only the memory of its connection.

use super::answer::Answerer;
use super::tls::Acceptor;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
#[cfg(feature = "http2")]
use hyper_util::{rt::TokioExecutor, server::conn::auto};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time;

/// The pause after a connection could not be accepted. Without the pause, repeated attempts would keep a core busy.
const RESPITE: Duration = Duration::from_millis(10);

pub(super) struct Server {
    tls: Option<Acceptor>,
    answerer: Arc<Answerer>,
}

impl Server {
    pub(super) fn new(tls: Option<Acceptor>, answerer: Arc<Answerer>) -> Arc<Server> {
        Arc::new(Server { tls, answerer })
    }

    pub(super) async fn accept(self: Arc<Self>, listener: TcpListener) {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    tokio::spawn(Arc::clone(&self).serve(stream));
                }
                Err(_) => time::sleep(RESPITE).await,
            }
        }
    }

    async fn serve(self: Arc<Self>, stream: TcpStream) {
        // If this fails, responses may be delayed.
        let _ = stream.set_nodelay(true);
        match &self.tls {
            None => self.converse(stream).await,
            Some(tls) => {
                if let Ok(stream) = tls.accept(stream).await {
                    self.converse(stream).await;
                }
            }
        }
    }

    /// Serves HTTP/1.1. With the feature `http2`, serves HTTP/2 to clients that begin with the HTTP/2 preface. A client
    /// that has chosen HTTP/2 through ALPN sends the preface.
    async fn converse(&self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let service = service_fn(|request| Arc::clone(&self.answerer).answer(request));
        let _ = http().serve_connection(TokioIo::new(stream), service).await;
    }
}

#[cfg(feature = "http2")]
fn http() -> auto::Builder<TokioExecutor> {
    auto::Builder::new(TokioExecutor::new())
}

#[cfg(not(feature = "http2"))]
fn http() -> hyper::server::conn::http1::Builder {
    hyper::server::conn::http1::Builder::new()
}
