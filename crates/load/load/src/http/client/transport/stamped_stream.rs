//! Implements a TCP stream for which the kernel records when bytes were sent and received (`SO_TIMESTAMPING` of Linux).
//!
//! The kernel returns a receive timestamp together with the bytes that are read. It puts a send timestamp into the
//! error queue of the socket. While this queue is not empty, epoll reports `EPOLLERR`, which tokio stores as a failed
//! write. There are two measures against this:
//!
//! * After each write, the stream empties the queue at once. Most timestamps have arrived by then.
//! * If a task has to wait before it can write, the stream registers the socket anew. The new registration has no
//!   `EPOLLERR` state.
//!
//! <https://docs.kernel.org/networking/timestamping.html>

use super::stream::{Delays, Io};
use anyhow::Context as _;
use nix::sys::socket::sockopt::Timestamping;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, RecvMsg, SockFlag, SockType, TimestampingFlag,
    recvmsg, setsockopt, socket,
};
use nix::sys::time::TimeSpec;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

const STAMPED: TimestampingFlag = TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE
    .union(TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE)
    .union(TimestampingFlag::SOF_TIMESTAMPING_TX_SOFTWARE)
    .union(TimestampingFlag::SOF_TIMESTAMPING_OPT_TSONLY);

/// A send timestamp contains the number of the sent byte, counted from the time at which this option was set.
const COUNTED: TimestampingFlag = STAMPED.union(TimestampingFlag::SOF_TIMESTAMPING_OPT_ID);

/// A socket that requests timestamps and is never connected. The kernel records timestamps only while at least one
/// socket requests them. Because of this socket, each connection gets timestamps from its first byte on.
#[derive(Debug)]
pub(crate) struct Begun {
    _socket: OwnedFd,
}

pub(crate) fn begin() -> anyhow::Result<Begun> {
    let refused = "--kernel-timestamps: the kernel refuses SO_TIMESTAMPING; leave the option out";
    let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    setsockopt(&socket, Timestamping, &STAMPED).context(refused)?;
    Ok(Begun { _socket: socket })
}

/// Creates a stream with timestamps from a connection on which no bytes have been sent.
pub(crate) fn connection(tcp: TcpStream) -> io::Result<Box<dyn Io>> {
    Ok(Box::new(Stamped::new(tcp)?))
}

/// A TCP stream with timestamps. Only one task may read and write the stream.
struct Stamped {
    tcp: TcpStream,
    written: u64,
    /// The time at which the last write began. All times of this struct are in system time, counted from 1970.
    write: Duration,
    /// The time at which the kernel sent the last byte of the last write, if its timestamp has arrived.
    sent: Option<Duration>,
    /// The time at which the kernel received the last byte that was read since the last write. `None` if no byte was
    /// read, if the time is unknown, and after the end of the stream.
    received: Option<Duration>,
    reader: Option<Waker>,
    beside: Vec<u8>,
}

impl Stamped {
    fn new(tcp: TcpStream) -> io::Result<Stamped> {
        // The kernel supports this option, so a failure means that the connection has ended.
        let over = |_| io::Error::from(ErrorKind::ConnectionReset);
        setsockopt(&tcp, Timestamping, &COUNTED).map_err(over)?;
        let (written, write) = (0, Duration::ZERO);
        let beside = room();
        Ok(Stamped { tcp, written, write, sent: None, received: None, reader: None, beside })
    }

    fn wrote(&mut self, bytes: usize, write: Duration) {
        self.written += bytes as u64;
        (self.write, self.sent, self.received) = (write, None, None);
        self.look_for_sent();
    }

    /// Reads send timestamps from the error queue until it is empty or contains the timestamp of the last write.
    fn look_for_sent(&mut self) {
        while self.sent.is_none() && self.take_stamp() {}
    }

    fn take_stamp(&mut self) -> bool {
        let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
        let message = recvmsg::<()>(self.tcp.as_raw_fd(), &mut [], Some(&mut self.beside), flags);
        let Ok(message) = message else { return false };
        // The kernel's byte count wraps at 2^32. A retransmitted byte has a second timestamp, which is ignored.
        let last = self.written.wrapping_sub(1) & u64::from(u32::MAX);
        if last_byte(&message).map(u64::from) == Some(last) {
            self.sent = self.sent.or(stamp(&message));
        }
        true
    }

