//! Draws the frame of a chart: its heading, axes and key. The content of a chart is stretched to the width of the page.
//! The text and the width of lines stay the same, so that charts are readable on screens of any size.

use maud::{Markup, PreEscaped, html};
use std::fmt::Write as _;

/// The width of a chart in units of the drawing. Heights are in pixels.
pub(crate) const WIDTH: f64 = 1_000.0;

/// The length in pixels of the stroke that marks a lower bound.
const UPWARD: u32 = 6;

const DISTANCE: f64 = WIDTH / 60.0;

#[derive(Debug)]
pub(crate) struct Chart {
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    pub(crate) about: String,
    pub(crate) height: u32,
    /// The time spans in which no response arrived, as shares of the width from the left.
    pub(crate) silent: Vec<(f64, f64)>,
    /// The labels of the horizontal axis, each with its position as a share of the width from the left.
    pub(crate) across: Vec<(f64, String)>,
    /// The labels of the vertical axis, each with its position as a share of the height from the bottom.
    pub(crate) up: Vec<(f64, String)>,
    pub(crate) key: Markup,
    /// The ID of a table, and the columns of this table whose figures the page shows at the pointer.
    pub(crate) table: (&'static str, &'static str),
    pub(crate) body: Markup,
}

impl Chart {
    pub(crate) fn figure(&self) -> Markup {
        let (title, about) = (format!("{}-title", self.id), format!("{}-about", self.id));
        let (table, columns) = self.table;
        html! {
            figure id=(self.id) data-table=(table) data-columns=(columns) {
                figcaption {
                    h3 { (self.name) }
                    p { (self.about) }
                    p.key {
                        (self.key)
                        @if !self.silent.is_empty() { (key_silent()) }
                    }
                }
                svg.plot role="img" aria-labelledby=(title) aria-describedby=(about) height=(self.height) {
                    title id=(title) { (self.name) }
                    desc id=(about) { (self.about) }
                    (self.shades())
                    (self.grid())
                    svg width="100%" height="100%" viewBox=(format!("0 0 {WIDTH} {}", self.height)) preserveAspectRatio="none" {
                        (self.body)
                    }
                    (self.labels())
                }
            }
        }
    }

    fn shades(&self) -> Markup {
        html! {
            g.silent {
                @for &(from, to) in &self.silent {
                    rect x=(percent(from)) width=(percent(to - from)) height="100%" {}
                }
            }
        }
    }

    fn grid(&self) -> Markup {
        html! {
            g.grid {
                @for (part, _) in &self.up {
                    line x1="0" x2="100%" y1=(percent(1.0 - part)) y2=(percent(1.0 - part)) {}
                }
                @for (part, _) in &self.across {
                    line x1=(percent(*part)) x2=(percent(*part)) y1="0" y2="100%" {}
                }
            }
        }
    }

    /// Draws the labels. On a narrow screen, every second label of the horizontal axis is hidden.
    fn labels(&self) -> Markup {
        html! {
            g.up aria-hidden="true" {
                @for (part, label) in &self.up {
                    text x="-8" y=(percent(1.0 - part)) dy="0.35em" { (label) }
                }
            }
            g.across aria-hidden="true" {
                @for (index, (part, label)) in self.across.iter().enumerate() {
                    text.second[index % 2 == 1] x=(percent(*part)) y=(self.height + 18) { (label) }
                }
            }
        }
    }
}

pub(crate) fn key(class: &str, name: &str) -> Markup {
    html! {
        span {
            svg.swatch width="26" height="10" aria-hidden="true" {
                path class=(class) d="M0 5H26" {}
            }
            " " (name)
        }
    }
}

fn key_silent() -> Markup {
    html! {
        span {
            svg.swatch.silent width="26" height="12" aria-hidden="true" { rect width="26" height="12" {} }
            " no response came"
        }
    }
}

pub(crate) fn key_at_least() -> Markup {
    html! {
        span {
            svg.swatch width="26" height="12" aria-hidden="true" {
                path.line.upward d="M13 10v-7" {}
                path.line d="M4 10H22" {}
            }
            " at least"
        }
    }
}

/// Returns the path of the strokes that mark lower bounds. Each stroke is in the middle of a step, and two strokes are
/// at least [`DISTANCE`] apart.
pub(crate) fn upward(steps: impl Iterator<Item = ((f64, f64), f64)>, height: u32) -> String {
    let mut path = String::new();
    let mut free_from = 0.0;
    for ((from, to), value) in steps {
        let middle = tenths(f64::midpoint(from, to) * WIDTH);
        if middle >= free_from {
            let up = tenths((1.0 - value) * f64::from(height));
            let _ = write!(path, "M{middle} {up}v-{UPWARD}");
            free_from = middle + DISTANCE;
        }
    }
    path
}

/// Returns the path of a line with steps. The line is interrupted where there is no value. Values are shares of the
/// height.
pub(crate) fn steps(
    values: impl IntoIterator<Item = (f64, f64, Option<f64>)>,
    height: u32,
) -> String {
    let mut path = String::new();
    let mut is_open = false;
    for (from, to, value) in values {
        if let Some(value) = value {
            let [from, to] = [from, to].map(|part| tenths(part * WIDTH));
            let up = tenths((1.0 - value) * f64::from(height));
            let _ = if is_open {
                write!(path, "V{up}H{to}")
            } else {
                write!(path, "M{from} {up}H{to}")
            };
        }
        is_open = value.is_some();
    }
    path
}

pub(crate) fn line(class: &str, path: &str) -> Markup {
    html! { path class=(class) d=(path) {} }
}

pub(crate) fn surface(class: &str, path: &str, from: f64, to: f64, height: u32) -> Markup {
    let [from, to] = [from, to].map(|part| tenths(part * WIDTH));
    html! { path class=(class) d=(format!("M{from} {height}L{}L{to} {height}Z", &path[1.min(path.len())..])) {} }
}

fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn percent(part: f64) -> PreEscaped<String> {
    PreEscaped(format!("{}%", (part * 1e4).round() / 1e2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_steps_and_gaps() {
        let path = steps(
            [
                (0.0, 0.25, Some(0.0)),
                (0.25, 0.5, Some(0.5)),
                (0.5, 0.75, None),
                (0.75, 1.0, Some(1.0)),
            ],
            200,
        );
        assert_eq!(path, "M0 200H250V100H500M750 0H1000");
        assert_eq!(steps([(0.0, 1.0, None)], 200), "");
    }

    #[test]
    fn lower_bounds_have_strokes_that_can_be_told_apart() {
        let wide = [((0.0, 0.1), 0.5), ((0.5, 0.7), 1.0)];
        assert_eq!(upward(wide.into_iter(), 200), "M50 100v-6M600 0v-6");
        let edges = (0..1_000).map(|step| f64::from(step) / 1_000.0);
        let narrow = upward(edges.map(|from| ((from, from + 0.001), 0.5)), 200);
        assert!((50..=60).contains(&narrow.matches('M').count()), "{narrow}");
    }
}
