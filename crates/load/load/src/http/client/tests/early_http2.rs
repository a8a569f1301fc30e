//! Tests HTTP/2 servers that respond before they have read the whole request, and then stop reading.

use super::broken::{Broken, RESET};
use super::frames::{DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, RST_STREAM, SETTINGS, frame};
use super::{block_on, plan};
use crate::http::client::failure::Failure;
use crate::http::client::plan::{Memory, Plan};
use crate::http::client::transport::http2::Connection;
use crate::running::workers::deadline::Deadline;
use std::io::{self, ErrorKind, Write};
use std::time::Duration;
use tempfile::NamedTempFile;

fn head(status: u16, flags: u8) -> Vec<u8> {
    // This is an HPACK literal. Its name `:status` comes from entry 8 of the static table.
    let status = [&[0x08, 3], status.to_string().as_bytes()].concat();
    frame(HEADERS, END_HEADERS | flags, 1, &status)
}

#[test]
fn a_response_over_http2_is_read_after_sending_has_failed() {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(b"\xff").unwrap();
    file.as_file().set_len(65 << 20).unwrap();
    let in_memory = "x".repeat(1_000_000);
    let plans = [["-d", &in_memory], ["-D", file.path().to_str().unwrap()]].map(|body| {
        plan("http://127.0.0.1:1/", &[&["--http2"], &body[..]].concat(), Duration::MAX).unwrap()
    });
    let outcome = |plan: &Plan, mut broken: Broken, parts: &[Vec<u8>]| {
        (broken.takes, broken.first) = (10_000, frame(SETTINGS, 0, 0, &[]));
        broken.parts.extend(parts.iter().cloned());
        block_on(async {
            let mut connection = Connection::open(Box::new(broken)).await.unwrap();
            let request = plan.http2(plan.of_slot(0), &mut Memory::new()).unwrap();
            let mut deadline = Deadline::new(Duration::from_secs(60));
            let status = connection.exchange(request, &mut deadline, None).await;
            assert!(connection.is_over() && !connection.is_ready(&mut deadline).await);
            status.map(|status| status.as_u16())
        })
    };
    let no_error = frame(RST_STREAM, 0, 1, &[0; 4]);
    let goaway = frame(GOAWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0]);
    let (some, all) = (frame(DATA, 0, 1, b"x"), frame(DATA, END_STREAM, 1, b"yes"));
    let cut = Err(Failure::Status(503));
    for write_error in [RESET, ErrorKind::BrokenPipe] {
        let kept = Err(Failure::from(&io::Error::from(write_error)));
        for end in [Ok(()), Err(RESET)] {
            for (parts, expected) in [
                (vec![head(413, END_STREAM)], Ok(413)),
                (vec![head(413, END_STREAM), no_error.clone()], Ok(413)),
                (vec![head(429, 0), some.clone(), all.clone()], Ok(429)),
                (vec![head(401, 0), all.clone(), goaway.clone()], Ok(401)),
                (vec![head(200, END_STREAM)], Ok(200)),
                (vec![head(200, 0), all.clone(), no_error.clone()], Ok(200)),
                (vec![head(503, 0), some.clone()], cut),
                (vec![head(503, 0)], cut),
                (vec![head(200, 0), some.clone()], kept),
                (vec![head(200, 0)], kept),
                (vec![], kept),
            ] {
                for (plan, pauses) in plans.iter().flat_map(|plan| [(plan, true), (plan, false)]) {
                    for parts in [&parts[..], &[parts.concat()]] {
                        let broken = Broken { pauses, ..Broken::new(write_error, end) };
                        let told = format!("{write_error} {end:?} {pauses} {parts:?}");
                        assert_eq!(outcome(plan, broken, parts), expected, "{told}");
                    }
                }
            }
        }
    }
}
