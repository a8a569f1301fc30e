//! Tests HTTP/2 servers that end connections with a GOAWAY.

use crate::frames::{
    DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING, STATUS_200, answer, frame, results,
};

/// The payload of a GOAWAY without an error. The last processed request is the first one of the connection.
const FIRST_WAS_LAST: &[u8] = &[0, 0, 0, 1, 0, 0, 0, 0];

#[test]
fn a_request_that_came_too_late_is_sent_again() {
    let results = results(|served| {
        served.await_frame(HEADERS)?;
        served.write(&[answer(1)])?;
        served.await_frame(HEADERS)?;
        served.write(&[frame(GOAWAY, 0, 0, FIRST_WAS_LAST)])?;
        served.await_frame(GOAWAY).map(drop)
    });
    assert_eq!((&results["completed"], &results["failed"]), (&30.into(), &0.into()), "{results}");
    assert_eq!(results["set_up_time_ns"]["count"], 30, "{results}");
}

/// The next request is due before the connection has closed, and is never written on that connection.
#[test]
fn a_request_that_was_not_written_is_sent_on_another_connection() {
    let results = results(|served| {
        served.await_frame(HEADERS)?;
        served.write(&[frame(HEADERS, END_HEADERS, 1, STATUS_200), frame(PING, 0, 0, &[0; 8])])?;
        served.await_frame(PING)?;
        served
            .write(&[frame(GOAWAY, 0, 0, FIRST_WAS_LAST), frame(DATA, END_STREAM, 1, b"hello")])?;
        served.await_frame(GOAWAY).map(drop)
    });
    assert_eq!((&results["completed"], &results["failed"]), (&30.into(), &0.into()), "{results}");
    assert_eq!(results["set_up_time_ns"]["count"], 30, "{results}");
}

#[test]
fn a_server_that_processes_no_request_fails_each_of_them() {
    let results = results(|served| {
        served.await_frame(HEADERS)?;
        served.write(&match served.number {
            0 => [answer(1)],
            _ => [frame(GOAWAY, 0, 0, &[0; 8])],
        })?;
        served.await_frame(GOAWAY).map(drop)
    });
    assert_eq!((&results["completed"], &results["failed"]), (&0.into(), &30.into()), "{results}");
    let told = "the server closed the connection to new requests";
    assert_eq!(results["failures"][told], 30, "{results}");
    // Only the first request had an open connection, and therefore a second attempt.
    assert_eq!(results["set_up_time_ns"]["count"], 31, "{results}");
}
