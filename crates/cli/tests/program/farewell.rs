//! HTTP/2 servers that end a connection by a GOAWAY: it says which request was the last one, and
//! costs none of those that came too late.

use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;

/// Types and flags of frames (RFC 9113, section 6).
const DATA: u8 = 0x0;
const HEADERS: u8 = 0x1;
const SETTINGS: u8 = 0x4;
const PING: u8 = 0x6;
const GOAWAY: u8 = 0x7;
const END_STREAM: u8 = 0x1;
const END_HEADERS: u8 = 0x4;

/// `:status: 200` of the static table of HPACK.
const STATUS_200: &[u8] = &[0x88];
/// The first request of a connection was the last one; no error.
const FIRST_WAS_LAST: &[u8] = &[0, 0, 0, 1, 0, 0, 0, 0];

fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap();
    [&[0, 0, length, kind, flags, 0, 0, 0, stream], payload].concat()
}

/// The server's side of a connection.
struct Served {
    stream: TcpStream,
    /// How many there were before it. The first one is that of the probe.
    number: usize,
}

impl Served {
    fn begin(mut stream: TcpStream, number: usize) -> io::Result<Served> {
        stream.read_exact(&mut [0; "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len()])?;
        stream.write_all(&frame(SETTINGS, 0, 0, &[]))?;
        Ok(Served { stream, number })
    }

    /// Reads up to the next frame of a kind.
    fn await_frame(&mut self, awaited: u8) -> io::Result<()> {
        loop {
            let mut head = [0; 9];
            self.stream.read_exact(&mut head)?;
            let [_, high, low, kind, ..] = head;
            self.stream.read_exact(&mut vec![0; usize::from(u16::from_be_bytes([high, low]))])?;
            if kind == awaited {
                return Ok(());
            }
        }
    }

    fn write(&mut self, frames: &[Vec<u8>]) -> io::Result<()> {
        self.stream.write_all(&frames.concat())
    }
}

/// What a run of 30 requests reports, on one connection at a time that is served by `serve`.
fn results(serve: fn(&mut Served) -> io::Result<()>) -> Value {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    thread::spawn(move || {
        for (number, stream) in listener.incoming().flatten().enumerate() {
            // Until the client hangs up.
            thread::spawn(move || serve(&mut Served::begin(stream, number)?));
        }
    });
    // As fast as it can: each slot is due when the answer to the one before it is there.
    let line = "run --http2 -c 1 --rate 1M/s --requests 30 --timeout 1min --json -";
    let mut command = Command::new(env!("CARGO_BIN_EXE_nanopace"));
    command.args(line.split_whitespace()).args(["--url", &url]).stdin(Stdio::null());
    let output = command.output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[test]
fn a_request_that_came_too_late_is_sent_again() {
    let results = results(|served| {
        served.await_frame(HEADERS)?;
        served.write(&[frame(HEADERS, END_HEADERS | END_STREAM, 1, STATUS_200)])?;
        served.await_frame(HEADERS)?;
        served.write(&[frame(GOAWAY, 0, 0, FIRST_WAS_LAST)])?;
        served.await_frame(GOAWAY)
    });
    assert_eq!((&results["completed"], &results["failed"]), (&30.into(), &0.into()), "{results}");
    assert_eq!(results["set_up_time_ns"]["count"], 30, "{results}");
}

/// The end of the answer and that of the connection arrive together. The next request is due before
/// the connection has closed itself, and is never written.
#[test]
fn a_request_that_was_not_written_is_sent_on_another_connection() {
    let results = results(|served| {
        served.await_frame(HEADERS)?;
        served.write(&[frame(HEADERS, END_HEADERS, 1, STATUS_200), frame(PING, 0, 0, &[0; 8])])?;
        // The client waits for the rest of the answer.
        served.await_frame(PING)?;
        served
            .write(&[frame(GOAWAY, 0, 0, FIRST_WAS_LAST), frame(DATA, END_STREAM, 1, b"hello")])?;
        served.await_frame(GOAWAY)
    });
    assert_eq!((&results["completed"], &results["failed"]), (&30.into(), &0.into()), "{results}");
    assert_eq!(results["set_up_time_ns"]["count"], 30, "{results}");
}

#[test]
fn a_server_that_takes_nothing_fails_each_request() {
    let results = results(|served| {
        served.await_frame(HEADERS)?;
        served.write(&match served.number {
            0 => [frame(HEADERS, END_HEADERS | END_STREAM, 1, STATUS_200)],
            _ => [frame(GOAWAY, 0, 0, &[0; 8])],
        })?;
        served.await_frame(GOAWAY)
    });
    assert_eq!((&results["completed"], &results["failed"]), (&0.into(), &30.into()), "{results}");
    let told = "the server closed the connection to new requests";
    assert_eq!(results["failures"][told], 30, "{results}");
    // Only the first request had a connection that was open, and so a second attempt.
    assert_eq!(results["set_up_time_ns"]["count"], 31, "{results}");
}
