//! Forwards the data of a connection. In each direction, one thread reads data and another thread writes it when due.

use super::rules::{Accepted, Rules};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Instant;

/// Data, and when to forward it. Empty data marks the end of the stream.
type Chunk = (Vec<u8>, Instant);

pub(crate) struct Connection<'a> {
    number: u64,
    client: TcpStream,
    server: TcpStream,
    rules: &'a Rules,
    open: AtomicUsize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Requests,
    Replies,
}

impl<'a> Connection<'a> {
    pub(crate) fn run(accepted: Accepted, rules: &'a Rules) {
        if let Ok(connection) = Self::connect(accepted, rules) {
            connection.pass_on();
        }
    }

    fn connect(accepted: Accepted, rules: &'a Rules) -> io::Result<Self> {
        let Accepted { number, client, upstream } = accepted;
        client.set_nonblocking(false)?;
        let server = TcpStream::connect(upstream)?;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        Ok(Self { number, client, server, rules, open: AtomicUsize::new(2) })
    }

    fn pass_on(&self) {
        thread::scope(|scope| {
            for direction in [Direction::Requests, Direction::Replies] {
                let (sender, receiver) = channel();
                scope.spawn(move || self.read(direction, &sender));
                scope.spawn(move || self.write(direction, &receiver));
            }
            // Relaxed: the number only decides when to stop waiting, and protects no other data.
            self.rules.wait_for_end(self.number, || self.open.load(Ordering::Relaxed) == 0);
            self.die();
        });
    }

    fn read(&self, direction: Direction, chunks: &Sender<Chunk>) {
        let (mut from, _) = self.sockets(direction);
        let mut buffer = vec![0; 1 << 16];
        loop {
            let length = from.read(&mut buffer).unwrap_or(0);
            let due = Instant::now() + self.rules.delay();
            if chunks.send((buffer[..length].to_vec(), due)).is_err() || length == 0 {
                return;
            }
        }
    }

    fn write(&self, direction: Direction, chunks: &Receiver<Chunk>) {
        let is_request = direction == Direction::Requests;
        let (_, mut to) = self.sockets(direction);
        for (bytes, due) in chunks {
            if !self.rules.wait(self.number, due, is_request) || bytes.is_empty() {
                break;
            }
            if !is_request && self.rules.drops_reply() {
                self.die();
                break;
            }
            if to.write_all(&bytes).is_err() {
                break;
            }
        }
        to.shutdown(Shutdown::Write).ok();
        self.open.fetch_sub(1, Ordering::Relaxed);
        self.rules.tell();
    }

    fn sockets(&self, direction: Direction) -> (&TcpStream, &TcpStream) {
        match direction {
            Direction::Requests => (&self.client, &self.server),
            Direction::Replies => (&self.server, &self.client),
        }
    }

    fn die(&self) {
        self.client.shutdown(Shutdown::Both).ok();
        self.server.shutdown(Shutdown::Both).ok();
    }
}
