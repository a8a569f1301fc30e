//! Tests HTTP/2 servers that reset streams, close connections, or send long responses.

use crate::frames::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, RST_STREAM, STATUS_200, Served,
    answer, frame, results, results_of,
};
use serde_json::Value;
use std::io;
use std::sync::mpsc;

/// Error codes (RFC 9113, section 7).
const NO_ERROR: u8 = 0x0;
const INTERNAL_ERROR: u8 = 0x2;
const REFUSED_STREAM: u8 = 0x7;
const ENHANCE_YOUR_CALM: u8 = 0xb;

fn reset(stream: u8, code: u8) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &[0, 0, 0, code])
}

fn begin(stream: u8) -> Vec<u8> {
    let head = frame(HEADERS, END_HEADERS, stream, STATUS_200);
    [head, frame(DATA, 0, stream, b"hello")].concat()
}

fn assert_only(serve: fn(&mut Served) -> io::Result<()>, failed: u64, told: &str) {
    let results = results(serve);
    assert_eq!(counts(&results), (30 - failed, failed), "{results}");
    let expected = if failed > 0 { Value::from(failed) } else { Value::Null };
    assert_eq!(results["failures"][told], expected, "{results}");
    assert_eq!(results["set_up_time_ns"]["count"], 1, "{results}");
}

fn counts(results: &Value) -> (u64, u64) {
    let count = |name: &str| results[name].as_u64().unwrap();
    (count("completed"), count("failed"))
}

#[test]
fn a_stream_that_is_reset_fails_alone() {
    let told = "the server reset the stream: unexpected internal error encountered";
    let serve = |served: &mut Served| {
        served.answer_by(|stream, turn| match turn % 3 {
            0 => vec![reset(stream, INTERNAL_ERROR)],
            1 => vec![begin(stream), reset(stream, INTERNAL_ERROR)],
            _ => vec![answer(stream)],
        })
    };
    assert_only(serve, 20, told);
}

/// A reset without an error does not complete a response. After a complete response, the reset only ends the request.
#[test]
fn a_response_that_is_reset_is_not_complete() {
    let serve = |served: &mut Served| {
        served.answer_by(|stream, turn| {
            let end = frame(DATA, END_STREAM, stream, b"all");
            match turn % 2 {
                0 => vec![begin(stream), reset(stream, NO_ERROR)],
                _ => vec![begin(stream), end, reset(stream, NO_ERROR)],
            }
        })
    };
    assert_only(serve, 15, "the server reset the stream: not a result of an error");
}

#[test]
fn a_stream_that_times_out_is_reset_and_the_others_continue() {
    let (sender, seen) = mpsc::channel();
    let serve = move |served: &mut Served| {
        loop {
            let (kind, stream) = served.next_frame()?;
            let _ = sender.send((served.number, kind, stream));
            if kind == HEADERS && (served.number, stream) != (1, 1) {
                served.write(&[answer(stream)])?;
            }
        }
    };
    let results = results_of("-c 3 --threads 1 --streams 3 --rate 15/s --timeout 1s", serve);
    let (completed, failed) = counts(&results);
    assert_eq!((completed + failed, &results["failures"]["timeout"]), (30, &failed.into()));
    assert!(failed >= 1 && completed > 1, "{results}");
    assert_eq!(results["set_up_time_ns"]["count"], 1, "{results}");
    let seen: Vec<_> = seen.try_iter().filter(|(number, ..)| *number > 0).collect();
    let reset = seen.iter().position(|frame| *frame == (1, RST_STREAM, 1)).unwrap();
    let is_request = |frame: &&(usize, u8, u8)| frame.1 == HEADERS;
    assert_eq!(seen.iter().filter(is_request).count(), 30);
    assert!(seen[reset..].iter().any(|frame| is_request(&frame)), "{seen:?}");
}

#[test]
fn a_stream_that_is_refused_is_sent_once_more() {
    let serve = |served: &mut Served| {
        served.answer_by(|stream, turn| match turn % 2 {
            0 => vec![reset(stream, REFUSED_STREAM)],
            _ => vec![answer(stream)],
        })
    };
    assert_only(serve, 0, "the server refused the stream");
    let serve = |served: &mut Served| {
        served.answer_by(|stream, turn| match turn % 3 {
            0 | 1 => vec![reset(stream, REFUSED_STREAM)],
            _ => vec![answer(stream)],
        })
    };
    assert_only(serve, 15, "the server refused the stream");
}

