//! Draws the whole view.

use super::breakdown::Breakdown;
use super::course::Course;
use super::figures::{BAD, Figures, Progress};
use super::footer::{self, Help};
use super::layout::{self, Part};
use super::outcomes::Outcomes;
use super::picture::Picture;
use super::spread::Spread;
use super::times::Times;
use crate::shown::snapshot::Snapshot;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Stylize;
use ratatui::text::Line;

/// The smallest width at which the charts are side by side, and the smallest height at which they are stacked.
const BESIDE: u16 = 60;
const BELOW: u16 = 14;

/// Draws a picture that fills the terminal.
pub(crate) fn draw(frame: &mut Frame<'_>, picture: &Picture) {
    let area = frame.area();
    for (part, area) in layout::placed(area, footer::wishes(picture, area.width)) {
        draw_part(frame, part, area, picture);
    }
}

fn draw_part(frame: &mut Frame<'_>, part: Part, area: Rect, picture: &Picture) {
    match (part, &picture.snapshot) {
        (Part::Url, _) => frame.render_widget(Line::from(picture.title.url.as_str()), area),
        (Part::Load, snapshot) => {
            let load = snapshot.as_ref().map_or(&picture.title.load, |now| &now.load);
            let text = format!("{load}, {}", picture.title.by);
            frame.render_widget(Line::from(text), area);
        }
        (Part::Prompt, _) => footer::draw_prompt(frame, area, picture),
        (Part::Keys, _) => frame.render_widget(footer::Keys(&picture.prompt), area),
        (Part::Progress, None) => frame.render_widget("opening connections", area),
        (Part::Charts, _) if picture.prompt.is_help_wanted() => frame.render_widget(Help, area),
        (_, None) => {}
        (Part::Progress, Some(now)) => frame.render_widget(Progress(now), area),
        (Part::Figures, Some(now)) => frame.render_widget(Figures(now), area),
        (Part::Verdict, Some(now)) => frame.render_widget(verdict(now), area),
        (Part::Charts, Some(now)) => draw_charts(frame, area, picture, now),
        (Part::Times, Some(now)) => frame.render_widget(Times(&now.recent.brief), area),
        (Part::Outcomes, Some(now)) => frame.render_widget(Outcomes(now), area),
        (Part::Breakdown, Some(now)) => frame.render_widget(Breakdown(&now.tally), area),
    }
}

fn verdict(now: &Snapshot) -> Line<'static> {
    let Some(verdict) = now.verdict() else { return Line::default() };
    let text = format!("so far: {}", verdict.headline(&now.lateness));
    if verdict.is_well() { text.into() } else { Line::from(text).fg(BAD) }
}

fn draw_charts(frame: &mut Frame<'_>, area: Rect, picture: &Picture, now: &Snapshot) {
    let course = Course { spans: &picture.course, phase: now.phase };
    let spread = Spread(&now.recent.brief.response);
    let halves = if area.width >= BESIDE {
        Layout::horizontal([Constraint::Fill(3), Constraint::Fill(2)]).spacing(1)
    } else if area.height >= BELOW {
        Layout::vertical([Constraint::Fill(1), Constraint::Fill(1)])
    } else {
        frame.render_widget(course, area);
        return;
    };
    let [left, right] = halves.areas(area);
    frame.render_widget(course, left);
    frame.render_widget(spread, right);
}
