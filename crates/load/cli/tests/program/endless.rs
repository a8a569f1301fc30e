//! Servers whose answers never end: each request is given up when its time is over.

use crate::beside::side_by_side;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;

const ANSWER: &[u8] = b"HTTP/1.1 204 No Content\r\n\r\n";

/// Reads the head of a request, and writes this and what follows for ever.
fn serve(mut stream: TcpStream, head: &[u8], endless: &[u8]) {
    let lines = BufReader::new(stream.try_clone().unwrap()).lines();
    if lines.map_while(Result::ok).any(|line| line.is_empty()) && stream.write_all(head).is_ok() {
        // Until the client hangs up.
        while !endless.is_empty() && stream.write_all(endless).is_ok() {}
    }
}

/// What a run reports whose answers begin and go on like that. The probe gets an ordinary one.
fn results(head: &'static [u8], part: &'static [u8]) -> Value {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    thread::spawn(move || {
        serve(listener.accept().unwrap().0, ANSWER, b"");
        for stream in listener.incoming().flatten() {
            thread::spawn(move || serve(stream, head, &part.repeat(20_000)));
        }
    });
    let line = "run -c 2 --threads 1 --rate 100/s --requests 4 --timeout 200ms --json -";
    let mut command = Command::new(env!("CARGO_BIN_EXE_nanopace"));
    command.args(line.split_whitespace()).args(["--url", &url]).stdin(Stdio::null());
    let output = command.output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[test]
fn an_answer_that_never_ends_is_given_up() {
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let answers = [(&chunked[..], &b"1\r\nx\r\n"[..]), (b"", b"HTTP/1.1 102 P\r\n\r\n")];
    side_by_side(answers, |(head, part)| {
        let results = results(head, part);
        assert_eq!((&results["completed"], &results["failed"]), (&0.into(), &4.into()));
        assert_eq!(results["failures"]["timeout"], 4, "{results}");
    });
}
