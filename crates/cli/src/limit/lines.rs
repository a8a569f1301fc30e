//! Requests from standard input.

use super::line::{self, Arrival};
use crate::control::Interrupt;
use anyhow::{Context, anyhow};
use nanopace::Nanos;
use std::io::{self, BufRead, Read, Write};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::Duration;

/// Longer lines are not kept in memory.
const LONGEST: u64 = 4_096;
/// So many lines may be read ahead.
const AHEAD: usize = 1_024;
/// So often it is seen whether somebody wants to end it, when there is nothing to read.
const LOOK: Duration = Duration::from_millis(50);

/// The lines that could not be taken as they were.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Faults {
    /// Those that could not be read; they were skipped.
    pub(crate) skipped: u64,
    /// Those earlier than one before; they were decided as if they came at the latest time so far.
    pub(crate) out_of_order: u64,
}

/// Requests in the order of their lines, times never going backwards.
#[derive(Debug)]
pub(crate) struct Lines {
    input: Receiver<io::Result<Vec<u8>>>,
    interrupt: Arc<Interrupt>,
    strict: bool,
    number: u64,
    latest: Nanos,
    /// What was wrong so far.
    pub(crate) faults: Faults,
}

impl Lines {
    /// Reads standard input, in a thread of its own: an interrupt is not to wait for the next line.
    pub(crate) fn read(strict: bool, interrupt: Arc<Interrupt>) -> anyhow::Result<Lines> {
        let (sender, input) = mpsc::sync_channel(AHEAD);
        // Never joined: it may wait for a line for ever, and ends with the process.
        thread::Builder::new()
            .name("lines".to_owned())
            .spawn(move || forward(io::stdin().lock(), &sender))
            .context("cannot start a thread to read standard input")?;
        let (number, latest, faults) = (0, Nanos::ZERO, Faults::default());
        Ok(Lines { input, interrupt, strict, number, latest, faults })
    }

    /// The next request; none at the end of the input, or when interrupted.
    pub(crate) fn next(&mut self) -> anyhow::Result<Option<Arrival>> {
        while let Some(line) = self.next_line()? {
            self.number += 1;
            match line::parse(&line) {
                Ok(Some(arrival)) => return self.in_order(arrival).map(Some),
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
        while !self.interrupt.is_set_off() {
            match self.input.recv_timeout(LOOK) {
                Ok(line) => return line.context("cannot read standard input").map(Some),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
        }
        Ok(None)
    }

    fn in_order(&mut self, arrival: Arrival) -> anyhow::Result<Arrival> {
        if arrival.at < self.latest {
            self.faults.out_of_order += 1;
            let (at, latest) = (seconds(arrival.at), seconds(self.latest));
            self.fault(
                anyhow!("{at} is earlier than {latest} before it"),
                &format!("taken as {latest}"),
            )?;
        }
        self.latest = self.latest.max(arrival.at);
        Ok(Arrival { at: self.latest, ..arrival })
    }

    /// Reports what is wrong with the line and what is done about it, or ends the program.
    fn fault(&self, error: anyhow::Error, remedy: &str) -> anyhow::Result<()> {
        let place = format!("line {}", self.number);
        if self.strict {
            return Err(error.context(place));
        }
        // If standard error is gone, the count in the report has to do.
        let _ = writeln!(io::stderr(), "{place}: {error}; {remedy}");
        Ok(())
    }
}

/// A moment in seconds, exactly: `1.5s`.
pub(crate) fn seconds(moment: Nanos) -> String {
    let nanos = moment.as_nanos();
    let text = format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
    format!("{}s", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Sends line after line, until there are no more or nobody wants them.
fn forward(mut input: impl BufRead, lines: &SyncSender<io::Result<Vec<u8>>>) {
    while let Some(line) = next_line(&mut input).transpose() {
        let failed = line.is_err();
        if lines.send(line).is_err() || failed {
            return;
        }
    }
}

/// The next line, of which no more than [`LONGEST`] bytes are kept.
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
    fn seconds_are_exact() {
        for (nanos, text) in
            [(0, "0s"), (1_500_000_000, "1.5s"), (20_000_000_000, "20s"), (1, "0.000000001s")]
        {
            assert_eq!(seconds(Nanos::from_nanos(nanos)), text);
        }
    }

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
