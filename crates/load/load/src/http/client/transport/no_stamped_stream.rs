//! Replaces the module for kernel timestamps on systems other than Linux, where `--kernel-timestamps` is an error.

use super::stream::Io;
use anyhow::bail;
use std::io::{self, ErrorKind};
use tokio::net::TcpStream;

/// A recording of timestamps that has started, which cannot exist on this system.
#[derive(Debug)]
pub(crate) enum Begun {}

/// Returns an error, because this system has no such timestamps.
pub(crate) fn begin() -> anyhow::Result<Begun> {
    bail!("--kernel-timestamps: only Linux has them; leave the option out")
}

/// Cannot be called, because `begin` always fails.
pub(crate) fn connection(_: TcpStream) -> io::Result<Box<dyn Io>> {
    Err(ErrorKind::Unsupported.into())
}
