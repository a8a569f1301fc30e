//! Tests how HTTP/2 connections end, and how their requests end then.

use super::frames::{DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, SETTINGS, frame};
use super::{block_on, plan};
use crate::http::client::failure::Failure;
use crate::http::client::plan::{Memory, Plan};
use crate::http::client::transport::http2::Connection;
use crate::http::client::transport::stream::Io;
use crate::running::workers::deadline::Deadline;
use hyper::StatusCode;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::select;
use tokio::task::yield_now;

/// The entry 8 of the static table of HPACK, `:status: 200`.
const STATUS_200: &[u8] = b"\x88";

/// Lets all other tasks run until they wait.
async fn others() {
    for _ in 0..30 {
        yield_now().await;
    }
}

fn plan_of(options: &[&str]) -> Arc<Plan> {
    plan("http://127.0.0.1:1/", &[&["--http2"], options].concat(), Duration::MAX).unwrap()
}

async fn exchange(connection: &mut Connection, plan: &Plan) -> Result<StatusCode, Failure> {
    let request = plan.http2(plan.of_slot(0), &mut Memory::new())?;
    connection.exchange(request, &mut Deadline::new(Duration::from_secs(60)), None).await
}

#[test]
fn a_request_that_waits_for_a_stream_is_not_taken_if_the_connection_ends() {
    let plan = plan_of(&[]);
    let goaway = frame(GOAWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0]);
    let answer = frame(HEADERS, END_HEADERS | END_STREAM, 1, STATUS_200);
    for (end, first) in [
        (vec![goaway.clone(), answer.clone()], Ok(StatusCode::OK)),
        (vec![answer, goaway], Ok(StatusCode::OK)),
        (vec![], Err(Failure::HungUp)),
    ] {
        block_on(async {
            let (client, mut server) = tokio::io::duplex(1 << 16);
            // MAX_CONCURRENT_STREAMS (3) is 1.
            server.write_all(&frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 1])).await.unwrap();
            let mut connection = Connection::open(Box::new(client)).await.unwrap();
            others().await;
            let [mut one, mut other] = [(); 2].map(|()| connection.clone());
            let ended = async {
                others().await;
                server.write_all(&end.concat()).await.unwrap();
                drop(server);
            };
            let both =
                async { tokio::join!(exchange(&mut one, &plan), exchange(&mut other, &plan)) };
            let ((one, other), ()) = tokio::join!(both, ended);
            assert_eq!((one, other), (first, Err(Failure::NotTaken)), "{end:?}");
            assert_eq!(exchange(&mut connection, &plan).await, Err(Failure::NotTaken));
        });
    }
}

#[test]
fn malformed_responses_do_not_end_the_connection() {
    let plan = plan_of(&[]);
    block_on(async {
        let (client, mut server) = tokio::io::duplex(1 << 20);
        server.write_all(&frame(SETTINGS, 0, 0, &[])).await.unwrap();
        let mut connection = Connection::open(Box::new(client)).await.unwrap();
        // The HPACK literal says `content-length: 5`, but there is no body.
        let malformed = [STATUS_200, b"\x0f\x0d\x015"].concat();
        for number in 0..1_100 {
            let answer = frame(HEADERS, END_HEADERS | END_STREAM, 2 * number + 1, &malformed);
            let answered = async {
                others().await;
                server.write_all(&answer).await.unwrap();
            };
            let (status, ()) = tokio::join!(exchange(&mut connection, &plan), answered);
            assert_eq!(status, Err(Failure::Unreadable), "{number}");
            assert!(!connection.is_over(), "{number}");
        }
    });
}

#[test]
fn the_failure_for_many_empty_frames_names_them() {
    let plan = plan_of(&[]);
    block_on(async {
        let (client, mut server) = tokio::io::duplex(1 << 16);
        let mut answer = frame(SETTINGS, 0, 0, &[]);
        let mut connection = Connection::open(Box::new(client)).await.unwrap();
        answer.extend(frame(HEADERS, END_HEADERS, 1, STATUS_200));
        answer.extend(frame(DATA, 0, 1, b"").repeat(101));
        let answered = async {
            others().await;
            server.write_all(&answer).await.unwrap();
        };
        let (status, ()) = tokio::join!(exchange(&mut connection, &plan), answered);
        assert!(status.unwrap_err().to_string().contains("too many small frames"));
    });
}

/// A stream whose peer reads the first bytes, and then neither reads nor writes.
struct Deaf {
    takes: usize,
    _is_open: Arc<()>,
}

impl Io for Deaf {}

impl AsyncRead for Deaf {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        _: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Poll::Pending
    }
}

impl AsyncWrite for Deaf {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let taken = self.takes.min(buf.len());
        self.takes -= taken;
        if taken > 0 { Poll::Ready(Ok(taken)) } else { Poll::Pending }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// With TLS, the end of the stream is announced by a message, which has to be written too.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.takes > 0 { Poll::Ready(Ok(())) } else { Poll::Pending }
    }
}

#[test]
fn a_connection_that_is_given_up_is_closed_even_if_the_server_does_not_read() {
    let plan = plan_of(&["-d", &"x".repeat(60_000)]);
    for takes in [100, 1_000, 30_000, 100_000] {
        block_on(async {
            let open = Arc::new(());
            let is_open: Weak<()> = Arc::downgrade(&open);
            let io = Deaf { takes, _is_open: open };
            let mut connection = Connection::open(Box::new(io)).await.unwrap();
            select! {
                biased;
                status = exchange(&mut connection, &plan) => panic!("{status:?}"),
                () = others() => {}
            }
            assert!(is_open.upgrade().is_some(), "{takes}");
            drop(connection);
            others().await;
            assert!(is_open.upgrade().is_none(), "{takes}");
        });
    }
}
