//! Servers, one a line, and what the client makes of each.

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

/// Whether the second request goes over the connection of the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Connection {
    Kept,
    Gone,
}
use Connection::{Gone, Kept};

/// A server, and what becomes of requests to it.
struct Case {
    name: &'static str,
    options: Vec<String>,
    /// Answers begin before the request's body is read.
    is_early: bool,
    /// What it writes; a bar is a pause.
    answer: Vec<u8>,
    then: Then,
    /// A status, or why it failed.
    outcome: &'static str,
    connection: Connection,
}

fn case(
    name: &'static str,
    answer: impl Into<Vec<u8>>,
    then: Then,
    outcome: &'static str,
    connection: Connection,
) -> Case {
    let (options, answer) = (Vec::new(), answer.into());
    Case { name, options, is_early: false, answer, then, outcome, connection }
}

impl Case {
    fn to(self, options: &[&str]) -> Case {
        Case { options: options.iter().map(ToString::to_string).collect(), ..self }
    }

    /// Sends two requests with this option too, if it is one, and says what became of each.
    fn run(&self, more: Option<&str>) -> Vec<String> {
        let parts = self.answer.split(|byte| *byte == b'|').map(<[u8]>::to_vec).collect();
        let server = Server::start(Answer { parts, is_early: self.is_early, then: self.then });
        let patience = if self.outcome == "timeout" { 100 } else { 10_000 };
        let options: Vec<_> = self.options.iter().map(String::as_str).chain(more).collect();
        let plan = plan(&server.url, &options, Duration::from_millis(patience)).unwrap();
        block_on(async {
            let mut session = session(&plan);
            session.is_recorded = true;
            let mut told = Vec::new();
            for _ in 0..2 {
                let (answer, _) = session.send(0, Nanos::ZERO).await;
                for own in plan.kernel.iter().flat_map(KernelDelays::take) {
                    let known = own.times.len() + own.unknown;
                    let told = format!("{}: {:?} of {known}", self.name, own.part);
                    assert_eq!(known == 1, answer.status.is_ok(), "{told}");
                }
                if self.outcome != "timeout" && !self.is_early {
                    server.requests.recv().unwrap();
                }
                // The runtime hears of what the server has done since.
                sleep(Duration::from_millis(5)).await;
                told.push(self.told(&answer));
            }
            told
        })
    }

    fn told(&self, answer: &session::Answer) -> String {
        let connection = if answer.set_up.is_some() { Gone } else { Kept };
        let status = match answer.status {
            Ok(status) => {
                // What nobody has asked for may have been read with it.
                let written = self.answer.iter().filter(|byte| **byte != b'|').count();
                let unasked = if let Goes(unasked) = self.then { unasked.len() } else { 0 };
                let expected = written as u64..=(written + unasked) as u64;
                assert!(expected.contains(&answer.traffic.0), "{}: {answer:?}", self.name);
                status.as_u16().to_string()
            }
            Err(failure) => failure.to_string(),
        };
        format!("{status}, {connection:?}")
    }

    fn expected(&self) -> Vec<String> {
        [Gone, self.connection].map(|connection| format!("{}, {connection:?}", self.outcome)).into()
    }
}

