//! Provides an HTTP server that records when each request arrived.
//!
//! On loopback, the kernel stamps each packet while the client sends it, so the stamps are exact even if the witness
//! runs late.

use anyhow::{Context, Result};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt::ReceiveTimestampns,
};
use std::io::{IoSliceMut, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const LISTENER: u64 = u64::MAX;

pub struct Witness {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    arrivals: Mutex<Vec<u64>>,
    is_over: AtomicBool,
}

struct Server {
    listener: TcpListener,
    epoll: Epoll,
    clients: Vec<Option<TcpStream>>,
    control: Vec<u8>,
    shared: Arc<Shared>,
}

impl Witness {
    pub fn start() -> Result<Witness> {
        let listener = TcpListener::bind("127.0.0.1:0").context("no port")?;
        let address = listener.local_addr()?;
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        epoll.add(&listener, EpollEvent::new(EpollFlags::EPOLLIN, LISTENER))?;
        let shared = Arc::new(Shared::default());
        let control = nix::cmsg_space!(nix::sys::time::TimeSpec);
        let clients = Vec::new();
        let mut server = Server { listener, epoll, clients, control, shared: shared.clone() };
        thread::Builder::new().name("witness".into()).spawn(move || {
            if let Err(error) = server.run() {
                eprintln!("witness: {error:#}");
            }
        })?;
        Ok(Witness { address, shared })
    }

    /// Returns the arrival times since the last call, in ns of the system's clock.
    pub fn take(&self) -> Vec<u64> {
        let mut arrivals = self.shared.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *arrivals)
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
    }
}

impl Server {
    fn run(&mut self) -> Result<()> {
        let mut events = [EpollEvent::empty(); 128];
        let mut stamps = Vec::new();
        while !self.shared.is_over.load(Ordering::Relaxed) {
            let count = self.epoll.wait(&mut events, EpollTimeout::from(100_u16))?;
            for event in &events[..count] {
                match event.data() {
                    LISTENER => self.accept()?,
                    client => stamps.extend(self.answer(client as usize)),
                }
            }
            let mut arrivals = self.shared.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
            arrivals.append(&mut stamps);
        }
        Ok(())
    }

    fn accept(&mut self) -> Result<()> {
        let (stream, _) = self.listener.accept()?;
        stream.set_nodelay(true)?;
        setsockopt(&stream, ReceiveTimestampns, &true)?;
        let free = self.clients.iter().position(Option::is_none).unwrap_or(self.clients.len());
        self.epoll.add(&stream, EpollEvent::new(EpollFlags::EPOLLIN, free as u64))?;
        if free == self.clients.len() {
            self.clients.push(None);
        }
        self.clients[free] = Some(stream);
        Ok(())
    }

    /// Reads a request, writes the response, and returns the arrival time of the request. One read suffices, because
    /// clients send one short request at a time.
    fn answer(&mut self, client: usize) -> Option<u64> {
        let mut stream = self.clients.get(client)?.as_ref()?;
        let mut bytes = [0; 4096];
        let mut parts = [IoSliceMut::new(&mut bytes)];
        let flags = MsgFlags::MSG_DONTWAIT;
        let fd = stream.as_raw_fd();
        let received = recvmsg::<()>(fd, &mut parts, Some(&mut self.control), flags);
        let arrival = match &received {
            Ok(message) if message.bytes > 0 => message.cmsgs().ok()?.find_map(|part| match part {
                ControlMessageOwned::ScmTimestampns(at) => {
                    Some(at.tv_sec() as u64 * 1_000_000_000 + at.tv_nsec() as u64)
                }
                _ => None,
            }),
            Err(nix::Error::EAGAIN) => return None,
            _ => {
                // Closing the socket removes it from the poll list.
                self.clients[client] = None;
                return None;
            }
        };
        stream.write_all(ANSWER).ok()?;
        arrival
    }
}
