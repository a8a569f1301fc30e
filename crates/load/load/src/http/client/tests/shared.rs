//! Tests connections that several sessions share.

use super::{CommandLine, block_on, plan, session};
use crate::http::client::failure::Failure;
use crate::http::client::plan::Draft;
use crate::http::client::single_request;
use crate::net::trust::Trust;
use clap::Parser;
use h2::server;
use hyper::{Response, StatusCode};
use nanopace::Nanos;
use std::cell::Cell;
use std::mem;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};

/// Closes the connection when the second request for the path `/once` arrives.
async fn serve(stream: TcpStream) -> Result<(), h2::Error> {
    let mut connection = server::handshake(stream).await?;
    let (mut unanswered, mut has_answered) = (Vec::new(), false);
    while let Some(request) = connection.accept().await {
        let (request, mut answer) = request?;
        if request.uri().path() == "/never" {
            unanswered.push(answer);
        } else if request.uri().path() == "/once" && mem::replace(&mut has_answered, true) {
            break;
        } else {
            answer.send_response(Response::new(()), true)?;
        }
    }
    Ok(())
}

pub(super) fn start() -> String {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        block_on(async {
            let listener = TcpListener::from_std(listener).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream));
            }
        });
    });
    url
}

#[test]
fn a_request_that_is_given_up_leaves_the_connection_unless_that_is_silent() {
    let url = start();
    let args = CommandLine::try_parse_from(["--http2", "--streams", "2"]).unwrap().client;
    let mut draft = Draft::new(&args);
    for path in ["/", "/never"] {
        draft.add(&single_request::target(&format!("{url}{path}"), &args).unwrap()).unwrap();
    }
    let plan = Arc::new(draft.complete(Trust::Anyone, Duration::from_secs(2), 0).unwrap());
    block_on(async {
        let [mut one, mut other] = [(); 2].map(|()| session(&plan));
        one.open_all().await;
        other.open_all().await;
        let is_given_up = Cell::new(false);
        let never = async {
            let (answer, _) = one.send(1, Nanos::ZERO).await;
            assert_eq!(answer.status, Err(Failure::Timeout));
            is_given_up.set(true);
        };
        // Each response must arrive before the next request is sent, because the server treats a cancelled request as
        // an error.
        let busy = async {
            while !is_given_up.get() {
                other.send(0, Nanos::ZERO).await.0.status.unwrap();
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::join!(never, busy);
        // After this drop, only `one` still holds the connection.
        drop(other);
        let answer = one.send(0, Nanos::ZERO).await.0;
        assert_eq!((answer.status, answer.set_up.is_none()), (Ok(StatusCode::OK), true));
        // Since the request was sent, no bytes have been read from the connection, so the connection may be broken.
        assert_eq!(one.send(1, Nanos::ZERO).await.0.status, Err(Failure::Timeout));
        assert!(one.send(0, Nanos::ZERO).await.0.set_up.is_some());
    });
}

#[test]
fn a_request_is_retried_if_its_shared_connection_was_closed_while_idle() {
    let options = ["--http2", "--streams", "2"];
    let plan = plan(&format!("{}/once", start()), &options, Duration::from_secs(60)).unwrap();
    block_on(async {
        let [mut one, mut other] = [(); 2].map(|()| session(&plan));
        one.open_all().await;
        other.open_all().await;
        for (session, is_retried) in [(&mut one, false), (&mut other, true)] {
            let answer = session.send(0, Nanos::ZERO).await.0;
            assert_eq!((answer.status, answer.is_retried), (Ok(StatusCode::OK), is_retried));
            assert_eq!(answer.set_up.is_some(), is_retried);
        }
    });
}