/// Each case beside what came of it, also if the kernel stamps.
fn check(cases: &[Case]) {
    let options = [None, Some("--kernel-timestamps").filter(|_| cfg!(target_os = "linux"))];
    let all = options.into_iter().flat_map(|option| cases.iter().map(move |case| (case, option)));
    let wrong: Vec<_> = all
        .map(|(case, option)| (case, case.run(option)))
        .filter(|(case, told)| *told != case.expected())
        .map(|(case, told)| format!("{}: {told:?}, not {:?}", case.name, case.expected()))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

const HUNG_UP: &str = "the server hung up";
const INVALID: &str = "not a valid HTTP answer";
const TOO_LARGE: &str = "the answer has too many headers, or too long ones";
const RESET: &str = "connection reset";
/// What is wrong with a chunked body.
const WRONG_CHUNK: &str = "the answer has a chunk that is none";
const LONG_CHUNK: &str = TOO_LARGE;

/// A head with this line.
fn head(line: &str) -> String {
    format!("HTTP/1.1 200 OK\r\n{line}\r\n\r\n")
}

/// A body of this length, which is 2.
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
fn bodies_that_say_how_long_they_are() {
    check(&[
        case("a length", length(" 2"), Waits, "200", Kept),
        case("no blank before it", length("2"), Waits, "200", Kept),
        case(
            "in parts",
            "HT|TP/1.1 200 O|K\r|\nContent-Le|ngth: 4\r\n|\r\no|k|ok",
            Waits,
            "200",
            Kept,
        ),
        case("no body", head("content-length: 0"), Waits, "200", Kept),
        case("twice the same", length(" 2\r\nContent-Length: 2"), Waits, "200", Kept),
        case("a list of the same", length(" 2, 2"), Waits, "200", Kept),
        case("zeros before it", length(" 002"), Waits, "200", Kept),
        case("two that differ", length(" 2\r\ncontent-length: 3"), Waits, INVALID, Gone),
        case("a list that differs", length(" 2,3"), Waits, INVALID, Gone),
        case("negative", length(" -2"), Waits, INVALID, Gone),
        case("with a sign", length(" +2"), Waits, INVALID, Gone),
        case("empty", length(" "), Waits, INVALID, Gone),
        case("a word", length(" two"), Waits, INVALID, Gone),
        case("a hexadecimal one", length(" 0x2"), Waits, INVALID, Gone),
        case("2^64", length(" 18446744073709551616"), Waits, INVALID, Gone),
        case("2^64 - 1, and an end", length(" 18446744073709551615"), Closes, HUNG_UP, Gone),
        case("2^63, and an end", length(" 9223372036854775808"), Closes, HUNG_UP, Gone),
        case("3 MB", head("content-length: 3000000") + &"x".repeat(3_000_000), Waits, "200", Kept),
    ]);
}

#[test]
fn chunked_bodies() {
    let chunks = |count: usize, size: usize| {
        chunked(&(format!("{size:x}\r\n{}\r\n", "x".repeat(size)).repeat(count) + "0\r\n\r\n"))
    };
    check(&[
        case("one chunk", chunked("2\r\nok\r\n0\r\n\r\n"), Waits, "200", Kept),
        case("no chunk", chunked("0\r\n\r\n"), Waits, "200", Kept),
        case("in parts", chunked("1|0\r|\n0123456789|abcdef|\r|\n0|\r\n\r|\n"), Waits, "200", Kept),
        case(
            "large and small digits",
            chunked("00A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n"),
            Waits,
            "200",
            Kept,
        ),
        case("extensions", chunked("2;a=b;c=\"d\"\r\nok\r\n0 ;e\r\n\r\n"), Waits, "200", Kept),
        case("blanks after a size", chunked("2 \t\r\nok\r\n0\r\n\r\n"), Waits, "200", Kept),
        case("trailers", chunked("2\r\nok\r\n0\r\nA: b\r\nc:\r\n\r\n"), Waits, "200", Kept),
        case(
            "trailers in parts",
            chunked("2\r\nok\r\n0\r\nA|: b\r|\nc:\r\n|\r|\n"),
            Waits,
            "200",
            Kept,
        ),
        case("300 chunks", chunks(300, 10_000), Waits, "200", Kept),
        case("100 000 chunks", chunks(100_000, 1), Waits, "200", Kept),
        case(
            "a length as well",
            head("content-length: 7\r\ntransfer-encoding: chunked") + "0\r\n\r\n",
            Waits,
            "200",
            Kept,
        ),
        case(
            "a wrong length as well",
            head("content-length: x\r\ntransfer-encoding: chunked") + "0\r\n\r\n",
            Waits,
            "200",
            Kept,
        ),
        case(
            "after another coding",
            head("transfer-encoding: gzip, Chunked") + "0\r\n\r\n",
            Waits,
            "200",
            Kept,
        ),
        case(
            "in a line of its own",
            head("transfer-encoding: gzip\r\ntransfer-encoding: chunked") + "0\r\n\r\n",
            Waits,
            "200",
            Kept,
        ),
        case(
            "before another coding",
            head("transfer-encoding: chunked, gzip") + "0\r\n\r\n",
            Closes,
            "200",
            Gone,
        ),
        case("another coding", head("transfer-encoding: identity") + "ok", Closes, "200", Gone),
        case(
            "another coding and a length",
            head("transfer-encoding: gzip\r\ncontent-length: 1") + "ok",
            Closes,
            "200",
            Gone,
        ),
    ]);
}

#[test]
fn chunked_bodies_that_are_wrong() {
    check(&[
        case("no size", chunked("\r\nok\r\n0\r\n\r\n"), Waits, WRONG_CHUNK, Gone),
        case(
            "an extension without a size",
            chunked(";a\r\nok\r\n0\r\n\r\n"),
            Waits,
            WRONG_CHUNK,
            Gone,
        ),
        case("a blank before the size", chunked(" 2\r\nok\r\n0\r\n\r\n"), Waits, WRONG_CHUNK, Gone),
        case("a size that is none", chunked("g\r\nok\r\n0\r\n\r\n"), Waits, WRONG_CHUNK, Gone),
        case("a negative size", chunked("-2\r\nok\r\n0\r\n\r\n"), Waits, WRONG_CHUNK, Gone),
        case("a size with a prefix", chunked("0x2\r\nok\r\n0\r\n\r\n"), Waits, WRONG_CHUNK, Gone),
        case("a size of two words", chunked("2 2\r\nok\r\n0\r\n\r\n"), Waits, WRONG_CHUNK, Gone),
        case("a size of 2^64", chunked("10000000000000000\r\nok"), Waits, LONG_CHUNK, Gone),
        case(
            "a chunk of 2^63, and an end",
            chunked("8000000000000000\r\nok"),
            Closes,
            HUNG_UP,
            Gone,
        ),
        case("no return after a size", chunked("2\nok\r\n0\r\n\r\n"), Waits, WRONG_CHUNK, Gone),
        case("no line feed after a size", chunked("2\rok\r\n0\r\n\r\n"), Waits, WRONG_CHUNK, Gone),
        case(
            "a line feed in an extension",
            chunked("2;a\nb\r\nok\r\n0\r\n\r\n"),
            Waits,
            LONG_CHUNK,
            Gone,
        ),
        case(
            "an extension of 20 kB",
            chunked(&format!("2;{}\r\nok\r\n0\r\n\r\n", "x".repeat(20_000))),
            Waits,
            LONG_CHUNK,
            Gone,
        ),
        case("more than its size", chunked("2\r\nokay\r\n0\r\n\r\n"), Waits, WRONG_CHUNK, Gone),
        case("a trailer without a name", chunked("0\r\n: b\r\n\r\n"), Waits, WRONG_CHUNK, Gone),
        case(
            "a trailer that is none",
            chunked("0\r\nHTTP/1.1 200 OK\r\n\r\n"),
            Waits,
            WRONG_CHUNK,
            Gone,
        ),
        case(
            "no return after a trailer",
            chunked("0\r\nA: b\nc: d\r\n\r\n"),
            Waits,
            WRONG_CHUNK,
            Gone,
        ),
        case("no return at the end", chunked("0\r\n\n"), Waits, WRONG_CHUNK, Gone),
        case(
            "trailers of 20 kB",
            chunked(&format!("0\r\nx: {}\r\n\r\n", "y".repeat(20_000))),
            Waits,
            LONG_CHUNK,
            Gone,
        ),
        case(
            "101 trailers",
            chunked(&format!("0\r\n{}\r\n\r\n", lines(101))),
            Waits,
            LONG_CHUNK,
            Gone,
        ),
        case("an end in a size", chunked("2"), Closes, HUNG_UP, Gone),
        case("an end in a chunk", chunked("2\r\no"), Closes, HUNG_UP, Gone),
        case("an end after a chunk", chunked("2\r\nok\r\n"), Closes, HUNG_UP, Gone),
        case("an end in a trailer", chunked("0\r\nA: b\r\n"), Closes, HUNG_UP, Gone),
    ]);
}

#[test]
fn answers_without_a_length_or_a_body() {
    let version_1_0 = |line: &str| format!("HTTP/1.0 200 OK\r\n{line}\r\n");
    check(&[
        case("up to the end", "HTTP/1.1 200 OK\r\n\r\nok", Closes, "200", Gone),
        case("up to the end, in parts", "HTTP/1.1 200 OK\r\n\r\n|o|k", Closes, "200", Gone),
        case("nothing up to the end", "HTTP/1.1 200 OK\r\n\r\n", Closes, "200", Gone),
        case(
            "up to an end that does not come",
            "HTTP/1.1 200 OK\r\n\r\nok",
            Waits,
            "timeout",
            Gone,
        ),
        case("204", "HTTP/1.1 204 No Content\r\n\r\n", Waits, "204", Kept),
        case(
            "204 with a length",
            "HTTP/1.1 204 No Content\r\ncontent-length: 2\r\n\r\n",
            Waits,
            "204",
            Kept,
        ),
        case(
            "204 with a wrong length",
            "HTTP/1.1 204 No Content\r\ncontent-length: x\r\n\r\n",
            Waits,
            "204",
            Kept,
        ),
        case("304", "HTTP/1.1 304 Not Modified\r\ncontent-length: 2\r\n\r\n", Waits, "304", Kept),
        case("HEAD", head("content-length: 2"), Waits, "200", Kept).to(&["-X", "HEAD"]),
        case("HEAD, chunked", head("transfer-encoding: chunked"), Waits, "200", Kept)
            .to(&["-X", "HEAD"]),
        case("HEAD without a length", "HTTP/1.1 200 OK\r\n\r\n", Waits, "200", Kept)
            .to(&["-X", "HEAD"]),
        case("HEAD with a body", length(" 2"), Waits, "200", Gone).to(&["-X", "HEAD"]),
        case("CONNECT", "HTTP/1.1 200 OK\r\n\r\n", Waits, "200", Gone).to(&["-X", "CONNECT"]),
        case(
            "CONNECT that is refused",
            "HTTP/1.1 405 No\r\ncontent-length: 0\r\n\r\n",
            Waits,
            "405",
            Kept,
        )
        .to(&["-X", "CONNECT"]),
        case("HTTP/1.0", version_1_0("content-length: 2\r\n") + "ok", Closes, "200", Gone),
        case(
            "HTTP/1.0, left open",
            version_1_0("content-length: 2\r\n") + "ok",
            Waits,
            "200",
            Gone,
        ),
        case(
            "HTTP/1.0, kept",
            version_1_0("content-length: 2\r\nConnection: Keep-Alive\r\n") + "ok",
            Waits,
            "200",
            Kept,
        ),
        case("HTTP/1.0 up to the end", version_1_0("") + "ok", Closes, "200", Gone),
        case(
            "HTTP/1.0, chunked",
            version_1_0("transfer-encoding: chunked\r\n") + "0\r\n\r\n",
            Closes,
            INVALID,
            Gone,
        ),
    ]);
}

#[test]
fn answers_before_the_answer() {
    let early = "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n";
    let go_on = "HTTP/1.1 100 Continue\r\n\r\n";
    check(&[
        case("100", go_on.to_owned() + &length(" 2"), Waits, "200", Kept),
        case("100, and a pause", format!("{go_on}|{}", length(" 2")), Waits, "200", Kept),
        case(
            "several",
            [early, early, go_on].concat() + "|" + early + &length(" 2"),
            Waits,
            "200",
            Kept,
        ),
        case(
            "102 with a length",
            format!("HTTP/1.1 102 P\r\ncontent-length: 9\r\n\r\n{}", length(" 2")),
            Waits,
            "200",
            Kept,
        ),
        case(
            "103 with close",
            format!("HTTP/1.1 103 E\r\nconnection: close\r\n\r\n{}", length(" 2")),
            Waits,
            "200",
            Kept,
        ),
        case("only 100", go_on, Closes, HUNG_UP, Gone),
        case("100, and nonsense", format!("{go_on}nonsense\r\n\r\n"), Waits, INVALID, Gone),
        case("101", "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n", Waits, "101", Gone),
        case(
            "101 and more",
            "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\nmore",
            Waits,
            "101",
            Gone,
        ),
    ]);
}

#[test]
fn heads() {
    let answer = |head: &str| head.to_owned() + "content-length: 2\r\n\r\nok";
    let with = |line: &str| answer(&format!("HTTP/1.1 200 OK\r\n{line}\r\n"));
    check(&[
        case("404", "HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\nno", Waits, "404", Kept),
        case(
            "301",
            "HTTP/1.1 301 Moved\r\nlocation: /x\r\ncontent-length: 0\r\n\r\n",
            Waits,
            "301",
            Kept,
        ),
        case("999", answer("HTTP/1.1 999 Odd\r\n"), Waits, "999", Kept),
        case("no reason", answer("HTTP/1.1 200\r\n"), Waits, "200", Kept),
        case("an empty reason", answer("HTTP/1.1 200 \r\n"), Waits, "200", Kept),
        case("a reason in UTF-8", answer("HTTP/1.1 200 Größe\r\n"), Waits, "200", Kept),
        case("line feeds alone", "HTTP/1.1 200 OK\ncontent-length: 2\n\nok", Waits, "200", Kept),
        case("blank lines before it", "\r\n\r\n".to_owned() + &length(" 2"), Waits, "200", Kept),
        case("values in UTF-8", with("x: größe"), Waits, "200", Kept),
        case(
            "values in Latin-1",
            b"HTTP/1.1 200 OK\r\nx: gr\xf6\xdfe\r\ncontent-length: 2\r\n\r\nok",
            Waits,
            "200",
            Kept,
        ),
        case("100 headers", with(&lines(99)), Waits, "200", Kept),
        case("101 headers", with(&lines(100)), Waits, "200", Kept),
        case("500 headers", with(&lines(499)), Waits, "200", Kept),
        case("30 000 headers", with(&lines(29_999)), Waits, "200", Kept),
        case("50 000 headers", with(&lines(49_999)), Waits, TOO_LARGE, Gone),
        case("300 kB", with(&format!("x: {}", "y".repeat(300_000))), Waits, "200", Kept),
        case("1 MB", with(&format!("x: {}", "y".repeat(1_000_000))), Waits, TOO_LARGE, Gone),
        case(
            "a head without end",
            "HTTP/1.1 200 OK\r\nx: ".to_owned() + &"y".repeat(1_000_000),
            Waits,
            TOO_LARGE,
            Gone,
        ),
        case("status 0", answer("HTTP/1.1 000 Odd\r\n"), Waits, INVALID, Gone),
        case("status 99", answer("HTTP/1.1 099 Odd\r\n"), Waits, INVALID, Gone),
        case("status of 2 digits", answer("HTTP/1.1 20 OK\r\n"), Waits, INVALID, Gone),
        case("status of 4 digits", answer("HTTP/1.1 2000 OK\r\n"), Waits, INVALID, Gone),
        case("status of letters", answer("HTTP/1.1 OK\r\n"), Waits, INVALID, Gone),
        case("HTTP/2", answer("HTTP/2 200 OK\r\n"), Waits, INVALID, Gone),
        case("HTTP/1.2", answer("HTTP/1.2 200 OK\r\n"), Waits, INVALID, Gone),
        case("http/1.1", answer("http/1.1 200 OK\r\n"), Waits, INVALID, Gone),
        case("ICY", answer("ICY 200 OK\r\n"), Waits, INVALID, Gone),
        case("HTTP/0.9", "<html>ok</html>", Closes, INVALID, Gone),
        case("SSH", "SSH-2.0-OpenSSH_9.2\r\n", Waits, INVALID, Gone),
        case("TLS", b"\x15\x03\x01\x00\x02\x02\x46", Waits, INVALID, Gone),
        case("a frame of HTTP/2", b"\x00\x00\x00\x04\x00\x00\x00\x00\x00", Waits, INVALID, Gone),
        case("a line that is no header", with("nonsense"), Waits, INVALID, Gone),
        case("no name", with(": x"), Waits, INVALID, Gone),
        case("a blank before the colon", with("x : y"), Waits, INVALID, Gone),
        case("a line that goes on", with("x: a\r\n b"), Waits, INVALID, Gone),
        case("a return in a value", with("x: a\rb"), Waits, INVALID, Gone),
        case("a zero in a value", with("x: a\0b"), Waits, INVALID, Gone),
        case("a zero in a name", with("x\0: b"), Waits, INVALID, Gone),
    ]);
}

#[test]
fn connections_that_end() {
    let closing = |line: &str| head(&format!("{line}\r\ncontent-length: 2")) + "ok";
    check(&[
        case("close", closing("Connection: close"), Closes, "200", Gone),
        case("close, left open", closing("connection: Close"), Waits, "200", Gone),
        case("close in a list", closing("connection: x, close"), Waits, "200", Gone),
        case(
            "close, and then not",
            closing("connection: close\r\nconnection: keep-alive"),
            Waits,
            "200",
            Gone,
        ),
        case("keep-alive", closing("connection: keep-alive"), Waits, "200", Kept),
        case("closed without a word", length(" 2"), Closes, "200", Gone),
        case("asked to close", length(" 2"), Waits, "200", Gone).to(&["-H", "Connection: close"]),
        case("asked for one request each", length(" 2"), Waits, "200", Gone)
            .to(&["--disable-keepalive"]),
        case("nothing", "", Closes, HUNG_UP, Gone),
        case("blank lines", "\r\n\r\n", Closes, HUNG_UP, Gone),
        case("half a status", "HTTP/1", Closes, HUNG_UP, Gone),
        case("half a head", "HTTP/1.1 200 OK\r\ncontent-len", Closes, HUNG_UP, Gone),
        case("half a body", head("content-length: 4") + "ok", Closes, HUNG_UP, Gone),
        case("reset before it", "", Resets, RESET, Gone),
        case("reset in a head", "HTTP/1.1 200 OK\r\n", Resets, RESET, Gone),
        case("reset in a body", head("content-length: 4") + "ok", Resets, RESET, Gone),
        case("reset in a body without length", "HTTP/1.1 200 OK\r\n\r\nok", Resets, RESET, Gone),
        case("no answer", "", Waits, "timeout", Gone),
        case("half a head, and silence", "HTTP/1.1 200 OK\r\n", Waits, "timeout", Gone),
        case("half a body, and silence", head("content-length: 4") + "ok", Waits, "timeout", Gone),
        case("half a chunk, and silence", chunked("4\r\nok"), Waits, "timeout", Gone),
    ]);
}

/// Nobody has asked for them: the next request must not get them.
#[test]
fn bytes_behind_an_answer() {
    check(&[
        case("a second answer", length(" 2").repeat(2), Waits, "200", Gone),
        case("more than the length", length(" 1"), Waits, "200", Gone),
        case("a blank line", length(" 2") + "\r\n", Waits, "200", Gone),
        case("a body of 204", "HTTP/1.1 204 No Content\r\n\r\nok", Waits, "204", Gone),
        case("more than the chunks", chunked("0\r\n\r\nx"), Waits, "200", Gone),
        case(
            "a second answer, later",
            length(" 2"),
            Goes(b"HTTP/1.1 500 X\r\ncontent-length: 0\r\n\r\n"),
            "200",
            Gone,
        ),
        case(
            "a timeout, said later",
            length(" 2"),
            Goes(b"HTTP/1.1 408 X\r\nconnection: close\r\n\r\n"),
            "200",
            Gone,
        ),
        case("one byte, later", length(" 2"), Goes(b"x"), "200", Gone),
    ]);
}

#[test]
fn answers_to_a_request_that_is_not_there_yet() {
    // More than the buffers of a connection take.
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("body");
    fs::write(&path, vec![b'x'; 20_000_000]).unwrap();
    let options = ["-X", "PUT", "--body-file", path.to_str().unwrap()];
    let early = |case: Case| Case { is_early: true, ..case.to(&options) };
    // The rest of a request would delay the next one on the connection, and the server may never read it.
    check(&[
        early(case("a length", length(" 2"), Waits, "200", Gone)),
        early(case("chunked", chunked("2\r\nok\r\n0\r\n\r\n"), Waits, "200", Gone)),
        early(case("refused", "HTTP/1.1 413 X\r\ncontent-length: 0\r\n\r\n", Waits, "413", Gone)),
        case(
            "100 first",
            "HTTP/1.1 100 Continue\r\n\r\n".to_owned() + &length(" 2"),
            Waits,
            "200",
            Kept,
        )
        .to(&options),
    ]);
}
