//! In place of stamps of the kernel, where it is not Linux: nobody can ask for them.

use super::stream::Io;
use anyhow::bail;
use std::io::{self, ErrorKind};
use tokio::net::TcpStream;

/// There is none.
#[derive(Debug)]
pub(crate) enum Begun {}

/// Refuses.
pub(crate) fn begin() -> anyhow::Result<Begun> {
    bail!("--kernel-timestamps: only Linux has them; leave the option out")
}

/// Nobody has begun.
pub(crate) fn connection(_: TcpStream) -> io::Result<Box<dyn Io>> {
    Err(ErrorKind::Unsupported.into())
}
