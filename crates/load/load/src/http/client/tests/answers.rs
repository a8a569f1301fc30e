//! Tests which result the client returns for each response. Each line of a table is a response.

use super::server::{Answer, Server, Then};
use super::{block_on, plan, session};
use crate::http::client::session;
use crate::http::client::transport::kernel_delays::KernelDelays;
use Then::{Closes, Goes, Resets, Waits};
use nanopace::Nanos;
use std::fs;
use std::time::Duration;
use tempfile::TempDir;
use tokio::time::sleep;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Connection {
    Kept,
    Gone,
}
use Connection::{Gone, Kept};

struct Servers {
    then: Then,
    outcome: &'static str,
    connection: Connection,
    options: Vec<String>,
    is_early: bool,
}

fn all(then: Then, outcome: &'static str, connection: Connection) -> Servers {
    Servers { then, outcome, connection, options: Vec::new(), is_early: false }
}

impl Servers {
    fn to(self, options: &[&str]) -> Servers {
        Servers { options: options.iter().map(ToString::to_string).collect(), ..self }
    }

    fn early(self) -> Servers {
        Servers { is_early: true, ..self }
    }

    /// Sends each response to the client, and checks the client's result. A bar (`|`) in a response makes the server
    /// pause.
    fn check<A: AsRef<[u8]>>(&self, answers: &[(&str, A)]) {
        let stamped = Some("--kernel-timestamps").filter(|_| cfg!(target_os = "linux"));
        let expected = [Gone, self.connection].map(|of| format!("{}, {of:?}", self.outcome));
        for (name, answer) in answers {
            for more in [None, stamped] {
                assert_eq!(self.run(name, answer.as_ref(), more), expected, "{name} {more:?}");
            }
        }
    }

    fn run(&self, name: &str, answer: &[u8], more: Option<&str>) -> Vec<String> {
        let parts = answer.split(|byte| *byte == b'|').map(<[u8]>::to_vec).collect();
        let server = Server::start(Answer { parts, is_early: self.is_early, then: self.then });
        let patience = if self.outcome == "timeout" { 100 } else { 10_000 };
        let options: Vec<_> = self.options.iter().map(String::as_str).chain(more).collect();
        let plan = plan(&server.url, &options, Duration::from_millis(patience)).unwrap();
        block_on(async {
            let mut session = session(&plan);
            session.is_recorded = true;
            let mut told = Vec::new();
            for _ in 0..2 {
                let (got, _) = session.send(0, Nanos::ZERO).await;
                for own in plan.kernel.iter().flat_map(KernelDelays::take) {
                    let known = own.times.len() + own.untimed;
                    let told = format!("{name}: {:?} of {known}", own.part);
                    assert_eq!(known == 1, got.status.is_ok(), "{told}");
                }
                if self.outcome != "timeout" && !self.is_early {
                    server.requests.recv().unwrap();
                }
                // The runtime notices the server's last action only while this thread sleeps.
                sleep(Duration::from_millis(5)).await;
                told.push(self.told(name, answer, &got));
            }
            told
        })
    }

    fn told(&self, name: &str, answer: &[u8], got: &session::Answer) -> String {
        let connection = if got.set_up.is_some() { Gone } else { Kept };
        let status = match got.status {
            Ok(status) => {
                // The client may have read unsolicited bytes together with the response.
                let written = answer.iter().filter(|byte| **byte != b'|').count();
                let unasked = if let Goes(unasked) = self.then { unasked.len() } else { 0 };
                let expected = written as u64..=(written + unasked) as u64;
                assert!(expected.contains(&got.traffic.0), "{name}: {got:?}");
                status.as_u16().to_string()
            }
            Err(failure) => failure.to_string(),
        };
        format!("{status}, {connection:?}")
    }
}

fn raw(answer: &str) -> String {
    answer.to_owned()
}

const HUNG_UP: &str = "the server hung up";
const INVALID: &str = "not a valid HTTP response";
const TOO_LARGE: &str = "the response has too many headers, or too long ones";
const RESET: &str = "connection reset";
const WRONG_CHUNK: &str = "the response has an invalid chunk";
const LONG_CHUNK: &str = TOO_LARGE;

fn head(line: &str) -> String {
    format!("HTTP/1.1 200 OK\r\n{line}\r\n\r\n")
}

