//! Runs a minimal client. Each connection repeats one request, and reads each response up to its content length.

use crate::Fallible;
use httparse::{EMPTY_HEADER, Response};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::task::JoinSet;

pub(crate) fn run(server: SocketAddr, connections: u32, time: Duration) -> Fallible<u64> {
    let end = Instant::now() + time;
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let count = u32::try_from(cores)?.min(connections);
    let shares = (0..count).map(|index| (connections + index) / count);
    let threads = shares.map(|own| thread::spawn(move || alone(server, own, end)));
    let threads: Vec<_> = threads.collect();
    let mut answered = 0;
    for thread in threads {
        answered += thread.join().map_err(|_| "a thread of the bare loop panicked")??;
    }
    Ok(answered)
}

fn alone(server: SocketAddr, connections: u32, end: Instant) -> io::Result<u64> {
    Builder::new_current_thread().enable_all().build()?.block_on(async {
        let mut tasks: JoinSet<io::Result<u64>> =
            (0..connections).map(|_| connection(server, end)).collect();
        let mut answered = 0;
        while let Some(own) = tasks.join_next().await {
            answered += own.map_err(io::Error::other)??;
        }
        Ok(answered)
    })
}

async fn connection(server: SocketAddr, end: Instant) -> io::Result<u64> {
    let mut stream = TcpStream::connect(server).await?;
    stream.set_nodelay(true)?;
    let request = format!("GET / HTTP/1.1\r\nhost: {server}\r\n\r\n");
    let mut buffer = vec![0; 8192];
    let mut answered = 0;
    while Instant::now() < end {
        stream.write_all(request.as_bytes()).await?;
        let mut read = 0;
        while !is_whole(&buffer[..read])? {
            match stream.read(&mut buffer[read..]).await? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                bytes => read += bytes,
            }
        }
        answered += 1;
    }
    Ok(answered)
}

fn is_whole(bytes: &[u8]) -> io::Result<bool> {
    let mut headers = [EMPTY_HEADER; 16];
    let mut answer = Response::new(&mut headers);
    let head = answer.parse(bytes).map_err(io::Error::other)?;
    let httparse::Status::Complete(head) = head else { return Ok(false) };
    let length = answer.headers.iter().find(|it| it.name.eq_ignore_ascii_case("content-length"));
    let length = length.and_then(|it| str::from_utf8(it.value).ok()?.parse::<usize>().ok());
    let length = length.ok_or_else(|| io::Error::other("a response without a Content-Length"))?;
    Ok(bytes.len() >= head + length)
}
