//! Draws the requests by label, and by error and status.

use super::outcomes::endings;
use crate::console::human::{self, float};
use crate::recorded::tally::{LabelTally, Tally};
use crate::shown::times::NONE;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Rect};
use ratatui::style::Stylize;
use ratatui::widgets::{Row, Table, Widget};

/// Displays two tables side by side, or only the second table if requests have no labels.
#[derive(Debug)]
pub(crate) struct Breakdown<'run>(pub(crate) &'run Tally);

impl Widget for Breakdown<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let labels: Vec<_> = self.0.labels_apart().map(label).collect();
        let half = if labels.is_empty() { 0 } else { area.width / 2 };
        let rest = Rect { x: area.x + half, width: area.width - half, ..area };
        draw(
            ["label", "completed", "failed", "mean service"],
            labels,
            Rect { width: half, ..area },
            buffer,
        );
        let all = self.0.completed + self.0.failed();
        let [errors, statuses] = endings(self.0);
        let ending = |(name, count): (String, u64)| {
            let share = human::percent(float(count) / float(all.max(1)));
            [human::visible(&name), count.to_string(), share, String::new()]
        };
        let endings = errors.into_iter().chain(statuses).map(ending).collect();
        draw(["outcome", "requests", "share", ""], endings, rest, buffer);
    }
}

fn label((label, tally): (&str, &LabelTally)) -> [String; 4] {
    let mean = tally.service.mean().map_or_else(|| NONE.to_owned(), human::time);
    [human::visible(label), tally.completed.to_string(), tally.failed.to_string(), mean]
}

fn draw(names: [&'static str; 4], rows: Vec<[String; 4]>, area: Rect, buffer: &mut Buffer) {
    let widths =
        [Constraint::Fill(1), Constraint::Max(12), Constraint::Max(12), Constraint::Max(13)];
    let rows = rows.into_iter().map(Row::new);
    Table::new(rows, widths).header(Row::new(names).dim()).render(area, buffer);
}