    /// Registers the socket anew. The new registration does not contain the task that waits to read, so this task is
    /// woken and registers itself again.
    fn renew(&mut self) -> io::Result<()> {
        while self.take_stamp() {}
        let same = self.tcp.as_fd().try_clone_to_owned()?;
        self.tcp = TcpStream::from_std(same.into())?;
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
        Ok(())
    }
}

impl Io for Stamped {
    fn delays(&mut self) -> Option<Delays> {
        let now = now();
        self.look_for_sent();
        let sending = self.sent.and_then(|sent| sent.checked_sub(self.write));
        let reading = self.received.and_then(|received| now.checked_sub(received));
        Some(Delays { sending, reading })
    }
}

impl AsyncRead for Stamped {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let Poll::Ready(received) = poll_read(&this.tcp, cx, buf, &mut this.beside) else {
            this.reader = Some(cx.waker().clone());
            return Poll::Pending;
        };
        this.received = received?;
        Poll::Ready(Ok(()))
    }
}

/// Requests receive timestamps for the connections that this listener accepts. Has no effect if the kernel does not
/// support them.
pub(crate) fn stamp_received(listener: &impl AsFd) {
    let flags = TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE
        | TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE;
    let _ = setsockopt(listener, Timestamping, &flags);
}

pub(crate) fn room() -> Vec<u8> {
    nix::cmsg_space!([TimeSpec; 3], [u64; 8])
}

/// Reads bytes, and returns the time at which the kernel received the last of these bytes, counted from 1970. Returns
/// `None` at the end of the stream, and if the kernel did not record the time. `beside` is a buffer from [`room`].
pub(crate) fn poll_read(
    tcp: &TcpStream,
    cx: &mut Context<'_>,
    buf: &mut ReadBuf<'_>,
    beside: &mut [u8],
) -> Poll<io::Result<Option<Duration>>> {
    loop {
        ready!(tcp.poll_read_ready(cx))?;
        let room = buf.initialize_unfilled();
        let (size, mut read) = (room.len(), None);
        let tried = tcp.try_io(Interest::READABLE, || {
            let mut room = [IoSliceMut::new(room)];
            let beside = Some(&mut *beside);
            let message = recvmsg::<()>(tcp.as_raw_fd(), &mut room, beside, MsgFlags::empty())?;
            read = Some((message.bytes, stamp(&message)));
            // A read that did not fill the buffer has read everything, so the next read first waits for bytes.
            let is_all = (1..size).contains(&message.bytes);
            if is_all { Err(ErrorKind::WouldBlock.into()) } else { Ok(()) }
        });
        match (read, tried) {
            (Some((bytes, received)), _) => {
                buf.advance(bytes);
                return Poll::Ready(Ok(received));
            }
            (None, Err(error)) if error.kind() == ErrorKind::WouldBlock => {}
            (None, tried) => return Poll::Ready(tried.map(|()| None)),
        }
    }
}

impl AsyncWrite for Stamped {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.tcp.poll_write_ready(cx))?;
            let write = now();
            match self.tcp.try_write_vectored(bufs) {
                Ok(bytes) => {
                    self.wrote(bytes, write);
                    return Poll::Ready(Ok(bytes));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.renew()?,
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(cx)
    }
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn stamp(message: &RecvMsg<'_, '_, ()>) -> Option<Duration> {
    message.cmsgs().ok()?.find_map(|beside| match beside {
        ControlMessageOwned::ScmTimestampsns(stamps) => {
            Some(stamps.system.into()).filter(|stamp: &Duration| !stamp.is_zero())
        }
        _ => None,
    })
}

/// Returns the number of the last byte to which a send timestamp applies.
fn last_byte(message: &RecvMsg<'_, '_, ()>) -> Option<u32> {
    message.cmsgs().ok()?.find_map(|beside| match beside {
        ControlMessageOwned::Ipv4RecvErr(told, _) | ControlMessageOwned::Ipv6RecvErr(told, _) => {
            Some(told.ee_data)
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests;
