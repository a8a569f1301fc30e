//! Tests random messages: results for responses do not depend on how they are split into reads and are the same as
//! hyper's, and each request is parsed as one request with the given headers.

use super::plan;
use crate::http::client::failure::Failure;
use crate::http::client::plan::Memory;
use crate::http::client::plan::Plan;
use crate::http::client::transport::http1::answer::Answer;
use crate::http::client::transport::http1::head::ExpectedResponse;
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use std::thread;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

/// The status of a response, its length in bytes, and whether another response can follow on the connection.
type Outcome = Result<(u16, usize, bool), Failure>;

fn read<'a>(parts: impl IntoIterator<Item = &'a [u8]>, asked: ExpectedResponse) -> Outcome {
    outcome(&mut Answer::to(asked), parts)
}

fn outcome<'a>(answer: &mut Answer, parts: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
    let (mut unread, mut taken) = (Vec::new(), 0);
    for part in parts {
        unread.extend_from_slice(part);
        let more = answer.take(&unread, None)?;
        unread.drain(..more);
        taken += more;
        if let Some(status) = answer.status() {
            return Ok((status.as_u16(), taken, answer.is_kept()));
        }
    }
    let status = answer.end(&unread)?;
    Ok((status.as_u16(), taken, answer.is_kept()))
}

fn cut<'a>(mut bytes: &'a [u8], sizes: &[usize]) -> Vec<&'a [u8]> {
    let mut parts = Vec::new();
    for size in sizes.iter().cycle() {
        if bytes.len() <= *size {
            break;
        }
        let (part, rest) = bytes.split_at(*size);
        parts.push(part);
        bytes = rest;
    }
    parts.push(bytes);
    parts
}

fn read_by_hyper(bytes: &[u8], method: Method) -> Option<u16> {
    super::block_on(async {
        let (client, mut server) = duplex(1 << 20);
        let bytes = bytes.to_owned();
        tokio::spawn(async move {
            let _ = server.read(&mut [0; 1024]).await;
            server.write_all(&bytes).await
        });
        let (mut sender, driver) = http1::handshake(TokioIo::new(client)).await.unwrap();
        tokio::spawn(driver);
        let request = Request::builder().method(method).body(Empty::<Bytes>::new()).unwrap();
        let answer = sender.send_request(request).await.ok()?;
        let status = answer.status().as_u16();
        answer.into_body().collect().await.ok().map(|_| status)
    })
}

fn asked() -> impl Strategy<Value = (ExpectedResponse, Method)> {
    select(vec![
        (ExpectedResponse::Whole, Method::GET),
        (ExpectedResponse::Head, Method::HEAD),
        (ExpectedResponse::Connect, Method::CONNECT),
    ])
}

fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9-]{1,12}: ?[ -~]{0,20}",
        "(connection|Connection): (close|keep-alive|x, Close|te)",
    ]
}

fn head(version: &'static str, framing: &str) -> impl Strategy<Value = String> + use<> {
    let framing = framing.to_owned();
    let status = prop_oneof![Just(200_u16), Just(204), Just(304), 200..600_u16];
    (status, vec(line(), 0..4), vec(line(), 0..4)).prop_map(move |(status, before, behind)| {
        let lines = before.into_iter().chain([framing.clone()]).chain(behind);
        let lines: String =
            lines.filter(|line| !line.is_empty()).map(|line| line + "\r\n").collect();
        format!("{version} {status} X\r\n{lines}\r\n")
    })
}

fn well_formed() -> impl Strategy<Value = Vec<u8>> {
    let length = vec(any::<u8>(), 0..300).prop_flat_map(|body| {
        let framing = format!("Content-Length: {}", body.len());
        let version = select(vec!["HTTP/1.1", "HTTP/1.0"]);
        version.prop_flat_map(move |version| {
            let body = body.clone();
            head(version, &framing).prop_map(move |head| [head.as_bytes(), &body].concat())
        })
    });
    let chunk =
        (vec(any::<u8>(), 1..80), "(;[a-z]{1,5}(=[a-z]{1,5})?)?").prop_map(|(data, extension)| {
            [format!("{:X}{extension}\r\n", data.len()).as_bytes(), &data, b"\r\n"].concat()
        });
    let trailers = vec("[a-z]{1,8}: [a-z]{0,8}\r\n", 0..3);
    let chunked = (head("HTTP/1.1", "Transfer-Encoding: chunked"), vec(chunk, 0..6), trailers)
        .prop_map(|(head, chunks, trailers)| {
            [head.as_bytes(), &chunks.concat(), b"0\r\n", trailers.concat().as_bytes(), b"\r\n"]
                .concat()
        });
    let until_end = (head("HTTP/1.1", ""), vec(any::<u8>(), 0..300))
        .prop_map(|(head, body)| [head.as_bytes(), &body].concat());
    let before = vec("HTTP/1.1 10[023] X\r\n([a-z]{1,5}: [a-z]{0,5}\r\n){0,2}\r\n", 0..3);
    (before, prop_oneof![length, chunked, until_end])
        .prop_map(|(before, answer)| [before.concat().as_bytes(), &answer].concat())
}

fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![any::<u8>(), select(b"\r\n :;0,2HTP".to_vec())];
    let changes = vec((any::<prop::sample::Index>(), byte), 0..4);
    (well_formed(), changes, any::<prop::sample::Index>()).prop_map(|(mut bytes, changes, end)| {
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        bytes.truncate(end.index(bytes.len() * 2));
        bytes
    })
}

proptest! {
    #[test]
    fn the_result_does_not_depend_on_how_a_response_is_split(
        bytes in prop_oneof![well_formed(), damaged(), vec(any::<u8>(), 0..100)],
        (asked, _) in asked(),
        sizes in vec(1..40_usize, 1..8),
    ) {
        prop_assert_eq!(read(cut(&bytes, &sizes), asked), read([&bytes[..]], asked));
    }

    #[test]
    fn the_result_does_not_depend_on_the_last_head_of_the_thread(
        last in prop_oneof![well_formed(), damaged()],
        other in prop_oneof![well_formed(), damaged()],
        change in any::<(prop::sample::Index, u8)>(),
        (last_asked, asked) in (asked(), asked()),
        sizes in vec(1..40_usize, 1..8),
    ) {
        let mut changed = last.clone();
        if !changed.is_empty() {
            let place = change.0.index(changed.len());
            changed[place] = change.1;
        }
        for bytes in [&last, &changed, &other] {
            let _ = read([&last[..]], last_asked.0);
            let after_last = read(cut(bytes, &sizes), asked.0);
            // A new thread has no last head.
            let alone = thread::scope(|scope| scope.spawn(|| read([&bytes[..]], asked.0)).join());
            prop_assert_eq!(after_last, alone.unwrap());
        }
    }

    #[test]
    fn the_result_of_a_response_equals_that_of_hyper(
        bytes in prop_oneof![well_formed(), damaged()],
        (asked, method) in asked(),
    ) {
        let ours = read([&bytes[..]], asked).ok().map(|(status, ..)| status);
        prop_assert_eq!(ours, read_by_hyper(&bytes, method));
    }

    #[test]
    fn a_request_is_one_request(
        method in "(GET|POST|HEAD|[!-~]{1,5})",
        path in "(?s).{0,20}",
        headers in vec("(?s).{0,10}: ?.{0,10}|[a-z]{1,3}:[^\n]{0,5}", 0..4),
        body in ".{0,20}",
    ) {
        let mut options = vec!["-X".to_owned(), method, "-d".to_owned(), body.clone()];
        options.extend(headers.iter().flat_map(|header| ["-H".to_owned(), header.clone()]));
        let options: Vec<_> = options.iter().map(String::as_str).collect();
        if let Ok(plan) = plan(&format!("http://127.0.0.1:1/{path}"), &options, Duration::MAX) {
            is_one(&plan, &headers, &body)?;
        }
    }
}

fn is_one(plan: &Plan, given: &[String], body: &str) -> Result<(), TestCaseError> {
    let mut memory = Memory::new();
    let [head, body_parts @ .., tail] = plan.text(plan.of_slot(0), &mut memory).parts;
    let mut headers = [httparse::EMPTY_HEADER; 16];
    let mut read = httparse::Request::new(&mut headers);
    prop_assert_eq!(read.parse(head), Ok(httparse::Status::Complete(head.len())));
    prop_assert_eq!((body_parts.concat(), tail), (body.into(), &b""[..]));
    let usual = ["host", "user-agent", "content-length"];
    let others = read.headers.iter().filter(|header| !usual.contains(&header.name));
    let others: Vec<_> =
        others.map(|header| (header.name.to_owned(), header.value.to_owned())).collect();
    let given: Vec<_> = given
        .iter()
        .filter_map(|header| header.split_once(':'))
        .map(|(name, value)| (name.trim().to_lowercase(), value.trim().as_bytes().to_owned()))
        .collect();
    for header in &given {
        let count = |all: &[(String, Vec<u8>)]| all.iter().filter(|other| *other == header).count();
        prop_assert_eq!(count(&others), count(&given), "{:?}", header);
    }
    prop_assert_eq!(others.len(), given.len());
    Ok(())
}
