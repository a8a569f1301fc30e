//! Conducts a run: obeys keys and signals, collects and shows once a second, and knows when it is
//! over.

use crate::books::Books;
use crate::control::Command;
use crate::course::Course;
use crate::cpu::Demand;
use crate::crew::Crew;
use crate::hdr_log::HdrLog;
use crate::keys::{Action, Prompt};
use crate::progress::{Progress, Recent, Status};
use crate::run::Stage;
use crate::span::{Finish, Span};
use crate::summary::{Results, Summary};
use crate::tally::Lateness;
use crossterm::event::KeyEvent;
use nanopace::{Ledger, Nanos, Pacer, Rate};
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// Progress is shown, and the interval log written, this often.
const TICK: Duration = Duration::from_secs(1);

/// The one who changes the rate and collects the notes.
#[derive(Debug)]
pub(crate) struct Conductor<'run> {
    pacer: Pacer,
    crew: &'run Crew,
    span: &'run Span,
    course: Course,
    books: Books<'run>,
    progress: Progress,
    hdr: Option<HdrLog>,
    prompt: Prompt,
    /// What the last key led to, for the status.
    note: String,
    /// When the last collection was.
    collected: Nanos,
    /// Slots granted by then.
    granted: u64,
    /// What it said, to be shown again when a key changes something.
    recent: Recent,
}

/// How the schedule ended; the requests in flight may still go on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ending {
    finish: Finish,
    /// The lateness that is in no operation's wait time.
    unrecorded: Lateness,
}

impl<'run> Conductor<'run> {
    /// The conductor of a schedule that has just started.
    pub(crate) fn new(
        stage: &'run Stage,
        span: &'run Span,
        progress: Progress,
        hdr: Option<HdrLog>,
    ) -> Conductor<'run> {
        let pacer = &stage.pacer;
        Conductor {
            pacer: pacer.clone(),
            crew: &stage.crew,
            span,
            course: Course::new(span.start, pacer.rate().as_hz()),
            books: Books::new(pacer, &stage.recorders),
            progress,
            hdr,
            prompt: Prompt::default(),
            note: String::new(),
            collected: span.start,
            granted: 0,
            recent: Recent::default(),
        }
    }

    /// Returns when the run is to end.
    pub(crate) fn conduct(&mut self, commands: &Receiver<Command>) -> anyhow::Result<()> {
        loop {
            let next = (self.collected + TICK).min(self.span.end);
            match commands.recv_timeout(next - self.pacer.now()) {
                Ok(Command::Stop) => return Ok(()),
                Ok(Command::Key(key)) => self.press(key),
                Err(_) if self.pacer.now() >= self.span.end => return Ok(()),
                Err(_) if self.pacer.now() >= next => {
                    self.collect()?;
                    self.progress.show(&self.status());
                }
                // The channel's clock and the pacer's may differ by a hair.
                Err(_) => {}
            }
        }
    }

    /// Ends the schedule, unless it has ended by itself.
    pub(crate) fn end(&self) -> Ending {
        let finish = self.span.finish(self.pacer.now());
        let Ledger { backlog_slots, backlog, idle, .. } = finish.ledger;
        let unstarted = Lateness::of_unstarted(backlog_slots, backlog, self.crew.all_busy());
        let forfeited = Lateness::of_forfeited(idle, self.crew.all_busy_time());
        Ending { finish, unrecorded: unstarted.plus(forfeited) }
    }

    /// The results, once the workers are done.
    pub(crate) fn sum_up(
        mut self,
        ending: Ending,
        workers: Vec<Demand>,
    ) -> anyhow::Result<Summary> {
        self.collect()?;
        self.progress.end();
        if let Some(hdr) = self.hdr {
            hdr.end()?;
        }
        Ok(Summary::new(&Results {
            recorded_from: self.span.recorded_from,
            finish: ending.finish,
            course: &self.course,
            times: self.books.total(),
            gaps: self.books.gap_quality(),
            unrecorded: ending.unrecorded,
            workers,
        }))
    }

    fn collect(&mut self) -> anyhow::Result<()> {
        let (since, granted) = (self.collected, self.granted);
        self.collected = self.pacer.now();
        self.granted = self.pacer.ledger().granted;
        let (interval, length) = (self.books.collect(), self.collected - since);
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
                self.follow(self.pacer.rate().as_hz());
            }
            Action::TogglePause => {
                self.pacer.pause();
                self.follow(0.0);
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
            self.follow(rate.as_hz());
        }
    }

    /// What is measured against the rate is measured against `hz` from now on.
    fn follow(&mut self, hz: f64) {
        self.course.change(self.pacer.now(), hz);
        self.books.change_rate(self.pacer.rate());
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

/// To four digits: a rate that was raised by 10 % a few times should still be readable.
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