fn length(text: &str) -> String {
    head(&format!("content-length:{text}")) + "ok"
}

fn chunked(body: &str) -> String {
    head("transfer-encoding: chunked") + body
}

fn lines(count: usize) -> String {
    (0..count).map(|number| format!("x-{number}: y")).collect::<Vec<_>>().join("\r\n")
}

#[test]
fn bodies_with_a_length() {
    all(Waits, "200", Kept).check(&[
        ("a length", length(" 2")),
        ("no blank before it", length("2")),
        ("in parts", raw("HT|TP/1.1 200 O|K\r|\nContent-Le|ngth: 4\r\n|\r\no|k|ok")),
        ("no body", head("content-length: 0")),
        ("twice the same", length(" 2\r\nContent-Length: 2")),
        ("a list of the same", length(" 2, 2")),
        ("zeros before it", length(" 002")),
        ("3 MB", head("content-length: 3000000") + &"x".repeat(3_000_000)),
    ]);
    all(Waits, INVALID, Gone).check(&[
        ("two that differ", length(" 2\r\ncontent-length: 3")),
        ("a list that differs", length(" 2,3")),
        ("negative", length(" -2")),
        ("with a sign", length(" +2")),
        ("empty", length(" ")),
        ("a word", length(" two")),
        ("a hexadecimal one", length(" 0x2")),
        ("2^64", length(" 18446744073709551616")),
    ]);
    all(Closes, HUNG_UP, Gone).check(&[
        ("2^64 - 1, and an end", length(" 18446744073709551615")),
        ("2^63, and an end", length(" 9223372036854775808")),
    ]);
}

#[test]
fn chunked_bodies() {
    let chunks = |count: usize, size: usize| {
        chunked(&(format!("{size:x}\r\n{}\r\n", "x".repeat(size)).repeat(count) + "0\r\n\r\n"))
    };
    all(Waits, "200", Kept).check(&[
        ("one chunk", chunked("2\r\nok\r\n0\r\n\r\n")),
        ("no chunk", chunked("0\r\n\r\n")),
        ("in parts", chunked("1|0\r|\n0123456789|abcdef|\r|\n0|\r\n\r|\n")),
        ("large and small digits", chunked("00A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n")),
        ("extensions", chunked("2;a=b;c=\"d\"\r\nok\r\n0 ;e\r\n\r\n")),
        ("blanks after a size", chunked("2 \t\r\nok\r\n0\r\n\r\n")),
        ("trailers", chunked("2\r\nok\r\n0\r\nA: b\r\nc:\r\n\r\n")),
        ("trailers in parts", chunked("2\r\nok\r\n0\r\nA|: b\r|\nc:\r\n|\r|\n")),
        ("300 chunks", chunks(300, 10_000)),
        ("100 000 chunks", chunks(100_000, 1)),
        ("a length as well", head("content-length: 7\r\ntransfer-encoding: chunked") + "0\r\n\r\n"),
        (
            "a wrong length as well",
            head("content-length: x\r\ntransfer-encoding: chunked") + "0\r\n\r\n",
        ),
        ("after another coding", head("transfer-encoding: gzip, Chunked") + "0\r\n\r\n"),
        (
            "in a line of its own",
            head("transfer-encoding: gzip\r\ntransfer-encoding: chunked") + "0\r\n\r\n",
        ),
    ]);
    all(Closes, "200", Gone).check(&[
        ("before another coding", head("transfer-encoding: chunked, gzip") + "0\r\n\r\n"),
        ("another coding", head("transfer-encoding: identity") + "ok"),
        (
            "another coding and a length",
            head("transfer-encoding: gzip\r\ncontent-length: 1") + "ok",
        ),
    ]);
}

