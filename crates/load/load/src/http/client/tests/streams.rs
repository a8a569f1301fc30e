//! Tests that the client finds items in responses with each kind of framing.

use super::server::{Answer, Server, Then};
use super::{block_on, plan, session};
use nanopace::Nanos;
use std::time::Duration;

fn items(kind: &str, parts: &[&str], then: Then) -> [usize; 2] {
    let parts = parts.iter().map(|part| part.as_bytes().to_vec()).collect();
    let server = Server::start(Answer { parts, is_early: false, then });
    let plan = plan(&server.url, &["--items", kind], Duration::from_secs(60)).unwrap();
    block_on(async {
        let mut session = session(&plan);
        let mut seen = [0; 2];
        for count in &mut seen {
            let (answer, _) = session.send(0, Nanos::ZERO).await;
            assert!(answer.status.is_ok(), "{answer:?}");
            let items = &session.seen().unwrap().items;
            assert!(items.is_sorted());
            *count = items.len();
        }
        seen
    })
}

#[test]
fn items_are_found_in_every_kind_of_body() {
    const CHUNKED: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    const LONG: &str = "HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n";
    const UNTIL_END: &str = "HTTP/1.1 200 OK\r\n\r\n";
    let waits = [
        (&[CHUNKED, "9\r\ndata: a\n\n\r\n", "9\r\ndata: b\n\n\r\n0\r\n\r\n"][..], 2, 2),
        // A chunk can end anywhere, for example between two line breaks.
        (&[CHUNKED, "4\r\ndata\r\n", "4\r\n: a\n\r\n1\r\n\n\r\n", "1\r\n\n\r\n0\r\n\r\n"], 1, 1),
        (&[CHUNKED, "2;data: x\r\nab\r\n0\r\ndata: y\r\n\r\n"], 0, 1),
        (&[LONG, "data: 1\n\n", "data: 2\n\n", ":\n"], 2, 3),
        (&["HTTP/1.1 100 Continue\r\n\r\n", LONG, "data: 1\n\n", "data: 2\n\n", ":x"], 2, 3),
        (&["HTTP/1.1 204 No Content\r\n\r\n"], 0, 0),
    ];
    for (parts, events, lines) in waits {
        assert_eq!(items("sse", parts, Then::Waits), [events; 2], "{parts:?}");
        assert_eq!(items("lines", parts, Then::Waits), [lines; 2], "{parts:?}");
    }
    let until_end = [UNTIL_END, "data: 1\n\n", "data: 2\n\ndata: 3"];
    assert_eq!(items("sse", &until_end, Then::Closes), [2; 2]);
    assert_eq!(items("lines", &until_end, Then::Closes), [3; 2]);
}
