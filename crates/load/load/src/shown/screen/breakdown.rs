//! Draws the number of requests by label, and by error and status.

use super::grid::{Grid, Rect, Text, plain};
use super::outcomes::endings;
use crate::console::human::{self, float};
use crate::results::tally::{LabelTally, Tally};
use crate::shown::times::NONE;
use crossterm::style::Stylize;

const NUMBER: u16 = 13;

pub(super) fn draw_breakdown(grid: &mut Grid, area: Rect, tally: &Tally) {
    let labels: Vec<_> = tally.labels_apart().map(label).collect();
    let half = if labels.is_empty() { 0 } else { area.width / 2 };
    let rest = Rect { x: area.x + half, width: area.width - half, ..area };
    draw(
        ["label", "completed", "failed", "mean service"],
        labels,
        Rect { width: half, ..area },
        grid,
    );
    let all = tally.completed + tally.failed();
    let [errors, statuses] = endings(tally);
    let ending = |(name, count): (String, u64)| {
        let share = human::percent(float(count) / float(all.max(1)));
        [human::visible(&name), count.to_string(), share, String::new()]
    };
    let endings = errors.into_iter().chain(statuses).map(ending).collect();
    draw(["outcome", "requests", "share", ""], endings, rest, grid);
}

fn label((label, tally): (&str, &LabelTally)) -> [String; 4] {
    let mean = tally.service.mean().map_or_else(|| NONE.to_owned(), human::time);
    [human::visible(label), tally.completed.to_string(), tally.failed.to_string(), mean]
}

fn draw(names: [&'static str; 4], rows: Vec<[String; 4]>, area: Rect, grid: &mut Grid) {
    let width = (area.width / 4).min(NUMBER);
    let mut areas = area.rows();
    let mut row = |cells: [Text; 4]| {
        let Some(area) = areas.next() else { return };
        let [name, numbers @ ..] = cells;
        let left = area.width - 3 * width;
        grid.line(Rect { width: left.saturating_sub(1), ..area }, [name]);
        for (number, cell) in (0..).zip(numbers) {
            grid.line(Rect { x: area.x + left + number * width, width, ..area }, [cell]);
        }
    };
    row(names.map(|name| plain(name).dim()));
    for cells in rows {
        row(cells.map(plain));
    }
}