#[test]
fn invalid_chunked_bodies() {
    all(Waits, WRONG_CHUNK, Gone).check(&[
        ("no size", chunked("\r\nok\r\n0\r\n\r\n")),
        ("an extension without a size", chunked(";a\r\nok\r\n0\r\n\r\n")),
        ("a blank before the size", chunked(" 2\r\nok\r\n0\r\n\r\n")),
        ("a size without digits", chunked("g\r\nok\r\n0\r\n\r\n")),
        ("a negative size", chunked("-2\r\nok\r\n0\r\n\r\n")),
        ("a size with a prefix", chunked("0x2\r\nok\r\n0\r\n\r\n")),
        ("a size of two words", chunked("2 2\r\nok\r\n0\r\n\r\n")),
        ("no return after a size", chunked("2\nok\r\n0\r\n\r\n")),
        ("no line feed after a size", chunked("2\rok\r\n0\r\n\r\n")),
        ("more than its size", chunked("2\r\nokay\r\n0\r\n\r\n")),
        ("a trailer without a name", chunked("0\r\n: b\r\n\r\n")),
        ("an invalid trailer", chunked("0\r\nHTTP/1.1 200 OK\r\n\r\n")),
        ("no return after a trailer", chunked("0\r\nA: b\nc: d\r\n\r\n")),
        ("no return at the end", chunked("0\r\n\n")),
    ]);
    all(Waits, LONG_CHUNK, Gone).check(&[
        ("a size of 2^64", chunked("10000000000000000\r\nok")),
        ("a line feed in an extension", chunked("2;a\nb\r\nok\r\n0\r\n\r\n")),
        ("an extension of 20 kB", chunked(&format!("2;{}\r\nok\r\n0\r\n\r\n", "x".repeat(20_000)))),
        ("trailers of 20 kB", chunked(&format!("0\r\nx: {}\r\n\r\n", "y".repeat(20_000)))),
        ("101 trailers", chunked(&format!("0\r\n{}\r\n\r\n", lines(101)))),
    ]);
    all(Closes, HUNG_UP, Gone).check(&[
        ("a chunk of 2^63, and an end", chunked("8000000000000000\r\nok")),
        ("an end in a size", chunked("2")),
        ("an end in a chunk", chunked("2\r\no")),
        ("an end after a chunk", chunked("2\r\nok\r\n")),
        ("an end in a trailer", chunked("0\r\nA: b\r\n")),
    ]);
}

#[test]
fn answers_without_a_length_or_a_body() {
    let version_1_0 = |line: &str| format!("HTTP/1.0 200 OK\r\n{line}\r\n");
    all(Closes, "200", Gone).check(&[
        ("up to the end", raw("HTTP/1.1 200 OK\r\n\r\nok")),
        ("up to the end, in parts", raw("HTTP/1.1 200 OK\r\n\r\n|o|k")),
        ("nothing up to the end", raw("HTTP/1.1 200 OK\r\n\r\n")),
        ("HTTP/1.0", version_1_0("content-length: 2\r\n") + "ok"),
        ("HTTP/1.0 up to the end", version_1_0("") + "ok"),
    ]);
    all(Waits, "timeout", Gone)
        .check(&[("up to an end that does not come", "HTTP/1.1 200 OK\r\n\r\nok")]);
    all(Waits, "204", Kept).check(&[
        ("204", "HTTP/1.1 204 No Content\r\n\r\n"),
        ("204 with a length", "HTTP/1.1 204 No Content\r\ncontent-length: 2\r\n\r\n"),
        ("204 with a wrong length", "HTTP/1.1 204 No Content\r\ncontent-length: x\r\n\r\n"),
    ]);
    all(Waits, "304", Kept)
        .check(&[("304", "HTTP/1.1 304 Not Modified\r\ncontent-length: 2\r\n\r\n")]);
    all(Waits, "200", Kept).to(&["-X", "HEAD"]).check(&[
        ("HEAD", head("content-length: 2")),
        ("HEAD, chunked", head("transfer-encoding: chunked")),
        ("HEAD without a length", raw("HTTP/1.1 200 OK\r\n\r\n")),
    ]);
    all(Waits, "200", Gone).to(&["-X", "HEAD"]).check(&[("HEAD with a body", length(" 2"))]);
    all(Waits, "200", Gone).to(&["-X", "CONNECT"]).check(&[("CONNECT", "HTTP/1.1 200 OK\r\n\r\n")]);
    all(Waits, "200", Gone)
        .check(&[("HTTP/1.0, left open", version_1_0("content-length: 2\r\n") + "ok")]);
    all(Waits, "200", Kept).check(&[(
        "HTTP/1.0, kept",
        version_1_0("content-length: 2\r\nConnection: Keep-Alive\r\n") + "ok",
    )]);
    all(Closes, INVALID, Gone).check(&[(
        "HTTP/1.0, chunked",
        version_1_0("transfer-encoding: chunked\r\n") + "0\r\n\r\n",
    )]);
    all(Waits, "405", Kept)
        .to(&["-X", "CONNECT"])
        .check(&[("CONNECT that is refused", "HTTP/1.1 405 No\r\ncontent-length: 0\r\n\r\n")]);
}

