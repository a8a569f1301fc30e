//! The rate asked for and the rate achieved, over time.

use super::figures::{ACHIEVED, ASKED};
use super::picture::Span;
use crate::console::chart::round_up;
use crate::console::human;
use crate::shown::snapshot::Phase;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Style, Stylize};
use ratatui::symbols::Marker;
use ratatui::text::Line;
use ratatui::widgets::{Axis, Block, Borders, Chart, Dataset, GraphType, Widget};
use std::time::Duration;

/// The heights of the chart that are round, within a factor of ten.
const ROUND: [f64; 11] = [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];

/// The chart of the rates.
#[derive(Debug)]
pub(crate) struct Course<'run> {
    pub(crate) spans: &'run [Span],
    pub(crate) phase: Phase,
}

impl Widget for Course<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let title = Line::from(vec![
            "requests per second: ".into(),
            "asked".fg(ASKED),
            ", ".into(),
            "achieved".fg(ACHIEVED),
        ]);
        let block = Block::new().borders(Borders::TOP).title(title);
        let [asked, achieved] =
            [steps(self.spans, |span| span.asked_hz), steps(self.spans, |span| span.achieved_hz)];
        let (Some(first), Some(last)) = (self.spans.first(), self.spans.last()) else {
            let warm_up = if self.phase == Phase::WarmUp { "nothing is recorded yet" } else { "" };
            let inner = block.inner(area);
            block.render(area, buffer);
            return Line::from(warm_up).render(inner, buffer);
        };
        let hz = asked.iter().chain(&achieved).map(|point| point.1).fold(0.0, f64::max);
        let top = round_up(if hz > 0.0 { hz } else { 1.0 }, &ROUND);
        let lines = [(&asked, ASKED), (&achieved, ACHIEVED)].map(|(points, colour)| {
            let line = Dataset::default().data(points).style(Style::new().fg(colour));
            line.marker(Marker::Braille).graph_type(GraphType::Line)
        });
        Chart::new(lines.to_vec())
            .block(block)
            .x_axis(axis([first.from, last.to], [moment(first.from), moment(last.to)]))
            .y_axis(axis([0.0, top], ["0".to_owned(), human::short_hz(top)]))
            .legend_position(None)
            .render(area, buffer);
    }
}

fn axis(bounds: [f64; 2], labels: [String; 2]) -> Axis<'static> {
    Axis::default().bounds(bounds).labels(labels)
}

/// The rate is level within a span.
fn steps(spans: &[Span], hz: fn(&Span) -> f64) -> Vec<(f64, f64)> {
    spans.iter().flat_map(|span| [(span.from, hz(span)), (span.to, hz(span))]).collect()
}

fn moment(seconds: f64) -> String {
    let time = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    humantime::format_duration(Duration::from_secs(time.as_secs())).to_string()
}
