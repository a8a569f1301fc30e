//! The embedded HTTP target: a server to load on a machine that has no other.
//!
//! Each connection has its own thread and runtime. So an answer can simply sleep for its latency,
//! which is exact to about 50 us. The timers of a shared runtime would round it up to milliseconds.

pub(crate) mod stall;

use anyhow::Context;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use stall::Stall;
use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

/// How the target answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Behaviour {
    /// How long each answer takes.
    pub(crate) latency: Duration,
    /// The planned outage, if any.
    pub(crate) stall: Option<Stall>,
}

/// A running target. It serves until the process ends.
#[derive(Debug)]
pub(crate) struct Target {
    address: SocketAddr,
    schedule_start: Arc<OnceLock<Instant>>,
}

impl Target {
    /// Starts a target on a free loopback port.
    pub(crate) fn start(behaviour: Behaviour) -> anyhow::Result<Target> {
        let listener =
            TcpListener::bind(("127.0.0.1", 0)).context("cannot open a loopback port")?;
        let address = listener.local_addr()?;
        let schedule_start = Arc::new(OnceLock::new());
        let responder = Responder { behaviour, schedule_start: Arc::clone(&schedule_start) };
        thread::Builder::new()
            .name("target".to_owned())
            .spawn(move || accept(&listener, &responder))?;
        Ok(Target { address, schedule_start })
    }

    /// Where requests go.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Tells the target that the schedule starts now: a planned stall counts from here.
    pub(crate) fn schedule_starts(&self) {
        // Only the first start counts: a second one would move a stall that may have begun.
        let _ = self.schedule_start.set(Instant::now());
    }
}

/// What a connection needs to answer.
#[derive(Clone)]
struct Responder {
    behaviour: Behaviour,
    schedule_start: Arc<OnceLock<Instant>>,
}

impl Responder {
    fn answer(&self) -> Response<Full<Bytes>> {
        thread::sleep(self.behaviour.latency);
        thread::sleep(self.held_back());
        Response::new(Full::new(Bytes::from_static(b"ok\n")))
    }

    fn held_back(&self) -> Duration {
        match (self.behaviour.stall, self.schedule_start.get()) {
            (Some(stall), Some(start)) => stall.hold(start.elapsed()),
            _ => Duration::ZERO,
        }
    }
}

fn accept(listener: &TcpListener, responder: &Responder) {
    for stream in listener.incoming().flatten() {
        let responder = responder.clone();
        // If no thread can be started, the connection is dropped, and the client counts a failure.
        let _ = thread::Builder::new()
            .name("connection".to_owned())
            .spawn(move || serve(stream, &responder));
    }
}

/// Serves one connection. An error ends it, and the client notices.
fn serve(stream: TcpStream, responder: &Responder) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else {
        return;
    };
    runtime.block_on(async {
        if let Ok(stream) = nonblocking(stream) {
            let service = service_fn(|_: Request<Incoming>| async {
                Ok::<_, Infallible>(responder.answer())
            });
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        }
    });
}

fn nonblocking(stream: TcpStream) -> std::io::Result<tokio::net::TcpStream> {
    stream.set_nonblocking(true)?;
    stream.set_nodelay(true)?;
    tokio::net::TcpStream::from_std(stream)
}