#[test]
fn interim_responses() {
    let early = "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n";
    let go_on = "HTTP/1.1 100 Continue\r\n\r\n";
    all(Waits, "200", Kept).check(&[
        ("100", go_on.to_owned() + &length(" 2")),
        ("100, and a pause", format!("{go_on}|{}", length(" 2"))),
        ("several", [early, early, go_on].concat() + "|" + early + &length(" 2")),
        (
            "102 with a length",
            format!("HTTP/1.1 102 P\r\ncontent-length: 9\r\n\r\n{}", length(" 2")),
        ),
        ("103 with close", format!("HTTP/1.1 103 E\r\nconnection: close\r\n\r\n{}", length(" 2"))),
    ]);
    all(Closes, HUNG_UP, Gone).check(&[("only 100", go_on)]);
    all(Waits, INVALID, Gone).check(&[("100, and nonsense", format!("{go_on}nonsense\r\n\r\n"))]);
    all(Waits, "101", Gone).check(&[
        ("101", "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n"),
        ("101 and more", "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\nmore"),
    ]);
}

#[test]
fn heads() {
    let answer = |head: &str| head.to_owned() + "content-length: 2\r\n\r\nok";
    let with = |line: &str| answer(&format!("HTTP/1.1 200 OK\r\n{line}\r\n"));
    all(Waits, "404", Kept)
        .check(&[("404", "HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\nno")]);
    all(Waits, "301", Kept)
        .check(&[("301", "HTTP/1.1 301 Moved\r\nlocation: /x\r\ncontent-length: 0\r\n\r\n")]);
    all(Waits, "999", Kept).check(&[("999", answer("HTTP/1.1 999 Odd\r\n"))]);
    all(Waits, "200", Kept).check(&[
        ("no reason", answer("HTTP/1.1 200\r\n")),
        ("an empty reason", answer("HTTP/1.1 200 \r\n")),
        ("a reason in UTF-8", answer("HTTP/1.1 200 Größe\r\n")),
        ("line feeds alone", raw("HTTP/1.1 200 OK\ncontent-length: 2\n\nok")),
        ("blank lines before it", "\r\n\r\n".to_owned() + &length(" 2")),
        ("values in UTF-8", with("x: größe")),
        ("100 headers", with(&lines(99))),
        ("101 headers", with(&lines(100))),
        ("500 headers", with(&lines(499))),
        ("30 000 headers", with(&lines(29_999))),
        ("300 kB", with(&format!("x: {}", "y".repeat(300_000)))),
    ]);
    all(Waits, "200", Kept).check(&[(
        "values in Latin-1",
        b"HTTP/1.1 200 OK\r\nx: gr\xf6\xdfe\r\ncontent-length: 2\r\n\r\nok",
    )]);
    all(Waits, TOO_LARGE, Gone).check(&[
        ("50 000 headers", with(&lines(49_999))),
        ("1 MB", with(&format!("x: {}", "y".repeat(1_000_000)))),
        ("a head without end", "HTTP/1.1 200 OK\r\nx: ".to_owned() + &"y".repeat(1_000_000)),
    ]);
    all(Waits, INVALID, Gone).check(&[
        ("status 0", answer("HTTP/1.1 000 Odd\r\n")),
        ("status 99", answer("HTTP/1.1 099 Odd\r\n")),
        ("status of 2 digits", answer("HTTP/1.1 20 OK\r\n")),
        ("status of 4 digits", answer("HTTP/1.1 2000 OK\r\n")),
        ("status of letters", answer("HTTP/1.1 OK\r\n")),
        ("HTTP/2", answer("HTTP/2 200 OK\r\n")),
        ("HTTP/1.2", answer("HTTP/1.2 200 OK\r\n")),
        ("http/1.1", answer("http/1.1 200 OK\r\n")),
        ("ICY", answer("ICY 200 OK\r\n")),
        ("SSH", raw("SSH-2.0-OpenSSH_9.2\r\n")),
        ("a line that is no header", with("nonsense")),
        ("no name", with(": x")),
        ("a blank before the colon", with("x : y")),
        ("a line that goes on", with("x: a\r\n b")),
        ("a return in a value", with("x: a\rb")),
        ("a zero in a value", with("x: a\0b")),
        ("a zero in a name", with("x\0: b")),
    ]);
    all(Closes, INVALID, Gone).check(&[("HTTP/0.9", "<html>ok</html>")]);
    all(Waits, INVALID, Gone).check(&[
        ("TLS", &b"\x15\x03\x01\x00\x02\x02\x46"[..]),
        ("a frame of HTTP/2", b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"),
    ]);
}

#[test]
fn connections_that_end() {
    let closing = |line: &str| head(&format!("{line}\r\ncontent-length: 2")) + "ok";
    all(Closes, "200", Gone)
        .check(&[("close", closing("Connection: close")), ("closed without a word", length(" 2"))]);
    all(Waits, "200", Gone).check(&[
        ("close, left open", closing("connection: Close")),
        ("close in a list", closing("connection: x, close")),
        ("close, and then not", closing("connection: close\r\nconnection: keep-alive")),
    ]);
    all(Waits, "200", Kept).check(&[("keep-alive", closing("connection: keep-alive"))]);
    all(Waits, "200", Gone)
        .to(&["-H", "Connection: close"])
        .check(&[("asked to close", length(" 2"))]);
    all(Waits, "200", Gone)
        .to(&["--disable-keepalive"])
        .check(&[("asked for one request each", length(" 2"))]);
    all(Closes, HUNG_UP, Gone).check(&[
        ("nothing", raw("")),
        ("blank lines", raw("\r\n\r\n")),
        ("half a status", raw("HTTP/1")),
        ("half a head", raw("HTTP/1.1 200 OK\r\ncontent-len")),
        ("half a body", head("content-length: 4") + "ok"),
    ]);
    all(Resets, RESET, Gone).check(&[
        ("reset before it", raw("")),
        ("reset in a head", raw("HTTP/1.1 200 OK\r\n")),
        ("reset in a body", head("content-length: 4") + "ok"),
        ("reset in a body without length", raw("HTTP/1.1 200 OK\r\n\r\nok")),
    ]);
    all(Waits, "timeout", Gone).check(&[
        ("no answer", raw("")),
        ("half a head, and silence", raw("HTTP/1.1 200 OK\r\n")),
        ("half a body, and silence", head("content-length: 4") + "ok"),
        ("half a chunk, and silence", chunked("4\r\nok")),
    ]);
}

#[test]
fn bytes_after_a_response() {
    all(Waits, "200", Gone).check(&[
        ("a second answer", length(" 2").repeat(2)),
        ("more than the length", length(" 1")),
        ("a blank line", length(" 2") + "\r\n"),
        ("more than the chunks", chunked("0\r\n\r\nx")),
    ]);
    all(Waits, "204", Gone).check(&[("a body of 204", "HTTP/1.1 204 No Content\r\n\r\nok")]);
    all(Goes(b"HTTP/1.1 500 X\r\ncontent-length: 0\r\n\r\n"), "200", Gone)
        .check(&[("a second answer, later", length(" 2"))]);
    all(Goes(b"HTTP/1.1 408 X\r\nconnection: close\r\n\r\n"), "200", Gone)
        .check(&[("a timeout, said later", length(" 2"))]);
    all(Goes(b"x"), "200", Gone).check(&[("one byte, later", length(" 2"))]);
}

#[test]
fn responses_before_the_request_is_complete() {
    // The body is too large for the buffers of the connection.
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("body");
    fs::write(&path, vec![b'x'; 20_000_000]).unwrap();
    let options = ["-X", "PUT", "--body-file", path.to_str().unwrap()];
    // The server may never read the rest of the request, so another request on the connection would have to wait.
    all(Waits, "200", Gone)
        .to(&options)
        .early()
        .check(&[("a length", length(" 2")), ("chunked", chunked("2\r\nok\r\n0\r\n\r\n"))]);
    let refused = "HTTP/1.1 413 X\r\ncontent-length: 0\r\n\r\n";
    all(Waits, "413", Gone).to(&options).early().check(&[("refused", refused)]);
    let first = "HTTP/1.1 100 Continue\r\n\r\n".to_owned() + &length(" 2");
    all(Waits, "200", Kept).to(&options).check(&[("100 first", first)]);
}
