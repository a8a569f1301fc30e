//! Tests servers whose responses never end. The client gives up each request at its timeout.

use crate::running::{results, side_by_side};
use crate::server::{Asked, serving};
use std::io::{BufReader, Write};

#[test]
fn an_endless_response_is_given_up() {
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let answers = [(&chunked[..], &b"1\r\nx\r\n"[..]), (b"", b"HTTP/1.1 102 P\r\n\r\n")];
    side_by_side(answers, |(head, part)| {
        let address = serving(move |mut stream, connection| {
            let asked = Asked::read(&mut BufReader::new(stream.try_clone()?), connection);
            if connection == 0 || asked.is_none() {
                return stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n");
            }
            stream.write_all(head)?;
            loop {
                stream.write_all(&part.repeat(20_000))?;
            }
        });
        let options = "-c 2 --threads 1 --rate 100/s --requests 4 --timeout 200ms";
        let results = results(&format!("run {options} --url http://{address}/"));
        assert_eq!((&results["completed"], &results["failed"]), (&0.into(), &4.into()));
        assert_eq!(results["failures"]["timeout"], 4, "{results}");
    });
}
