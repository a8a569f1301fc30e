//! Draws the requested and the achieved rate over time.

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

/// The round values for the height of the chart, within a factor of ten.
const ROUND: [f64; 11] = [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];

/// The number of columns between two dots.
const DISTANCE: u16 = 4;

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
            "• requested".fg(ASKED),
            ", ".into(),
            "⠤ achieved".fg(ACHIEVED),
        ]);
        let block = Block::new().borders(Borders::TOP).title(title);
        let achieved = steps(self.spans);
        let asked = dots(self.spans, area.width / DISTANCE);
        let (Some(first), Some(last)) = (self.spans.first(), self.spans.last()) else {
            let warm_up = if self.phase == Phase::WarmUp { "nothing is recorded yet" } else { "" };
            let inner = block.inner(area);
            block.render(area, buffer);
            return Line::from(warm_up).render(inner, buffer);
        };
        let rates = self.spans.iter().flat_map(|span| [span.asked_hz, span.achieved_hz]);
        let hz = rates.fold(0.0, f64::max);
        let top = round_up(if hz > 0.0 { hz } else { 1.0 }, &ROUND);
        // Single dots over a line can be distinguished without colours, even if both are in the same row.
        let line = (&achieved, ACHIEVED, Marker::Braille, GraphType::Line);
        let dots = (&asked, ASKED, Marker::Dot, GraphType::Scatter);
        let lines = [line, dots].map(|(points, colour, marker, kind)| {
            let line = Dataset::default().data(points).style(Style::new().fg(colour));
            line.marker(marker).graph_type(kind)
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

/// The points of the achieved rate, which is constant within a span.
fn steps(spans: &[Span]) -> Vec<(f64, f64)> {
    let ends = |span: &Span| [(span.from, span.achieved_hz), (span.to, span.achieved_hz)];
    spans.iter().flat_map(ends).collect()
}

/// The requested rate at `count` moments.
fn dots(spans: &[Span], count: u16) -> Vec<(f64, f64)> {
    let (Some(first), Some(last)) = (spans.first(), spans.last()) else { return Vec::new() };
    let length = last.to - first.from;
    let moments =
        (0..count).map(|dot| first.from + length * (f64::from(dot) + 0.5) / f64::from(count));
    let dot = |at| Some((at, spans.iter().find(|span| at < span.to)?.asked_hz));
    moments.filter_map(dot).collect()
}

fn moment(seconds: f64) -> String {
    let time = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    humantime::format_duration(Duration::from_secs(time.as_secs())).to_string()
}
