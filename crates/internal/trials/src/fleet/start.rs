//! Records the starts of a node in a file, and reads them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

/// A slot that a node started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// The intended start, relative to the beginning of the load.
    pub intended: Duration,
    /// The wait time of the slot, as the pacer reported it.
    pub wait: Duration,
}

const BYTES: usize = 16;

/// Writes starts to a file in batches of `together` starts. If the process is killed, an incomplete batch is lost.
pub(crate) struct Recorder {
    file: File,
    buffer: Vec<u8>,
    together: usize,
}

impl Recorder {
    pub(crate) fn open(path: &Path, together: usize) -> io::Result<Recorder> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Recorder { file, buffer: Vec::with_capacity(together * BYTES), together })
    }

    pub(crate) fn note(&mut self, intended_ns: u64, wait_ns: u64) -> io::Result<()> {
        self.buffer.extend(intended_ns.to_le_bytes());
        self.buffer.extend(wait_ns.to_le_bytes());
        if self.buffer.len() < self.together * BYTES { Ok(()) } else { self.flush() }
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let written = self.file.write_all(&self.buffer);
        self.buffer.clear();
        written
    }
}

pub(crate) fn read(path: &Path) -> Vec<Start> {
    let bytes = fs::read(path).unwrap_or_default();
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |high, &low| high << 8 | u64::from(low));
    let starts = bytes.chunks_exact(BYTES).map(|start| Start {
        intended: Duration::from_nanos(number(&start[..8])),
        wait: Duration::from_nanos(number(&start[8..])),
    });
    starts.collect()
}
