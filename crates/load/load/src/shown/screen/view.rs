//! Draws the whole view.

use super::breakdown::draw_breakdown;
use super::figures::{BAD, draw_figures, draw_progress};
use super::footer;
use super::grid::{Grid, Rect, Text, plain};
use super::layout::{self, Part};
use super::outcomes::draw_outcomes;
use super::picture::Picture;
use super::rate_chart::draw_rate_chart;
use super::spread::draw_spread;
use super::times::draw_times;
use crate::shown::snapshot::Snapshot;
use crossterm::style::Stylize;

/// The minimum width for charts side by side, and the minimum height for charts one above the other.
const BESIDE: u16 = 60;
const BELOW: u16 = 14;

pub(crate) fn draw(grid: &mut Grid, picture: &Picture) {
    let area = grid.area();
    for (part, area) in layout::placed(area, footer::wishes(picture, area.width)) {
        draw_part(grid, part, area, picture);
    }
}

fn draw_part(grid: &mut Grid, part: Part, area: Rect, picture: &Picture) {
    match (part, &picture.snapshot) {
        (Part::Url, _) => grid.line(area, [plain(&picture.title.url)]),
        (Part::Load, snapshot) => {
            let load = snapshot.as_ref().map_or(&picture.title.load, |now| &now.load);
            let text = format!("{load}, {}", picture.title.by);
            grid.line(area, [plain(text)]);
        }
        (Part::Prompt, _) => footer::draw_prompt(grid, area, picture),
        (Part::Keys, _) => footer::draw_keys(grid, area, &picture.prompt),
        (Part::Progress, None) => grid.line(area, [plain("opening connections")]),
        (Part::Charts, _) if picture.prompt.is_help_wanted() => footer::draw_help(grid, area),
        (_, None) => {}
        (Part::Progress, Some(now)) => draw_progress(grid, area, now),
        (Part::Figures, Some(now)) => draw_figures(grid, area, now),
        (Part::Verdict, Some(now)) => grid.line(area, [verdict(now)]),
        (Part::Charts, Some(now)) => draw_charts(grid, area, picture, now),
        (Part::Times, Some(now)) => draw_times(grid, area, &now.recent.brief),
        (Part::Outcomes, Some(now)) => draw_outcomes(grid, area, now),
        (Part::Breakdown, Some(now)) => draw_breakdown(grid, area, &now.tally),
    }
}

fn verdict(now: &Snapshot) -> Text {
    let Some(verdict) = now.verdict() else { return plain("") };
    let text = plain(format!("so far: {}", verdict.headline(&now.lateness, now.failed_share())));
    if verdict.is_well() { text } else { text.with(BAD) }
}

fn draw_charts(grid: &mut Grid, area: Rect, picture: &Picture, now: &Snapshot) {
    let mut draw_rates = |area| draw_rate_chart(grid, area, &picture.course, now.phase);
    let Some([first, second]) = halves(area) else { return draw_rates(area) };
    draw_rates(first);
    draw_spread(grid, second, &now.recent.brief.response);
}

fn halves(area: Rect) -> Option<[Rect; 2]> {
    let Rect { x, y, width, height } = area;
    if width >= BESIDE {
        let first = (width - 1) * 3 / 5;
        let second = Rect { x: x + first + 1, width: width - first - 1, ..area };
        return Some([Rect { width: first, ..area }, second]);
    }
    let first = height.div_ceil(2);
    let halves =
        [Rect { height: first, ..area }, Rect { y: y + first, height: height - first, ..area }];
    (height >= BELOW).then_some(halves)
}
