//! Tests the delays of requests that are computed from kernel timestamps.

use super::{block_on, plan, session};
use crate::http::client::transport::http1::Connection;
use crate::http::client::transport::http1::head::ExpectedResponse;
use crate::http::client::transport::http1::request::Outgoing;
use crate::http::client::transport::kernel_delays::KernelDelays;
use crate::http::client::transport::stream::{Delays, Io};
use crate::load::own_times::Part;
use crate::running::workers::deadline::Deadline;
use nanopace::Nanos;
use std::fs;
use std::io::{self, Write};
use std::net::TcpListener;
use std::pin::Pin;
use std::sync::mpsc;
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf, duplex};

struct Prompt(DuplexStream);

const PROMPT: Delays = Delays { sending: Some(Duration::ZERO), reading: Some(Duration::ZERO) };

impl Io for Prompt {
    fn delays(&mut self) -> Option<Delays> {
        Some(PROMPT)
    }
}

impl AsyncRead for Prompt {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Prompt {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

#[test]
fn a_request_that_is_sent_in_part_has_no_timestamp() {
    for (length, sending) in [(10, PROMPT.sending), (11, None)] {
        let (client, mut server) = duplex(10);
        let mut connection = Connection::new(Box::new(Prompt(client)));
        let body = vec![b'x'; length];
        let (parts, asked) = ([&body[..], b"", b"", b"", b""], ExpectedResponse::Whole);
        let request = Outgoing { parts, file: None, asked, is_last: false };
        let status = block_on(async {
            let mut deadline = Deadline::new(Duration::from_secs(60));
            let answer = server.write_all(b"HTTP/1.1 204 No Content\r\n\r\n");
            tokio::join!(connection.exchange(&request, &mut deadline, None), answer).0
        });
        assert_eq!(status.unwrap().as_u16(), 204);
        assert_eq!(connection.delays(), Some(Delays { sending, ..PROMPT }), "{length}");
    }
}

#[test]
fn a_request_that_is_not_sent_yet_has_no_timestamp() {
    // The body is too large for the buffers of the connection.
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("body");
    fs::write(&path, vec![b'x'; 20_000_000]).unwrap();
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (answered, over) = mpsc::channel::<()>();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
        // This waits until the test drops its end of the channel. Until then, the server reads nothing.
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
    let own = plan.kernel.iter().flat_map(KernelDelays::take);
    let sent = own.filter(|own| own.part == Part::Sending).map(|own| own.untimed);
    assert_eq!(sent.collect::<Vec<_>>(), [1]);
    drop(answered);
    server.join().unwrap();
}
