//! The part of the schedule that is run and recorded, and its end.

use crate::run::message::Message;
use nanopace::{Grant, Ledger, Nanos, Pacer};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

/// Decides which slots are started, and which of them are recorded.
#[derive(Debug)]
pub(crate) struct RunWindow {
    pacer: Pacer,
    /// Where the schedule starts.
    pub(crate) start: Nanos,
    /// Slots before this belong to the warm-up.
    pub(crate) recorded_from: Nanos,
    /// Slots from here on are not started.
    pub(crate) end: Nanos,
    /// How many recorded slots may still be started.
    left: AtomicU64,
    ended: OnceLock<RunEnd>,
    messages: Sender<Message>,
}

/// The state at the end of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunEnd {
    /// The end on the schedule.
    pub(crate) at: Nanos,
    /// The pacer's ledger at that moment.
    pub(crate) ledger: Ledger,
    /// How long all workers together have spun on the clock.
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

/// The length of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunLength {
    /// Scheduled but not recorded, at the beginning.
    pub(crate) warmup: Duration,
    /// Scheduled and recorded.
    pub(crate) duration: Duration,
    /// How many recorded slots are started.
    pub(crate) requests: u64,
}

impl RunWindow {
    /// A window of `length` from `start` on. When the last slot has been started, a message says
    /// so.
    pub(crate) fn new(
        pacer: &Pacer,
        start: Nanos,
        length: RunLength,
        messages: Sender<Message>,
    ) -> RunWindow {
        let recorded_from = start + length.warmup;
        RunWindow {
            pacer: pacer.clone(),
            start,
            recorded_from,
            end: recorded_from + length.duration,
            left: AtomicU64::new(length.requests),
            ended: OnceLock::new(),
            messages,
        }
    }

    /// Decides about a slot. Admitting the last one ends the run.
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
        // N requests take N intervals of the schedule, so the interval of the last one counts too.
        let interval = Duration::from_secs_f64(self.pacer.rate().interval_ns() * 1e-9);
        self.end_run((intended_start + interval).max(self.pacer.now()));
        Admission::Recorded
    }

    /// Ends the run at `at` on the schedule, unless it has ended before. No more slots are granted.
    pub(crate) fn end_run(&self, at: Nanos) -> RunEnd {
        *self.ended.get_or_init(|| {
            let (ledger, spun) = (self.pacer.ledger(), self.pacer.stats().spun());
            self.pacer.close();
            // The receiver is gone only when the run has ended.
            let _ = self.messages.send(Message::Stop);
            RunEnd { at: at.min(self.end), ledger, spun }
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

    /// A window at 1/s whose slots are all due, and its messages.
    fn window(warmup: u64, duration: u64, requests: u64) -> (RunWindow, Receiver<Message>) {
        let clock = ManualClock::new();
        let pacer = Pacer::builder(Rate::per_second(1).unwrap()).clock(clock.clone()).build();
        let (sender, messages) = mpsc::channel();
        let length = RunLength { warmup: secs(warmup), duration: secs(duration), requests };
        let window = RunWindow::new(&pacer, pacer.now(), length, sender);
        clock.advance(secs(1_000));
        (window, messages)
    }

    /// The decisions about slots, one after the other, until the pacer is closed or there are
    /// `most`.
    fn admissions(window: &RunWindow, most: usize) -> Vec<Admission> {
        let grants = std::iter::from_fn(|| window.pacer.acquire().ok());
        grants.take(most).map(|grant| window.admit(&grant)).collect()
    }

    #[test]
    fn a_duration_is_warm_up_then_recorded_then_over() {
        let (window, _messages) = window(2, 3, u64::MAX);
        let [warm, take, over] = [Admission::WarmUp, Admission::Recorded, Admission::Over];
        assert_eq!(admissions(&window, 7), [warm, warm, take, take, take, over, over]);
    }

    #[test]
    fn the_last_request_closes_the_pacer_and_ends_the_run() {
        let (window, messages) = window(1, 1_000, 2);
        assert_eq!(
            admissions(&window, 9),
            [Admission::WarmUp, Admission::Recorded, Admission::Recorded]
        );
        assert!(matches!(messages.try_recv(), Ok(Message::Stop)));
    }

    #[test]
    fn a_run_ends_once_and_not_after_its_end() {
        let (window, _messages) = window(0, 10, u64::MAX);
        let first = window.end_run(window.start + secs(60));
        let second = window.end_run(window.start + secs(5));
        assert_eq!((first.at, second.at), (window.start + secs(10), window.start + secs(10)));
    }
}
