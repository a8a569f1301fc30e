//! Tests bodies that are read from files while they are sent.

use super::server::{Answer, Server, Then};
use super::{Plan, block_on, plan, session};
use crate::http::client::failure::Failure;
#[cfg(feature = "http2")]
use crate::http::client::plan::Memory;
#[cfg(feature = "http2")]
use hyper::body::Body;
use nanopace::Nanos;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;
use tempfile::NamedTempFile;

const BYTES: u32 = (64 << 20) + 5;

fn file() -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(b"\xff{{slot}}").unwrap();
    file.as_file().set_len(BYTES.into()).unwrap();
    file
}

fn sends(url: &str, file: &NamedTempFile, more: &[&str]) -> Arc<Plan> {
    let options = [&["-D", file.path().to_str().unwrap()], more].concat();
    plan(url, &options, Duration::from_secs(60)).unwrap()
}

fn server(is_early: bool) -> Server {
    let parts = vec![b"HTTP/1.1 204 No Content\r\n\r\n".to_vec()];
    Server::start(Answer { parts, is_early, then: Then::Waits })
}

#[test]
fn one_connection_sends_a_large_file_with_each_request() {
    let (file, server) = (file(), server(false));
    let plan = sends(&server.url, &file, &["-H", "x: {{slot}}"]);
    assert_eq!(plan.open_files(&[2, 1]), 4);
    block_on(async {
        let mut session = session(&plan);
        for slot in 0..2 {
            let (answer, _) = session.send(slot, Nanos::ZERO).await;
            assert_eq!((answer.status.is_ok(), answer.set_up.is_some()), (true, slot == 0));
            let request = server.requests.recv().unwrap();
            assert_eq!(answer.traffic.1, request.len() as u64);
            let head = request.len() - usize::try_from(BYTES).unwrap();
            assert!(request[..head].ends_with(b"\r\n\r\n"));
            assert!(request[head..].starts_with(b"\xff{{slot}}\0"));
        }
    });
}

#[test]
fn a_large_file_is_not_sent_to_its_end_after_an_early_response() {
    let (file, server) = (file(), server(true));
    let plan = sends(&server.url, &file, &[]);
    block_on(async {
        let mut session = session(&plan);
        for slot in 0..2 {
            let (answer, _) = session.send(slot, Nanos::ZERO).await;
            assert!(answer.status.is_ok() && answer.set_up.is_some(), "{answer:?}");
            assert!(answer.traffic.1 < BYTES.into());
        }
    });
}

#[test]
fn a_file_that_has_become_shorter_is_not_a_failure_of_the_server() {
    let (file, server) = (file(), server(false));
    let plan = sends(&server.url, &file, &[]);
    file.as_file().set_len(100_000).unwrap();
    let (answer, _) = block_on(async { session(&plan).send(0, Nanos::ZERO).await });
    assert_eq!(answer.status, Err(Failure::BodyFile));
}

#[cfg(feature = "http2")]
#[test]
fn over_http2_a_large_file_is_the_body_when_other_parts_are_filled() {
    let file = file();
    for more in [&["--http2"][..], &["--http2", "-H", "x: {{slot}}"], &["--http2", "--cookies"]] {
        let plan = sends("http://127.0.0.1:1/", &file, more);
        let request = plan.http2(plan.of_slot(0), &mut Memory::new()).unwrap();
        assert_eq!(request.body().size_hint().exact(), Some(BYTES.into()), "{more:?}");
    }
}

#[cfg(feature = "http2")]
#[test]
fn over_http2_a_file_that_has_become_shorter_is_not_a_failure_of_the_server() {
    let file = file();
    let plan = sends(&format!("{}/never", super::shared::start()), &file, &["--http2"]);
    file.as_file().set_len(10_000).unwrap();
    let (answer, _) = block_on(async { session(&plan).send(0, Nanos::ZERO).await });
    assert_eq!(answer.status, Err(Failure::BodyFile));
}
