//! Serves HTTP/1.1, and records when each request arrives. If the kernel provides timestamps, the recorded time is the
//! time at which the kernel received the last byte of the read that completes the head of the request.

use super::recorder::Recorder;
use crate::console::Progress;
use crate::console::panics::locked;
use crate::http::client::transport::stamped_stream;
use crate::load::shortage::Shortage;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use std::io;
use std::net::SocketAddr;
use std::num::NonZero;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::thread;
use std::time::Duration;
use tokio::io::{AsyncRead, ReadBuf, join};
use tokio::net::tcp::OwnedReadHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::time::sleep;

/// The pause after a failed attempt to accept a connection.
const RESPITE: Duration = Duration::from_millis(10);

/// Starts the server. It has one thread per two cores, so that half of the cores are left to the load generator.
pub(crate) fn start(address: SocketAddr, recorder: Arc<Recorder>) -> io::Result<SocketAddr> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let mut runtime = Builder::new_multi_thread();
    let runtime = runtime.worker_threads((cores / 2).max(1)).enable_all().build()?;
    let listener = runtime.block_on(TcpListener::bind(address))?;
    stamped_stream::stamp_received(&listener);
    let address = listener.local_addr()?;
    runtime.spawn(accept(listener, recorder));
    // Dropping the runtime would stop the server.
    std::mem::forget(runtime);
    Ok(address)
}

async fn accept(listener: TcpListener, recorder: Arc<Recorder>) {
    let mut is_reported = false;
    loop {
        match listener.accept().await {
            Ok((tcp, _)) => drop(tokio::spawn(serve(tcp, Arc::clone(&recorder)))),
            Err(error) => {
                if let Some(shortage) = Shortage::of(&error).filter(|_| !is_reported) {
                    is_reported = true;
                    report(shortage);
                }
                sleep(RESPITE).await;
            }
        }
    }
}

fn report(shortage: Shortage) {
    let text = format!("{shortage}: new connections have to wait; {}", shortage.advice());
    Progress::of_a_job().tell(&text);
}

async fn serve(tcp: TcpStream, recorder: Arc<Recorder>) {
    // If this fails, the server still works, but responses may be delayed.
    let _ = tcp.set_nodelay(true);
    let (tcp, writer) = tcp.into_split();
    let last = Arc::<Mutex<LastRead>>::default();
    let reader = Reader { tcp, beside: stamped_stream::room(), last: Arc::clone(&last) };
    let service = service_fn(|request| {
        let mut last = locked(&last);
        recorder.record(last.received, last.has_request);
        last.has_request = true;
        respond(request)
    });
    let stream = TokioIo::new(join(reader, writer));
    let _ = http1::Builder::new().serve_connection(stream, service).await;
}

async fn respond(request: Request<Incoming>) -> hyper::Result<Response<Full<Bytes>>> {
    let mut body = request.into_body();
    while let Some(frame) = body.frame().await {
        drop(frame?);
    }
    Ok(Response::new(Full::new(Bytes::from_static(b"ok\n"))))
}

#[derive(Default)]
struct LastRead {
    /// The time at which the kernel received the last byte of the read.
    received: Option<Duration>,
    /// Whether the head of a request has ended in the bytes of the read.
    has_request: bool,
}

struct Reader {
    tcp: OwnedReadHalf,
    beside: Vec<u8>,
    last: Arc<Mutex<LastRead>>,
}

impl AsyncRead for Reader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let received =
            ready!(stamped_stream::poll_read(this.tcp.as_ref(), cx, buf, &mut this.beside))?;
        let last = LastRead { received, has_request: false };
        *locked(&this.last) = last;
        Poll::Ready(Ok(()))
    }
}
