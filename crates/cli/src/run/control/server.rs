//! The connections of the control server. None can hold up the others for long, or the run's end.

use super::desk::Desk;
use super::seats::{Seat, Seats};
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

/// How long a client may be silent before or in the head of a request.
const PATIENCE: Duration = Duration::from_secs(5);

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
    let mut seats = Seats::default();
    let for_each = is_over.clone();
    select! {
        () = accept(&listener, &desk, &for_each, &mut seats) => {}
        // An error means that nobody is there to say it.
        _ = is_over.wait_for(|&over| over) => {}
    }
    let _ = timeout(FAREWELL, seats.leave()).await;
}

/// Accepts whoever comes.
async fn accept(
    listener: &TcpListener,
    desk: &Arc<Desk>,
    is_over: &watch::Receiver<bool>,
    seats: &mut Seats,
) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(RESPITE).await;
            continue;
        };
        seats.give(|seat| converse(stream, Arc::clone(desk), is_over.clone(), seat)).await;
        // What has arrived is read before others may take the seat.
        yield_now().await;
    }
}

/// Answers one client, until it goes or the run is over.
async fn converse(
    stream: TcpStream,
    desk: Arc<Desk>,
    mut is_over: watch::Receiver<bool>,
    seat: Seat,
) {
    let service = service_fn(|request| {
        let (desk, seat) = (Arc::clone(&desk), seat.clone());
        async move {
            seat.heard();
            let asked = desk.hear(request).await;
            Ok::<_, Infallible>(seat.wait_for(desk.answer(asked)).await)
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
