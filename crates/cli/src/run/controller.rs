//! Controls a run: acts on keys and signals, collects and shows once a second, and ends the run.

use super::keys::{Action, Prompt};
use super::load::cpu::CpuDemand;
use super::load::shared::RunShared;
use super::load::span::{RunEnd, RunSpan};
use super::message::Message;
use super::recording::collector::Collector;
use super::recording::hdr_log::HdrLog;
use super::recording::lateness::Lateness;
use super::reporting::rate_history::RateHistory;
use super::reporting::summary::{RunResults, Summary};
use super::status::{Recent, Status};
use crate::progress::Progress;
use crossterm::event::KeyEvent;
use nanopace::{Ledger, Nanos, Pacer, Rate};
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// How often progress is shown and the interval log is written.
const TICK: Duration = Duration::from_secs(1);

/// Changes the rate, and collects what the workers record.
#[derive(Debug)]
pub(crate) struct Controller<'run> {
    pacer: Pacer,
    shared: &'run RunShared,
    span: &'run RunSpan,
    rates: RateHistory,
    collector: Collector<'run>,
    progress: Progress,
    hdr: Option<HdrLog>,
    prompt: Prompt,
    /// What the last key did, for the status.
    note: String,
    /// When the last collection was.
    collected: Nanos,
    /// Slots granted by then.
    granted: u64,
    /// What it found, to show again when a key changes something.
    recent: Recent,
}

/// The end of the schedule. Requests in flight may still go on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ending {
    run_end: RunEnd,
    /// The lateness that is in no operation's wait time.
    unrecorded: Lateness,
}

impl<'run> Controller<'run> {
    /// The controller of a schedule that has just started.
    pub(crate) fn new(
        shared: &'run RunShared,
        span: &'run RunSpan,
        progress: Progress,
        hdr: Option<HdrLog>,
    ) -> Controller<'run> {
        let pacer = &shared.pacer;
        Controller {
            pacer: pacer.clone(),
            shared,
            span,
            rates: RateHistory::new(span.start, pacer.rate().as_hz()),
            collector: Collector::new(pacer, &shared.recorders),
            progress,
            hdr,
            prompt: Prompt::default(),
            note: String::new(),
            collected: span.start,
            granted: 0,
            recent: Recent::default(),
        }
    }

    /// Returns when the run should end.
    pub(crate) fn run(&mut self, messages: &Receiver<Message>) -> anyhow::Result<()> {
        loop {
            let next = (self.collected + TICK).min(self.span.end);
            match messages.recv_timeout(next - self.pacer.now()) {
                Ok(Message::Stop) => return Ok(()),
                Ok(Message::Key(key)) => self.press(key),
                Err(_) if self.pacer.now() >= self.span.end => return Ok(()),
                Err(_) if self.pacer.now() >= next => {
                    self.collect()?;
                    self.progress.show(&self.status());
                }
                // The channel's clock and the pacer's may differ slightly.
                Err(_) => {}
            }
        }
    }

    /// Ends the schedule, unless it has ended already.
    pub(crate) fn end(&self) -> Ending {
        let run_end = self.span.end_run(self.pacer.now());
        let utilization = &self.shared.utilization;
        let Ledger { backlog_slots, backlog, idle, .. } = run_end.ledger;
        let unstarted = Lateness::of_unstarted(backlog_slots, backlog, utilization.all_busy());
        let forfeited = Lateness::of_forfeited(idle, utilization.all_busy_time());
        Ending { run_end, unrecorded: unstarted.plus(forfeited) }
    }

    /// The results, once the workers are done.
    pub(crate) fn sum_up(
        mut self,
        ending: Ending,
        workers: Vec<CpuDemand>,
    ) -> anyhow::Result<Summary> {
        self.collect()?;
        self.progress.end();
        if let Some(hdr) = self.hdr {
            hdr.end()?;
        }
        Ok(Summary::new(&RunResults {
            recorded_from: self.span.recorded_from,
            run_end: ending.run_end,
            rates: &self.rates,
            stats: self.collector.total(),
            gaps: self.collector.gap_quality(),
            unrecorded: ending.unrecorded,
            workers,
        }))
    }

    fn collect(&mut self) -> anyhow::Result<()> {
        let (since, granted) = (self.collected, self.granted);
        self.collected = self.pacer.now();
        self.granted = self.pacer.ledger().granted;
        let (interval, length) = (self.collector.collect(), self.collected - since);
        self.recent = Recent::new(self.granted.saturating_sub(granted), interval, length);
        match &mut self.hdr {
            Some(hdr) => hdr.write(since - self.span.start, length, interval),
            None => Ok(()),
        }
    }

    fn press(&mut self, key: KeyEvent) {
        self.note = match self.prompt.press(key.code) {
            Ok(Some(action)) => {
                self.act(action);
                String::new()
            }
            Ok(None) => format!("> {}", self.prompt.typed()),
            Err(error) => error.to_string(),
        };
        self.progress.show(&self.status());
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::SetRate(rate) => self.set_rate(rate),
            Action::Faster => self.scale_rate(1.1),
            Action::Slower => self.scale_rate(0.9),
            Action::TogglePause if self.pacer.is_paused() => {
                self.pacer.resume();
                self.record_rate(self.pacer.rate().as_hz());
            }
            Action::TogglePause => {
                self.pacer.pause();
                self.record_rate(0.0);
            }
        }
    }

    fn scale_rate(&mut self, factor: f64) {
        // A rate at the end of the range stays as it is.
        if let Ok(rate) = Rate::from_hz(rounded(self.pacer.rate().as_hz() * factor)) {
            self.set_rate(rate);
        }
    }

    fn set_rate(&mut self, rate: Rate) {
        self.pacer.set_rate(rate);
        if !self.pacer.is_paused() {
            self.record_rate(rate.as_hz());
        }
    }

    /// From now on, the run is measured against `hz`.
    fn record_rate(&mut self, hz: f64) {
        self.rates.change(self.pacer.now(), hz);
        self.collector.change_rate(self.pacer.rate());
    }

    fn status(&self) -> Status {
        Status {
            elapsed: self.pacer.now() - self.span.start,
            rate: self.pacer.rate(),
            paused: self.pacer.is_paused(),
            ledger: self.pacer.ledger(),
            recent: self.recent.clone(),
            note: self.note.clone(),
        }
    }
}

/// Four digits of a rate: after a few steps of 10 % it is still easy to read.
fn rounded(hz: f64) -> f64 {
    format!("{hz:.3e}").parse().unwrap_or(hz)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::float_cmp, reason = "a rounded rate is the number as it is written")]
    fn rates_are_rounded_to_four_digits() {
        for (hz, round) in
            [(5_500.000_000_000_001, 5_500.0), (7_320.5, 7_320.0), (0.123_456, 0.123_5), (1e9, 1e9)]
        {
            assert_eq!(rounded(hz), round);
        }
    }
}
