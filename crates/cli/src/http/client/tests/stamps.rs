//! What is known of a request by the stamps of the kernel.

use super::{block_on, plan, session};
use crate::http::client::kernel::Kernel;
use nanopace::Nanos;
use nanopace_load::load::own_times::Part;
use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// Nobody knows when it was, although the answer is there.
#[test]
fn a_request_that_is_not_sent_yet_has_no_stamp() {
    // More than the buffers of a connection take.
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("body");
    fs::write(&path, vec![b'x'; 20_000_000]).unwrap();
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (answered, over) = mpsc::channel::<()>();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
        // Until then, nothing is read.
        over.recv().unwrap_err();
    });
    let options = ["--kernel-timestamps", "--body-file", path.to_str().unwrap()];
    let plan = plan(&url, &options, Duration::from_secs(60)).unwrap();
    let (answer, _) = block_on(async {
        let mut session = session(&plan);
        session.is_recorded = true;
        session.send(0, Nanos::ZERO).await
    });
    assert_eq!(answer.status.unwrap().as_u16(), 200);
    let own = plan.kernel.iter().flat_map(Kernel::take);
    let sent = own.filter(|own| own.part == Part::Sending).map(|own| own.unknown);
    assert_eq!(sent.collect::<Vec<_>>(), [1]);
    drop(answered);
    server.join().unwrap();
}
