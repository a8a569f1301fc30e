//! Requests from standard input.

use crate::limit::request::{self, Request};
use crate::limit::times::seconds;
use anyhow::{Context, anyhow};
use nanopace::Nanos;
use nanopace_load::console::Progress;
use std::io::{self, BufRead, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::Duration;

/// Longer lines are not kept in memory.
const LONGEST: u64 = 4_096;
/// The most lines that are read ahead.
const AHEAD: usize = 1_024;
/// How often the interrupt is looked at while there is nothing to read.
const LOOK: Duration = Duration::from_millis(50);

/// How many lines had something wrong with them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Faults {
    /// Lines that could not be read. They were skipped.
    pub(crate) skipped: u64,
    /// Requests that are earlier than one before them. They were decided as if they came at the
    /// latest time so far.
    pub(crate) out_of_order: u64,
}

/// Requests in the order of their lines. Their times never go backwards.
#[derive(Debug)]
pub(crate) struct Input {
    lines: Receiver<io::Result<Vec<u8>>>,
    interrupted: Arc<AtomicBool>,
    strict: bool,
    number: u64,
    latest: Nanos,
    /// What was wrong so far.
    pub(crate) faults: Faults,
}

impl Input {
    /// Reads standard input in a thread of its own, so that an interrupt does not wait for the next
    /// line.
    pub(crate) fn read(strict: bool, interrupted: Arc<AtomicBool>) -> anyhow::Result<Input> {
        let (sender, lines) = mpsc::sync_channel(AHEAD);
        // Never joined: it may wait for a line for ever. It ends with the process.
        thread::Builder::new()
            .name("lines".to_owned())
            .spawn(move || forward(io::stdin().lock(), &sender))
            .context("cannot start a thread to read standard input")?;
        let (number, latest, faults) = (0, Nanos::ZERO, Faults::default());
        Ok(Input { lines, interrupted, strict, number, latest, faults })
    }

    /// The next request; none at the end of the input or after an interrupt.
    pub(crate) fn next(&mut self) -> anyhow::Result<Option<Request>> {
        while let Some(line) = self.next_line()? {
            self.number += 1;
            match request::parse(&line) {
                Ok(Some(request)) => return self.in_order(request).map(Some),
                Ok(None) => {}
                Err(error) => {
                    self.faults.skipped += 1;
                    self.fault(error, "skipped")?;
                }
            }
        }
        Ok(None)
    }

    fn next_line(&self) -> anyhow::Result<Option<Vec<u8>>> {
        // Relaxed: nothing is published through the flag. No model: it is one word, set once.
        while !self.interrupted.load(Ordering::Relaxed) {
            match self.lines.recv_timeout(LOOK) {
                Ok(line) => return line.context("cannot read standard input").map(Some),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
        }
        Ok(None)
    }

    fn in_order(&mut self, request: Request) -> anyhow::Result<Request> {
        if request.at < self.latest {
            self.faults.out_of_order += 1;
            let (at, latest) = (seconds(request.at), seconds(self.latest));
            self.fault(
                anyhow!("{at} is earlier than {latest} before it"),
                &format!("taken as {latest}"),
            )?;
        }
        self.latest = self.latest.max(request.at);
        Ok(Request { at: self.latest, ..request })
    }

    /// Reports what is wrong with the line and what is done about it, or ends the program.
    fn fault(&self, error: anyhow::Error, remedy: &str) -> anyhow::Result<()> {
        let place = format!("line {}", self.number);
        if self.strict {
            return Err(error.context(place));
        }
        // Without standard error, only the report's count tells it.
        Progress::of_a_part().tell(&format!("{place}: {error}; {remedy}"));
        Ok(())
    }
}

/// Sends line after line, until there are no more or the receiver is gone.
fn forward(mut input: impl BufRead, lines: &SyncSender<io::Result<Vec<u8>>>) {
    while let Some(line) = next_line(&mut input).transpose() {
        let failed = line.is_err();
        if lines.send(line).is_err() || failed {
            return;
        }
    }
}

/// The next line, cut to [`LONGEST`] bytes.
fn next_line(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    input.take(LONGEST).read_until(b'\n', &mut line)?;
    if line.len() as u64 == LONGEST && !line.ends_with(b"\n") {
        input.skip_until(b'\n')?;
    }
    Ok((!line.is_empty()).then_some(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_end_takes_no_memory() {
        let mut input = vec![b'7'; 100_000];
        input.extend(b"\n8\n\n9");
        let mut input = &input[..];
        let mut next = || next_line(&mut input).unwrap();
        assert_eq!(next().unwrap().len() as u64, LONGEST);
        assert_eq!(
            [next(), next(), next()].map(Option::unwrap),
            [b"8\n".to_vec(), b"\n".to_vec(), b"9".to_vec()]
        );
        assert_eq!(next(), None);
    }
}
