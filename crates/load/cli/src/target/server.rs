//! The connections of the embedded target.
//!
//! A connection stays for as long as its client wants. Nothing times out, neither a request that
//! never ends nor a client that is silent: such a connection costs its memory and nothing else.

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

/// How long to wait when a connection can't be accepted: with too many files open, the next one
/// can't be either, and trying would keep a core busy.
const RESPITE: Duration = Duration::from_millis(10);

/// What all connections share.
pub(super) struct Server {
    tls: Option<Acceptor>,
    answerer: Arc<Answerer>,
}

impl Server {
    /// A server that speaks TLS if it is given an acceptor for it.
    pub(super) fn new(tls: Option<Acceptor>, answerer: Arc<Answerer>) -> Arc<Server> {
        Arc::new(Server { tls, answerer })
    }

    /// Accepts connections for ever.
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

    /// Serves one connection. An error ends it, and the client notices.
    async fn serve(self: Arc<Self>, stream: TcpStream) {
        // Without it answers are late, but not wrong.
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

    /// HTTP/2 if this is how the client begins, as it does where TLS has settled on it.
    async fn converse(&self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let service = service_fn(|request| Arc::clone(&self.answerer).answer(request));
        let _ = http().serve_connection(TokioIo::new(stream), service).await;
    }
}

#[cfg(feature = "http2")]
fn http() -> auto::Builder<TokioExecutor> {
    auto::Builder::new(TokioExecutor::new())
}

/// Without HTTP/2.
#[cfg(not(feature = "http2"))]
fn http() -> hyper::server::conn::http1::Builder {
    hyper::server::conn::http1::Builder::new()
}
