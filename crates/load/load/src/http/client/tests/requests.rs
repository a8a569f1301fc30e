//! Tests the requests that are sent, and tests which options are rejected before a request is sent.

use super::super::failure::Failure;
use super::super::plan::{Draft, Memory};
use super::server::{Answer, Server, Then};
use super::{CommandLine, block_on, plan, session};
use crate::http::client::request::targets;
use crate::http::client::single_request;
use crate::net::trust::Trust;
use clap::Parser;
use http_body_util::BodyExt;
use nanopace::Nanos;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the text of a request. `HOST` stands for the value of the header Host.
fn sent(path: &str, options: &[&str]) -> String {
    let parts = vec![b"HTTP/1.1 204 No Content\r\n\r\n".to_vec()];
    let server = Server::start(Answer { parts, is_early: false, then: Then::Waits });
    let plan = plan(&format!("{}{path}", server.url), options, PATIENCE).unwrap();
    let (answer, _) = block_on(async { session(&plan).send(0, Nanos::ZERO).await });
    let request = server.requests.recv().unwrap();
    assert_eq!(answer.status.unwrap().as_u16(), 204);
    assert_eq!(answer.traffic.1, request.len() as u64);
    let host = server.url.trim_start_matches("http://").trim_end_matches('/');
    String::from_utf8(request).unwrap().replace(host, "HOST")
}

fn parts(request: &str) -> (String, Vec<String>, String) {
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let mut lines = head.split("\r\n").map(str::to_owned);
    let first = lines.next().unwrap();
    let mut headers: Vec<_> = lines.collect();
    // The sort is stable: headers with the same name keep their order.
    headers.sort_by_key(|line| line.split(':').next().unwrap().to_owned());
    (first, headers, body.to_owned())
}

#[test]
fn all_requests_share_one_copy_of_a_body_without_placeholders() {
    for (options, is_one) in [
        (&["-d", "text"][..], true),
        (&["-F", "a=text", "--cookies"], true),
        (&["-d", "{{slot}}"], false),
    ] {
        let plan = plan("http://127.0.0.1:1/", options, PATIENCE).unwrap();
        let mut memories = [Memory::new(), Memory::new()];
        let bodies = memories.each_mut().map(|memory| plan.text(plan.of_slot(0), memory).parts[1]);
        assert_eq!(bodies[0].as_ptr() == bodies[1].as_ptr(), is_one, "{options:?}");
    }
}

#[test]
fn all_requests_share_the_longest_piece_of_a_filled_body() {
    let (large, larger) = ("x".repeat(1 << 16), "y".repeat(1 << 17));
    let body = format!("{{{{slot}}}}{large}{{{{slot}}}}{larger}{{{{slot}}}}");
    for (text, shared) in [(body.as_str(), larger.as_str()), (&body[..large.len()], "")] {
        let plan = plan("http://127.0.0.1:1/", &["-d", text], PATIENCE).unwrap();
        let mut memories = [Memory::new(), Memory::new()];
        let parts = memories.each_mut().map(|memory| plan.text(plan.of_slot(7), memory).parts);
        assert_eq!(parts[0][2], shared.as_bytes());
        assert_eq!(parts[0][2].as_ptr(), parts[1][2].as_ptr());
        let sent = String::from_utf8(parts[0][1..].concat()).unwrap();
        assert_eq!(sent, text.replace("{{slot}}", "7"));
    }
}

type Sent<'a> = (&'a str, &'a [&'a str], &'a str, &'a [&'a str], &'a str);

