//! Draws the progress of the run, its rates and its backlog.

use crate::console::human;
use crate::shown::snapshot::{Phase, Snapshot};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Gauge, Widget};
use std::time::Duration;

/// The colours of the requested and of the achieved rate.
pub(super) const ASKED: Color = Color::Yellow;
pub(super) const ACHIEVED: Color = Color::Green;
/// The colour of failures.
pub(super) const BAD: Color = Color::Red;

/// Displays the phase, and a bar of the elapsed time.
#[derive(Debug)]
pub(crate) struct Progress<'run>(pub(crate) &'run Snapshot);

impl Progress<'_> {
    fn phase(&self) -> &'static str {
        match self.0.phase {
            Phase::WarmUp => "warm-up",
            Phase::Running => "running",
            Phase::Paused => "paused",
            Phase::WaitingForAnswers => "waiting for responses",
            Phase::Over => "over",
        }
    }
}

impl Widget for Progress<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let fleet = self.0.fleet.as_ref().map_or_else(String::new, |fleet| format!(", {fleet}"));
        let phase = self.phase();
        let elapsed = whole(self.0.elapsed);
        let Some(end) = self.0.planned_end else {
            let text = format!("{phase}  {elapsed}, without a planned end{fleet}");
            return Line::from(text).bold().render(area, buffer);
        };
        let all = end.as_secs_f64();
        let part = if all > 0.0 { self.0.elapsed.as_secs_f64() / all } else { 1.0 };
        let label = format!("{phase}  {elapsed} of {}{fleet}", whole(end));
        let colour = if self.0.phase == Phase::Paused { Color::Yellow } else { Color::Blue };
        let style = Style::new().fg(colour).bg(Color::DarkGray);
        let bar = Gauge::default().gauge_style(style).ratio(part.clamp(0.0, 1.0));
        bar.label(Span::from(label).white().bold()).render(area, buffer);
    }
}

/// Formats a time in whole seconds, or a shorter time in its own unit.
fn whole(time: Duration) -> String {
    match time.as_secs() {
        0 => human::time(time),
        seconds => humantime::format_duration(Duration::from_secs(seconds)).to_string(),
    }
}

/// Displays the rates and the backlog of the last second.
#[derive(Debug)]
pub(crate) struct Figures<'run>(pub(crate) &'run Snapshot);

impl Widget for Figures<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let Snapshot { recent, tally, .. } = self.0;
        let backlog = self.0.backlog;
        let late = format!("backlog {} ({})", backlog.slots, human::time(backlog.time));
        Line::from(vec![
            Span::from(human::hz(recent.hz)).fg(ACHIEVED).bold(),
            " of ".into(),
            Span::from(self.0.rate()).fg(ASKED).bold(),
            "   ".into(),
            if backlog.slots > 0 { late.fg(BAD) } else { late.into() },
            format!("   in flight {}", tally.in_flight()).into(),
        ])
        .render(area, buffer);
    }
}
