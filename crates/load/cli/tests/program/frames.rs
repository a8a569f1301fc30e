//! Provides HTTP/2 servers that write raw frames, and runs of 30 requests against them.

use crate::server::serving;
use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};

/// Types and flags of frames (RFC 9113, section 6).
pub(crate) const DATA: u8 = 0x0;
pub(crate) const HEADERS: u8 = 0x1;
pub(crate) const RST_STREAM: u8 = 0x3;
pub(crate) const SETTINGS: u8 = 0x4;
pub(crate) const PING: u8 = 0x6;
pub(crate) const GOAWAY: u8 = 0x7;
pub(crate) const CONTINUATION: u8 = 0x9;
pub(crate) const END_STREAM: u8 = 0x1;
pub(crate) const END_HEADERS: u8 = 0x4;

/// The header `:status: 200`, as an entry of HPACK's static table.
pub(crate) const STATUS_200: &[u8] = &[0x88];

/// Returns a frame. The payload must not be longer than 16 KiB, the default of `SETTINGS_MAX_FRAME_SIZE`.
pub(crate) fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let [high, low] = u16::try_from(payload.len()).unwrap().to_be_bytes();
    [&[0, high, low, kind, flags, 0, 0, 0, stream], payload].concat()
}

pub(crate) fn answer(stream: u8) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, stream, STATUS_200)
}

pub(crate) struct Served {
    stream: TcpStream,
    /// The number of earlier connections. The first connection is that of the probe.
    pub(crate) number: usize,
}

impl Served {
    fn begin(mut stream: TcpStream, number: usize) -> io::Result<Served> {
        stream.read_exact(&mut [0; "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len()])?;
        stream.write_all(&frame(SETTINGS, 0, 0, &[]))?;
        Ok(Served { stream, number })
    }

    pub(crate) fn await_frame(&mut self, awaited: u8) -> io::Result<u8> {
        loop {
            let (kind, stream) = self.next_frame()?;
            if kind == awaited {
                return Ok(stream);
            }
        }
    }

    pub(crate) fn next_frame(&mut self) -> io::Result<(u8, u8)> {
        let mut head = [0; 9];
        self.stream.read_exact(&mut head)?;
        let [_, high, low, kind, .., stream] = head;
        self.stream.read_exact(&mut vec![0; usize::from(u16::from_be_bytes([high, low]))])?;
        Ok((kind, stream))
    }

    pub(crate) fn write(&mut self, frames: &[Vec<u8>]) -> io::Result<()> {
        self.stream.write_all(&frames.concat())
    }

    pub(crate) fn hang_up(&mut self) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)?;
        self.stream.read_to_end(&mut Vec::new()).map(drop)
    }

    /// Serves a connection. Responds to each request on the connection of the probe. On other connections, writes the
    /// result of `frames` for each request. Requests are numbered from 0 on each connection.
    pub(crate) fn answer_by(
        &mut self,
        frames: impl Fn(u8, usize) -> Vec<Vec<u8>>,
    ) -> io::Result<()> {
        for turn in 0.. {
            let stream = self.await_frame(HEADERS)?;
            self.write(&if self.number == 0 {
                vec![answer(stream)]
            } else {
                frames(stream, turn)
            })?;
        }
        Ok(())
    }
}

pub(crate) fn results(serve: fn(&mut Served) -> io::Result<()>) -> Value {
    // The rate is so high that each slot is already due when the previous response arrives.
    results_of("-c 1 --rate 1M/s --timeout 1min", serve)
}

pub(crate) fn results_of(
    options: &str,
    serve: impl Fn(&mut Served) -> io::Result<()> + Send + Sync + 'static,
) -> Value {
    let address = serving(move |stream, number| serve(&mut Served::begin(stream, number)?));
    crate::running::results(&format!("run --http2 --requests 30 --url http://{address}/ {options}"))
}