#[test]
fn requests_are_sent_as_they_are_given() {
    const US: &str = concat!("user-agent: nanopace/", env!("CARGO_PKG_VERSION"));
    let large = "x".repeat(300_000);
    let cases: &[Sent<'_>] = &[
        ("", &[], "GET / HTTP/1.1", &["host: HOST", US], ""),
        ("a/b?c=d%20e&f", &[], "GET /a/b?c=d%20e&f HTTP/1.1", &["host: HOST", US], ""),
        ("a#b", &[], "GET /a HTTP/1.1", &["host: HOST", US], ""),
        ("größe", &[], "GET /größe HTTP/1.1", &["host: HOST", US], ""),
        ("", &["-X", "HEAD"], "HEAD / HTTP/1.1", &["host: HOST", US], ""),
        ("", &["-X", "x!y"], "x!y / HTTP/1.1", &["host: HOST", US], ""),
        ("", &["-X", "DELETE"], "DELETE / HTTP/1.1", &["host: HOST", US], ""),
        ("", &["-X", "POST"], "POST / HTTP/1.1", &["content-length: 0", "host: HOST", US], ""),
        ("", &["-X", "PUT"], "PUT / HTTP/1.1", &["content-length: 0", "host: HOST", US], ""),
        ("", &["-X", "PATCH"], "PATCH / HTTP/1.1", &["content-length: 0", "host: HOST", US], ""),
        ("", &["-d", "body"], "POST / HTTP/1.1", &["content-length: 4", "host: HOST", US], "body"),
        (
            "",
            &["-X", "PUT", "-d", &large],
            "PUT / HTTP/1.1",
            &["content-length: 300000", "host: HOST", US],
            &large,
        ),
        ("", &["-H", "Host: Other"], "GET / HTTP/1.1", &["host: Other", US], ""),
        (
            "",
            &["-H", "USER-agent: me", "-H", "Accept: a", "-H", "accept: b"],
            "GET / HTTP/1.1",
            &["accept: a", "accept: b", "host: HOST", "user-agent: me"],
            "",
        ),
        (
            "",
            &["-H", "x: 1", "-H", "y:", "-H", "X:2"],
            "GET / HTTP/1.1",
            &["host: HOST", US, "x: 1", "x: 2", "y: "],
            "",
        ),
        ("", &["-H", "x: größe\ty"], "GET / HTTP/1.1", &["host: HOST", US, "x: größe\ty"], ""),
        (
            "",
            &["--disable-keepalive"],
            "GET / HTTP/1.1",
            &["connection: close", "host: HOST", US],
            "",
        ),
        (
            "",
            &["-H", "Connection: x", "--disable-keepalive"],
            "GET / HTTP/1.1",
            &["connection: x", "host: HOST", US],
            "",
        ),
        (
            "",
            &["-H", "Content-Length: 0"],
            "GET / HTTP/1.1",
            &["content-length: 0", "host: HOST", US],
            "",
        ),
        (
            "",
            &["-d", "body", "-H", "content-length: 4"],
            "POST / HTTP/1.1",
            &["content-length: 4", "host: HOST", US],
            "body",
        ),
        (
            "",
            &["-d", "body of 15 bytes", "-H", "Transfer-Encoding: Chunked"],
            "POST / HTTP/1.1",
            &["host: HOST", "transfer-encoding: Chunked", US],
            "10\r\nbody of 15 bytes\r\n0\r\n\r\n",
        ),
        (
            "",
            &["-d", "body", "-H", "transfer-encoding: gzip"],
            "POST / HTTP/1.1",
            &["host: HOST", "transfer-encoding: gzip, chunked", US],
            "4\r\nbody\r\n0\r\n\r\n",
        ),
        (
            "",
            &["-d", "body", "-H", "transfer-encoding: chunked", "-H", "content-length: 4"],
            "POST / HTTP/1.1",
            &["host: HOST", "transfer-encoding: chunked", US],
            "4\r\nbody\r\n0\r\n\r\n",
        ),
        ("", &["-H", "transfer-encoding: chunked"], "GET / HTTP/1.1", &["host: HOST", US], ""),
    ];
    for (path, options, first, headers, body) in cases {
        let expected = (
            first.to_string(),
            headers.iter().map(ToString::to_string).collect(),
            body.to_string(),
        );
        assert_eq!(parts(&sent(path, options)), expected, "{path} {options:?}");
    }
}

/// Returns the headers of a request that sets the headers `own` itself. For HTTP/2, the host of the URL is returned as
/// the header Host.
fn headers(own: &[(&str, &str)], options: &[&str]) -> anyhow::Result<Vec<(String, String)>> {
    let args = CommandLine::try_parse_from(options)?.client;
    args.check()?;
    let mut target = single_request::target("http://127.0.0.1:1/", &args)?;
    target.headers.extend(own.iter().map(|&(name, value)| targets::header(name, value).unwrap()));
    let mut draft = Draft::new(&args);
    draft.add(&target)?;
    let plan = draft.complete(Trust::Anyone, PATIENCE, 0)?;
    let mut memory = Memory::new();
    if plan.http2 {
        let request = plan.http2(plan.of_slot(0), &mut memory).unwrap();
        let host = ("host".to_owned(), request.uri().authority().unwrap().to_string());
        let others = request.headers().iter();
        let others =
            others.map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()));
        return Ok(others.chain([host]).collect());
    }
    let head = plan.text(plan.of_slot(0), &mut memory).parts[0];
    let lines = str::from_utf8(head)?.lines().skip(1).filter(|line| !line.is_empty());
    let pair =
        |line: &str| line.split_once(": ").map(|(name, value)| (name.to_owned(), value.to_owned()));
    Ok(lines.filter_map(pair).collect())
}

