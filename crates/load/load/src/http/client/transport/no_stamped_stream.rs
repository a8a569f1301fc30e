//! Replaces kernel timestamps on systems other than Linux, where the option `--kernel-timestamps` is an error.

use super::stream::Io;
use anyhow::bail;
use std::io::{self, ErrorKind};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::ReadBuf;
use tokio::net::{TcpListener, TcpStream};

#[derive(Debug)]
pub(crate) enum Begun {}

pub(crate) fn begin() -> anyhow::Result<Begun> {
    bail!("--kernel-timestamps: only Linux has them; leave the option out")
}

pub(crate) fn connection(_: TcpStream) -> io::Result<Box<dyn Io>> {
    Err(ErrorKind::Unsupported.into())
}

pub(crate) fn stamp_received(_: &TcpListener) {}

pub(crate) fn room() -> Vec<u8> {
    Vec::new()
}

pub(crate) fn poll_read(
    tcp: &TcpStream,
    cx: &mut Context<'_>,
    buf: &mut ReadBuf<'_>,
    _: &mut [u8],
) -> Poll<io::Result<Option<Duration>>> {
    loop {
        ready!(tcp.poll_read_ready(cx))?;
        match tcp.try_read(buf.initialize_unfilled()) {
            Ok(bytes) => {
                buf.advance(bytes);
                return Poll::Ready(Ok(None));
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Poll::Ready(Err(error)),
        }
    }
}
