//! The part of the schedule that is run and recorded, and how it comes to its end.

use crate::control::Command;
use nanopace::{Grant, Ledger, Nanos, Pacer};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

/// Which slots are started, and which of those are recorded.
#[derive(Debug)]
pub(crate) struct Span {
    pacer: Pacer,
    /// Where the schedule starts.
    pub(crate) start: Nanos,
    /// Slots before this belong to the warm-up.
    pub(crate) recorded_from: Nanos,
    /// Slots from this on are not started.
    pub(crate) end: Nanos,
    /// How many recorded slots may still be started.
    left: AtomicU64,
    finished: OnceLock<Finish>,
    commands: Sender<Command>,
}

/// How things stood when the run ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finish {
    /// The end on the schedule.
    pub(crate) at: Nanos,
    /// The pacer's ledger at that moment.
    pub(crate) ledger: Ledger,
    /// How long all workers have spun on the clock.
    pub(crate) spun: Duration,
}

/// What a worker does with a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// Start it and record it.
    Recorded,
    /// Start it and record nothing.
    WarmUp,
    /// Leave it: the run is over.
    Over,
}

/// How long a span is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Length {
    /// Scheduled but not recorded, at the beginning.
    pub(crate) warmup: Duration,
    /// Scheduled and recorded.
    pub(crate) duration: Duration,
    /// Recorded slots to start.
    pub(crate) requests: u64,
}

impl Span {
    /// The span of `length` from `start` on; `commands` is told when the last slot has been
    /// started.
    pub(crate) fn new(
        pacer: &Pacer,
        start: Nanos,
        length: Length,
        commands: Sender<Command>,
    ) -> Span {
        let recorded_from = start + length.warmup;
        Span {
            pacer: pacer.clone(),
            start,
            recorded_from,
            end: recorded_from + length.duration,
            left: AtomicU64::new(length.requests),
            finished: OnceLock::new(),
            commands,
        }
    }

    /// Whether a slot is started; admitting the last one ends the run.
    pub(crate) fn admit(&self, grant: &Grant) -> Admission {
        let intended_start = grant.intended_start();
        if intended_start >= self.end {
            return Admission::Over;
        }
        if intended_start < self.recorded_from {
            return Admission::WarmUp;
        }
        // Relaxed: a ticket must be unique, not ordered; nothing is published through the count. No
        // model: it is one word.
        match self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
        {
            Ok(1) => self.admit_last(intended_start),
            Ok(_) => Admission::Recorded,
            Err(_) => Admission::Over,
        }
    }

    fn admit_last(&self, intended_start: Nanos) -> Admission {
        // N requests take N intervals of the schedule, so the last one's own interval counts as
        // well.
        let interval = Duration::from_secs_f64(self.pacer.rate().interval_ns() * 1e-9);
        self.finish((intended_start + interval).max(self.pacer.now()));
        Admission::Recorded
    }

    /// Ends the run at `at` on the schedule, unless it has ended before: no slot is granted any
    /// more.
    pub(crate) fn finish(&self, at: Nanos) -> Finish {
        *self.finished.get_or_init(|| {
            let (ledger, spun) = (self.pacer.ledger(), self.pacer.stats().spun());
            self.pacer.close();
            // The receiver is gone only when it needs no telling.
            let _ = self.commands.send(Command::Stop);
            Finish { at: at.min(self.end), ledger, spun }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nanopace::{ManualClock, Rate};
    use std::sync::mpsc::{self, Receiver};

    const fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// A span at 1/s whose slots are all due, and what it tells the conductor.
    fn span(warmup: u64, duration: u64, requests: u64) -> (Span, Receiver<Command>) {
        let clock = ManualClock::new();
        let pacer = Pacer::builder(Rate::per_second(1).unwrap()).clock(clock.clone()).build();
        let (sender, commands) = mpsc::channel();
        let length = Length { warmup: secs(warmup), duration: secs(duration), requests };
        let span = Span::new(&pacer, pacer.now(), length, sender);
        clock.advance(secs(1_000));
        (span, commands)
    }

    /// What is done with one slot after the other, until the pacer is closed or enough were asked
    /// for.
    fn admissions(span: &Span, most: usize) -> Vec<Admission> {
        let grants = std::iter::from_fn(|| span.pacer.acquire().ok());
        grants.take(most).map(|grant| span.admit(&grant)).collect()
    }

    #[test]
    fn a_duration_is_warm_up_then_recorded_then_over() {
        let (span, _commands) = span(2, 3, u64::MAX);
        let [warm, take, over] = [Admission::WarmUp, Admission::Recorded, Admission::Over];
        assert_eq!(admissions(&span, 7), [warm, warm, take, take, take, over, over]);
    }

    #[test]
    fn the_last_request_closes_the_pacer_and_ends_the_run() {
        let (span, commands) = span(1, 1_000, 2);
        assert_eq!(
            admissions(&span, 9),
            [Admission::WarmUp, Admission::Recorded, Admission::Recorded]
        );
        assert!(matches!(commands.try_recv(), Ok(Command::Stop)));
    }

    #[test]
    fn a_run_ends_once_and_not_after_its_end() {
        let (span, _commands) = span(0, 10, u64::MAX);
        let first = span.finish(span.start + secs(60));
        let second = span.finish(span.start + secs(5));
        assert_eq!((first.at, second.at), (span.start + secs(10), span.start + secs(10)));
    }
}