#[test]
fn requests_that_a_shared_connection_did_not_process_are_sent_on_another_one() {
    let serve = |served: &mut Served| {
        let stream = served.await_frame(HEADERS)?;
        let last = frame(GOAWAY, 0, 0, &[0, 0, 0, stream, 0, 0, 0, NO_ERROR]);
        served.write(&[answer(stream), last])?;
        served.hang_up()
    };
    for options in ["-c 1", "-c 5 --streams 5 --threads 1", "-c 12 --streams 4 --threads 2"] {
        let results = results_of(&format!("{options} --rate 1M/s --timeout 1min"), serve);
        assert_eq!(counts(&results), (30, 0), "{options}: {results}");
        assert_eq!(results["retried"], 0, "{options}: {results}");
    }
}

#[test]
fn a_server_that_ends_the_connection_has_hung_up() {
    for serve in [
        |served: &mut Served| {
            served.answer_by(|_, _| {
                vec![frame(GOAWAY, 0, 0, &[0, 0, 0, 0, 0, 0, 0, ENHANCE_YOUR_CALM])]
            })
        },
        |served: &mut Served| {
            let stream = served.await_frame(HEADERS)?;
            served.write(&if served.number == 0 { vec![answer(stream)] } else { vec![] })?;
            served.hang_up()
        },
        |served: &mut Served| {
            let stream = served.await_frame(HEADERS)?;
            served.write(&[if served.number == 0 { answer(stream) } else { begin(stream) }])?;
            served.hang_up()
        },
    ] {
        let results = results(serve);
        assert_eq!(counts(&results), (0, 30), "{results}");
        assert_eq!(results["failures"]["the server hung up"], 30, "{results}");
    }
}

#[test]
fn a_request_on_a_connection_that_was_closed_while_idle_is_sent_again() {
    let serve = |served: &mut Served| {
        let stream = served.await_frame(HEADERS)?;
        served.write(&[answer(stream)])?;
        served.await_frame(HEADERS)?;
        served.hang_up()
    };
    for (options, failed, retried) in
        [("", 0, 29), ("--streams 2", 0, 29), ("--no-retry-idle", 15, 0), ("-X POST", 15, 0)]
    {
        let results = results_of(&format!("-c 1 --rate 1M/s --timeout 1min {options}"), serve);
        assert_eq!(counts(&results), (30 - failed, failed), "{options}: {results}");
        assert_eq!(results["retried"], retried, "{options}: {results}");
        let told = &results["failures"]["closed while idle"];
        assert_eq!(told.as_u64().unwrap_or(0), failed, "{options}: {results}");
    }
}

#[test]
fn the_failure_for_a_long_head_names_its_length() {
    let serve = |served: &mut Served| {
        served.answer_by(|stream, turn| {
            if turn == 0 {
                return vec![answer(stream)];
            }
            let header = [&b"\x40\x01x\x7f\x81\x7c"[..], &[b'y'; 16_000]].concat();
            let more = frame(CONTINUATION, 0, stream, &header);
            let mut frames = vec![frame(HEADERS, END_STREAM, stream, STATUS_200)];
            frames.extend(std::iter::repeat_n(more, 27));
            frames.push(frame(CONTINUATION, END_HEADERS, stream, &header));
            frames
        })
    };
    let results = results(serve);
    let told = "not a valid HTTP/2 response, or its head is longer than 400 kB, or it has too many small frames";
    assert!(results["failures"][told].as_u64() > Some(0), "{results}");
}

#[test]
fn a_response_may_have_long_headers() {
    let serve = |served: &mut Served| {
        served.answer_by(|stream, _| {
            // This is an HPACK literal with the name `x` and a value of 16 000 bytes.
            let header = [&b"\x40\x01x\x7f\x81\x7c"[..], &[b'y'; 16_000]].concat();
            vec![
                frame(HEADERS, END_STREAM, stream, STATUS_200),
                frame(CONTINUATION, 0, stream, &header),
                frame(CONTINUATION, END_HEADERS, stream, &header),
            ]
        })
    };
    assert_only(serve, 0, "not a valid HTTP response");
}
