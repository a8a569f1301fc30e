//! Draws the progress of the run and its main figures.

use super::grid::{Grid, Rect, plain};
use crate::console::human;
use crate::shown::snapshot::{Phase, Snapshot};
use crossterm::style::{Color, Stylize};
use std::time::Duration;

pub(super) const ASKED: Color = Color::DarkYellow;
pub(super) const ACHIEVED: Color = Color::DarkGreen;
pub(super) const BAD: Color = Color::DarkRed;

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a column")]
pub(super) fn draw_progress(grid: &mut Grid, area: Rect, now: &Snapshot) {
    let fleet = now.fleet.as_ref().map_or_else(String::new, |fleet| format!(", {fleet}"));
    let phase = name(now.phase);
    let elapsed = whole(now.elapsed);
    let Some(end) = now.planned_end else {
        let text = format!("{phase}  {elapsed}, without a planned end{fleet}");
        return grid.line(area, [plain(text).bold()]);
    };
    let all = end.as_secs_f64();
    let part = if all > 0.0 { now.elapsed.as_secs_f64() / all } else { 1.0 };
    let label = format!("{phase}  {elapsed} of {}{fleet}", whole(end));
    let label = format!("{label:^width$}", width = area.width.into());
    // Reversed characters show the part of the run that has passed, so that it is also visible without colours.
    let filled = (f64::from(area.width) * part.clamp(0.0, 1.0)).round() as usize;
    let colour = if now.phase == Phase::Paused { Color::DarkYellow } else { Color::DarkBlue };
    let passed: String = label.chars().take(filled).collect();
    let rest: String = label.chars().skip(filled).collect();
    let passed = plain(passed).with(colour).on(Color::White).reverse().bold();
    grid.line(area, [passed, plain(rest).with(Color::White).on(Color::DarkGrey).bold()]);
}

fn name(phase: Phase) -> &'static str {
    match phase {
        Phase::WarmUp => "warm-up",
        Phase::Running => "running",
        Phase::Paused => "paused",
        Phase::WaitingForAnswers => "waiting for responses",
        Phase::Over => "over",
    }
}

fn whole(time: Duration) -> String {
    match time.as_secs() {
        0 => human::time(time),
        seconds => humantime::format_duration(Duration::from_secs(seconds)).to_string(),
    }
}

pub(super) fn draw_figures(grid: &mut Grid, area: Rect, now: &Snapshot) {
    let Snapshot { recent, tally, backlog, .. } = now;
    let late = plain(format!("backlog {} ({})", backlog.slots, human::time(backlog.time)));
    let texts = [
        plain(human::hz(recent.hz)).with(ACHIEVED).bold(),
        plain(" of "),
        plain(now.rate()).with(ASKED).bold(),
        plain("   "),
        if backlog.slots > 0 { late.with(BAD) } else { late },
        plain(format!("   in flight {}", tally.in_flight())),
    ];
    grid.line(area, texts);
}
