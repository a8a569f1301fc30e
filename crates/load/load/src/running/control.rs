//! Serves the state of a run and accepts commands over HTTP/1.1.
//!
//! | | |
//! |---|---|
//! | `GET /status` | the state of the run, as JSON |
//! | `GET /metrics` | the state as metrics: `OpenMetrics` if the client prefers it, otherwise plain text |
//! | `PUT /rate` | the body is a rate, as for `--rate` |
//! | `PUT /shape` | the body is a shape, as for `--shape`, but not a file |
//! | `POST /pause`, `POST /resume` | |
//! | `POST /stop` | ends the schedule; a second time, gives up outstanding responses; a node of a fleet first leaves |
//!
//! If the run has several loads, a command with `?load=NAME` is for one of them, and a rate or a shape needs the name.
//! If the run has two sides, a rate or a shape is for both sides together and accepts no name.
//!
//! Commands return the new state, as `/status` does. A rejected request has no effect, but a run may carry out a
//! command after it was answered with 503.

pub(crate) mod args;
mod connections;
mod guard;
mod handlers;
mod responses;
mod server;
mod state;

use super::message::Message;
use super::observed::Observed;
use anyhow::Context;
use args::ControlArgs;
use guard::{Guard, Token};
use handlers::Handlers;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

/// A listener that clients can connect to before the server starts. They get responses after it has started.
#[derive(Debug)]
pub(crate) struct ControlListener {
    listener: TcpListener,
    address: SocketAddr,
    token: Option<Token>,
}

impl ControlListener {
    pub(crate) fn open(args: &ControlArgs) -> anyhow::Result<Option<ControlListener>> {
        let Some(address) = args.control else { return Ok(None) };
        let token = args.token()?;
        let listener = TcpListener::bind(address)
            .with_context(|| format!("--control {address}: cannot listen on this address"))?;
        listener.set_nonblocking(true)?;
        Ok(Some(ControlListener { address: listener.local_addr()?, listener, token }))
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

#[derive(Debug)]
pub(crate) struct Control {
    over: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Control {
    pub(crate) fn start(
        control_listener: &ControlListener,
        loads: Vec<Observed>,
        is_versus: bool,
        messages: Sender<Message>,
    ) -> anyhow::Result<Control> {
        let guard = Guard { token: control_listener.token.clone() };
        let control = control_listener.url();
        let handlers = Arc::new(Handlers { loads, is_versus, control, guard, messages });
        let listener = control_listener.listener.try_clone()?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (over, is_over) = watch::channel(false);
        let answer = move || answer(&runtime, listener, handlers, is_over);
        let thread = thread::Builder::new().name("control".to_owned()).spawn(answer)?;
        Ok(Control { over, thread: Some(thread) })
    }
}

fn answer(
    runtime: &Runtime,
    listener: TcpListener,
    handlers: Arc<Handlers>,
    is_over: watch::Receiver<bool>,
) {
    runtime.block_on(async {
        // The socket already listens, so this fails only if Tokio runtimes do not work at all.
        if let Ok(listener) = tokio::net::TcpListener::from_std(listener) {
            server::serve(listener, handlers, is_over).await;
        }
    });
}

impl Drop for Control {
    fn drop(&mut self) {
        self.over.send_replace(true);
        // A server that panicked has already printed its message.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
