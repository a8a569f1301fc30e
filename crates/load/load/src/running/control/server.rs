//! Serves the connections of the control server. No connection can block other connections, or delay the end of the
//! run, for long.

use super::connections::{Connection, Connections};
use super::handlers::Handlers;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::select;
use tokio::sync::watch;
use tokio::task::yield_now;
use tokio::time::{sleep, timeout};

/// The time in which a complete request head must arrive.
const PATIENCE: Duration = Duration::from_secs(5);

/// The maximum time that responses may take after the end of the run.
const FAREWELL: Duration = Duration::from_millis(250);

const RESPITE: Duration = Duration::from_millis(10);

/// The maximum length of a request head, in bytes.
const HEAD: usize = 16 * 1024;

pub(super) async fn serve(
    listener: TcpListener,
    handlers: Arc<Handlers>,
    mut is_over: watch::Receiver<bool>,
) {
    let mut connections = Connections::default();
    let for_each = is_over.clone();
    select! {
        () = accept(&listener, &handlers, &for_each, &mut connections) => {}
        // An error means that the run has ended.
        _ = is_over.wait_for(|&over| over) => {}
    }
    let _ = timeout(FAREWELL, connections.leave()).await;
}

async fn accept(
    listener: &TcpListener,
    handlers: &Arc<Handlers>,
    is_over: &watch::Receiver<bool>,
    connections: &mut Connections,
) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(RESPITE).await;
            continue;
        };
        connections
            .give(|connection| converse(stream, Arc::clone(handlers), is_over.clone(), connection))
            .await;
        // This gives the new task time to read a request that has already arrived. Otherwise, its connection would
        // count as silent, and might be closed to make room for another connection.
        yield_now().await;
    }
}

async fn converse(
    stream: TcpStream,
    handlers: Arc<Handlers>,
    mut is_over: watch::Receiver<bool>,
    connection: Connection,
) {
    let service = service_fn(|request| {
        let (handlers, connection) = (Arc::clone(&handlers), connection.clone());
        async move {
            connection.heard();
            // If a client sends many requests at once, other clients get a turn before each of its requests.
            yield_now().await;
            let asked = handlers.hear(request).await;
            Ok::<_, Infallible>(connection.wait_for(handlers.answer(asked)).await)
        }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_buf_size(HEAD).half_close(true);
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
    select! {
        _ = connection.as_mut() => return,
        _ = is_over.wait_for(|&over| over) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = timeout(PATIENCE, connection).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::running::control::guard::Guard;
    use crate::running::observed::Observed;
    use std::sync::mpsc;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    const REQUEST: &str = "GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n";

    async fn client(listener: &TcpListener, sent: &str) -> (TcpStream, TcpStream) {
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        stream.write_all(sent.as_bytes()).await.unwrap();
        (stream, listener.accept().await.unwrap().0)
    }

    #[tokio::test]
    async fn a_client_with_many_requests_waits_for_the_others() {
        const MANY: usize = 300;
        let (_watch, observed) = Observed::new(None, "url".to_owned());
        let guard = Guard { token: None };
        let loads = vec![observed];
        let (control, messages) = ("here".to_owned(), mpsc::channel().0);
        let handlers = Arc::new(Handlers { loads, is_versus: false, control, guard, messages });
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let (mut greedy, first) = client(&listener, &REQUEST.repeat(MANY)).await;
        let (mut modest, second) = client(&listener, REQUEST).await;
        let (_over, is_over) = watch::channel(false);
        let mut connections = Connections::default();
        for stream in [first, second] {
            connections
                .give(|connection| {
                    converse(stream, Arc::clone(&handlers), is_over.clone(), connection)
                })
                .await;
        }
        let mut answer = [0; 1000];
        assert!(modest.read(&mut answer).await.unwrap() > 0);
        let mut answers = vec![0; 1 << 20];
        let length = greedy.read(&mut answers).await.unwrap();
        let count = String::from_utf8_lossy(&answers[..length]).matches("HTTP/1.1").count();
        assert!(count < MANY / 10, "{count}");
    }
}