#[test]
fn the_more_specific_of_two_headers_wins_where_a_request_may_have_one() {
    let versions: &[&[&str]] = if cfg!(feature = "http2") { &[&[], &["--http2"]] } else { &[&[]] };
    for version in versions {
        let values = |name: &str, own: &[(&str, &str)], options: &[&str]| -> Vec<String> {
            let all = headers(own, &[options, version].concat()).unwrap();
            all.into_iter().filter(|(its, _)| its == name).map(|(_, value)| value).collect()
        };
        for name in ["host", "user-agent", "content-type", "authorization", "cookie", "referer"] {
            let given = format!("{name}: all");
            assert_eq!(values(name, &[], &["-H", &given]), ["all"], "{version:?} {name}");
            for option in [&["-H", &given][..], &[], &["-H", &given, "-H", "x: {{slot}}"]] {
                assert_eq!(values(name, &[(name, "own")], option), ["own"], "{version:?} {name}");
            }
            // In HTTP/2, the host is sent in `:authority`, which cannot contain placeholders.
            if name == "host" && !version.is_empty() {
                continue;
            }
            let filled = format!("{name}: all{{{{slot}}}}");
            assert_eq!(values(name, &[], &["-H", &filled]), ["all0"], "{version:?} {name}");
            assert_eq!(
                values(name, &[(name, "own")], &["-H", &filled]),
                ["own"],
                "{version:?} {name}"
            );
            assert_eq!(
                values(name, &[(name, "own{{slot}}")], &["-H", &given]),
                ["own0"],
                "{version:?} {name}"
            );
        }
        assert_eq!(values("accept", &[("accept", "own")], &["-H", "Accept: all"]), ["all", "own"]);
        assert_eq!(values("x", &[("x", "own")], &["-H", "X: all{{slot}}"]), ["all0", "own"]);
        let length = values(
            "content-length",
            &[("content-length", "4")],
            &["-H", "Content-Length: 4", "-d", "body"],
        );
        assert_eq!(length, ["4"], "{version:?}");
    }
}

#[test]
fn a_header_that_may_occur_once_cannot_be_given_twice() {
    let told = |own: &[(&str, &str)], options: &[&str]| {
        format!("{:#}", headers(own, options).unwrap_err())
    };
    for options in [
        ["-H", "Host: a", "-H", "host: b"],
        ["-H", "User-Agent: a", "-H", "USER-AGENT: {{slot}}"],
        ["-H", "Range: bytes=0-1", "-H", "range: bytes=0-1"],
    ] {
        let told = told(&[], &options);
        assert!(told.starts_with("--header: the header "), "{told}");
        assert!(
            told.ends_with(
                " is given twice, but a request may contain it only once: leave one out"
            ),
            "{told}"
        );
    }
    let two = "the header cookie is given twice, but a request may contain it only once: write all cookies in one header";
    assert_eq!(told(&[("cookie", "a=1"), ("Cookie", "b=2")], &[]), two);
    for twice in ["Accept", "Cache-Control", "Via", "X-Forwarded-For", "If-None-Match"] {
        assert!(
            headers(&[], &["-H", &format!("{twice}: a"), "-H", &format!("{twice}: b")]).is_ok()
        );
    }
}

#[test]
fn a_body_makes_the_method_post_unless_another_one_is_given() {
    for (options, method, body) in [
        (&["-d", "body"][..], "POST", "body"),
        (&["-d", ""], "POST", ""),
        (&["-m", "PUT", "-d", "body"], "PUT", "body"),
        (&["-X", "GET", "-d", "body"], "GET", "body"),
        (&[], "GET", ""),
    ] {
        let (first, _, sent) = parts(&sent("", options));
        assert_eq!((first, sent), (format!("{method} / HTTP/1.1"), body.to_owned()), "{options:?}");
    }
}

