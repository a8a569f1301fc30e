//! Draws the requested and the achieved rates over time.

use super::figures::{ACHIEVED, ASKED};
use super::grid::{Grid, Rect, columns, plain};
use super::picture::Span;
use crate::console::chart::round_up;
use crate::console::human;
use crate::shown::snapshot::Phase;
use crossterm::style::Stylize;
use std::time::Duration;

const ROUND: [f64; 11] = [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];

/// The distance between two dots, in columns.
const DISTANCE: u16 = 4;

/// The first Braille character, and the bits for the dots in its left and right column, from top to bottom.
const BRAILLE: u32 = 0x2800;
const DOTS: [[u32; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

pub(super) fn draw_rate_chart(grid: &mut Grid, area: Rect, spans: &[Span], phase: Phase) {
    let title = [
        plain("requests per second: "),
        plain("• requested").with(ASKED),
        plain(", "),
        plain("⠤ achieved").with(ACHIEVED),
    ];
    let inner = grid.title(area, title);
    let Some(scale) = Scale::of(spans) else {
        let warm_up = if phase == Phase::WarmUp { "nothing is recorded yet" } else { "" };
        return grid.line(inner, [plain(warm_up)]);
    };
    let plot = scale.draw_axes(grid, inner);
    for (row, line) in plot.rows().zip(achieved(spans, scale, plot)) {
        grid.line(row, [plain(line).with(ACHIEVED)]);
    }
    // Single dots are drawn over the line of the achieved rate, so that they can be distinguished from the line without
    // colours.
    for x in (DISTANCE / 2..plot.width).step_by(DISTANCE.into()) {
        let at = scale.time((f64::from(x) + 0.5) / f64::from(plot.width));
        let Some(span) = span_at(spans, at) else { continue };
        let y = scale.row(span.asked_hz, plot.height);
        grid.line(
            Rect { x: plot.x + x, y: plot.y + y, width: 1, height: 1 },
            [plain("•").with(ASKED)],
        );
    }
}

#[derive(Clone, Copy, Debug)]
struct Scale {
    from: f64,
    to: f64,
    top_hz: f64,
}

impl Scale {
    fn of(spans: &[Span]) -> Option<Scale> {
        let rates = spans.iter().flat_map(|span| [span.asked_hz, span.achieved_hz]);
        let hz = rates.fold(0.0, f64::max);
        let top_hz = round_up(if hz > 0.0 { hz } else { 1.0 }, &ROUND);
        Some(Scale { from: spans.first()?.from, to: spans.last()?.to, top_hz })
    }

    fn draw_axes(self, grid: &mut Grid, area: Rect) -> Rect {
        let top = human::short_hz(self.top_hz);
        let left = columns(&top);
        if area.height < 3 || area.width < left + 2 {
            return Rect::default();
        }
        let width = usize::from(left);
        let rows = usize::from(area.height) - 2;
        let label = |row| {
            if row == 0 {
                top.as_str()
            } else if row + 1 == rows {
                "0"
            } else {
                ""
            }
        };
        for (row, area) in area.rows().take(rows).enumerate() {
            grid.line(area, [plain(format!("{:>width$}│", label(row)))]);
        }
        let [axis, times] =
            [2, 1].map(|above| Rect { y: area.bottom() - above, height: 1, ..area });
        grid.line(axis, [plain(format!("{:width$}└{:─<2$}", "", "", usize::from(area.width)))]);
        let [from, to] = [self.from, self.to].map(moment);
        grid.line(times, [plain(format!("{:width$} {from}", ""))]);
        let room = Rect { x: times.right() - columns(&to).min(times.width), ..times };
        grid.line(Rect { width: times.right() - room.x, ..room }, [plain(to)]);
        let plot = Rect { x: area.x + left + 1, width: area.width - left - 1, ..area };
        Rect { height: area.height - 2, ..plot }
    }

    fn time(self, part: f64) -> f64 {
        self.from + (self.to - self.from) * part
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a row")]
    fn row(self, hz: f64, rows: u16) -> u16 {
        let last = rows.saturating_sub(1);
        last - ((hz / self.top_hz * f64::from(last)).round() as u16).min(last)
    }
}

fn span_at(spans: &[Span], at: f64) -> Option<&Span> {
    spans.iter().find(|span| at < span.to)
}

fn achieved(spans: &[Span], scale: Scale, plot: Rect) -> Vec<String> {
    let mut rows = vec![vec![0; plot.width.into()]; plot.height.into()];
    let dots = 2 * plot.width;
    let mut before = None;
    for x in 0..dots {
        let at = scale.time((f64::from(x) + 0.5) / f64::from(dots));
        let Some(span) = span_at(spans, at) else { continue };
        let y = scale.row(span.achieved_hz, 4 * plot.height);
        let step = before.replace(y).unwrap_or(y);
        for y in y.min(step)..=y.max(step) {
            rows[usize::from(y / 4)][usize::from(x / 2)] |=
                DOTS[usize::from(x % 2)][usize::from(y % 4)];
        }
    }
    let char = |dots: u32| match dots {
        0 => ' ',
        dots => char::from_u32(BRAILLE + dots).unwrap_or(' '),
    };
    rows.into_iter().map(|row| row.into_iter().map(char).collect()).collect()
}

fn moment(seconds: f64) -> String {
    let time = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    humantime::format_duration(Duration::from_secs(time.as_secs())).to_string()
}
