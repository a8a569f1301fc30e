//! The connections of the control server. None can hold up the others for long, or the run's end.

use super::desk::Desk;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::select;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};

/// As many at once; others wait until they are accepted.
const CONNECTIONS: u32 = 64;

/// How long a client may be silent before or in the head of a request.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long a connection may last: a client that reads no answers is not told from others.
const LONGEST: Duration = Duration::from_secs(300);

/// How long answers may take once the run is over.
const FAREWELL: Duration = Duration::from_millis(250);

/// How long to wait when a connection can't be accepted.
const RESPITE: Duration = Duration::from_millis(10);

/// The longest head of a request, in bytes.
const HEAD: usize = 16 * 1024;

/// Serves until the run is over.
pub(super) async fn serve(
    listener: TcpListener,
    desk: Arc<Desk>,
    mut is_over: watch::Receiver<bool>,
) {
    let room = Arc::new(Semaphore::new(CONNECTIONS as usize));
    let for_each = is_over.clone();
    let accepting = async {
        loop {
            if let Some((stream, place)) = accept(&listener, &room).await {
                tokio::spawn(converse(stream, Arc::clone(&desk), for_each.clone(), place));
            }
        }
    };
    select! {
        () = accepting => {}
        // An error means that nobody is there to say it.
        _ = is_over.wait_for(|&over| over) => {}
    }
    let _ = timeout(FAREWELL, room.acquire_many(CONNECTIONS)).await;
}

async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    let place = Arc::clone(room).acquire_owned().await.ok()?;
    if let Ok((stream, _)) = listener.accept().await {
        return Some((stream, place));
    }
    sleep(RESPITE).await;
    None
}

/// Answers one client, until it goes, has been here too long, or the run is over.
async fn converse(
    stream: TcpStream,
    desk: Arc<Desk>,
    mut is_over: watch::Receiver<bool>,
    _place: OwnedSemaphorePermit,
) {
    let service = service_fn(|request| {
        let desk = Arc::clone(&desk);
        async move { Ok::<_, Infallible>(desk.answer(request).await) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_buf_size(HEAD).half_close(true);
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
    select! {
        _ = connection.as_mut() => return,
        _ = is_over.wait_for(|&over| over) => {}
        () = sleep(LONGEST) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = timeout(PATIENCE, connection).await;
}
