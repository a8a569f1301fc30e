//! Tests limits of the generator's machine, which must not be attributed to the target.

#![cfg(target_os = "linux")]

use crate::command::{nanopace, object, scratch, signal};
use crate::running::at_work;
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::thread;
use std::time::Duration;

fn count(results: &Value, kind: &str) -> u64 {
    results["failures"][kind].as_u64().unwrap_or(0)
}

fn fails(csv: &Path) -> bool {
    let text = fs::read_to_string(csv).unwrap();
    let column = |index: usize| -> u64 {
        let cells = text.lines().skip(1).filter_map(|line| line.split(',').nth(index));
        cells.filter_map(|cell| cell.parse::<u64>().ok()).sum()
    };
    let [started, failed] = [3, 5].map(column);
    failed * 50 > started
}

/// Once the limit is lowered, no connection can be opened, and each request needs a new connection.
#[test]
fn too_many_open_files_are_a_failure_of_the_generator() {
    let csv = scratch("shortage.csv");
    let csv_path = csv.display();
    let load = "run --rate 100 -c 2 --duration 1h --disable-keepalive --json -";
    let (child, mut progress) = at_work(&format!("{load} --csv {csv_path}"));
    let few = Rlimit { current: Some(8), maximum: Some(20_000) };
    let process = Pid::from_raw(child.id().try_into().unwrap());
    prlimit(process, Resource::Nofile, few).unwrap();
    while !fails(&csv) {
        thread::sleep(Duration::from_millis(100));
    }
    signal(child.id(), "-INT");
    // Standard output is read first. The object is written before the report, and is larger than a pipe's buffer, so
    // the program would wait forever if standard error were read first.
    let results = object(&child.wait_with_output().unwrap());
    let mut report = String::new();
    progress.errors.read_to_string(&mut report).unwrap();
    let kind = "too many open files (EMFILE)";
    let failed = count(&results, kind);
    // A connection may have remained in the accept queue of the target, which could not accept it.
    assert!(failed > 0, "{results}");
    assert_eq!(results["verdict"], "generator-failing", "{results}");
    let told = format!(
        "caution   {failed} requests failed because of a limit of the generator's machine, "
    );
    let advice =
        "\nadvice    raise the limit of open files (ulimit -n), or use fewer connections\n";
    assert!(report.contains(&told) && report.contains(advice), "{report}");
}

/// Starts a server that responds to one request, and then accepts no more connections.
fn full(path: &Path) {
    let _ = fs::remove_file(path);
    let listener = UnixListener::bind(path).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut requests = BufReader::new(stream.try_clone().unwrap());
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(requests.read_line(&mut head).unwrap(), 0);
        }
        stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
        thread::park();
    });
}

#[test]
fn the_failure_for_a_full_queue_of_a_unix_socket_has_advice() {
    let path = scratch("full.sock");
    full(&path);
    let socket = path.to_str().unwrap();
    let few = "run --rate 1k/s -n 100 -c 4 --timeout 1s --json - --url http://h/ --unix-socket";
    let output = nanopace(few).arg(socket).output().unwrap();
    let results = object(&output);
    // The first connection is in the accept queue, so its request waits for the timeout.
    let failed = count(&results, "resource temporarily unavailable (EAGAIN)");
    assert!(failed >= 50, "{results}");
    assert_eq!(results["verdict"], "generator-failing", "{results}");
    let report = String::from_utf8_lossy(&output.stderr);
    assert!(
        report.contains("raise the server's listen backlog and net.core.somaxconn"),
        "{report}"
    );
}