#[test]
fn over_http2_places_are_filled_too() {
    let options = ["--http2", "-H", "x: {{slot}}", "-H", "y: z", "-d", "<{{slot}}>"];
    let plan = plan("http://127.0.0.1:1/{{slot}}?a={{random 5..5}}", &options, PATIENCE).unwrap();
    let mut memory = Memory::new();
    for number in [0, 7] {
        let request = plan.http2(plan.of_slot(number), &mut memory).unwrap();
        let expected = format!("http://127.0.0.1:1/{number}?a=5");
        assert_eq!((request.method().as_str(), request.uri().to_string()), ("POST", expected));
        assert_eq!([&request.headers()["x"], &request.headers()["y"]], [&*number.to_string(), "z"]);
        let body = block_on(request.into_body().collect()).unwrap().to_bytes();
        assert_eq!(body, format!("<{number}>"));
    }
    for host in ["{{slot}}", "a b", "", "a/b"] {
        let host = format!("Host: {host}");
        let refused = super::plan("http://127.0.0.1:1/", &["--http2", "-H", &host], PATIENCE);
        assert!(refused.is_err(), "{host}");
    }
    for (letters, failure) in [(65_533, None), (65_534, Some(Failure::LongPath))] {
        let url = format!("http://127.0.0.1:1/{{{{random-text {letters}}}}}");
        let plan = super::plan(&url, &["--http2"], PATIENCE).unwrap();
        assert_eq!(plan.http2(plan.of_slot(0), &mut memory).err(), failure, "{letters}");
    }
}

#[test]
fn over_http2_a_form_is_that_of_http1() {
    for fields in [["-F", "a=b", "-F", "c=d"], ["-F", "a={{slot}}", "-F", "c=d"]] {
        let [one, two] = [&[][..], &["--http2"]]
            .map(|more| plan("http://127.0.0.1:1/", &[&fields, more].concat(), PATIENCE).unwrap());
        let (mut memory, mut other) = (Memory::new(), Memory::new());
        let [head, body @ ..] = one.text(one.of_slot(7), &mut memory).parts;
        let boundary = str::from_utf8(head).unwrap().split_once("boundary=").unwrap().1;
        let body = String::from_utf8(body.concat()).unwrap();
        let request = two.http2(two.of_slot(7), &mut other).unwrap();
        let kind = request.headers()["content-type"].to_str().unwrap().to_owned();
        let its_own = kind.strip_prefix("multipart/form-data; boundary=").unwrap();
        let sent = block_on(request.into_body().collect()).unwrap().to_bytes();
        let boundary = boundary.lines().next().unwrap();
        assert_eq!(sent, body.replace(boundary, its_own), "{fields:?}");
    }
}

#[test]
fn a_part_that_could_split_a_request_is_rejected() {
    const URL: &str = "http://127.0.0.1:1/";
    for mark in ["\r\n", "\n", "\r", "\0", "\x7f"] {
        let told = |url: &str, options: &[&str]| {
            let told = plan(url, options, PATIENCE).map(drop).unwrap_err().to_string();
            assert!(told.contains("not ") || told.contains("invalid"), "{told}");
        };
        told(&format!("http://127.0.0.1:1/a{mark}b"), &[]);
        told(&format!("http://127.0.0.1{mark}b:1/"), &[]);
        told(URL, &["-X", &format!("GET{mark}X")]);
        told(URL, &["-H", &format!("x{mark}y: z")]);
        told(URL, &["-H", &format!("x: y{mark}z")]);
        told(URL, &["-H", &format!("Host: y{mark}z")]);
    }
    for (url, options) in [
        ("http://127.0.0.1:1/a b", &[][..]),
        ("http://127.0.0.1 b:1/", &[]),
        (URL, &["-X", "GET /x HTTP/1.1"]),
        (URL, &["-X", ""]),
        (URL, &["-H", "x y: z"]),
        (URL, &["-H", ": z"]),
    ] {
        assert!(plan(url, options, PATIENCE).is_err(), "{url} {options:?}");
    }
    // The server would wait for the missing bytes, or parse the additional bytes as the next request.
    for options in [
        &["-d", "body", "-H", "Content-Length: 3"][..],
        &["-d", "body", "-H", "content-length: four"],
        &["-H", "Content-Length: 3"],
    ] {
        let told = format!("{:#}", plan(URL, options, PATIENCE).unwrap_err());
        assert!(told.contains("the header Content-Length is"), "{options:?}: {told}");
    }
}
