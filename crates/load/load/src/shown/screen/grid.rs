//! Draws text into a grid of cells, and writes the rows that have changed to a terminal.

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::queue;
use crossterm::style::{ContentStyle, PrintStyledContent, StyledContent};
use crossterm::terminal::{Clear, ClearType};
use std::io::{self, Write};
use std::iter;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

pub(super) type Text = StyledContent<String>;

pub(super) fn plain(text: impl Into<String>) -> Text {
    StyledContent::new(ContentStyle::new(), text.into())
}

pub(super) fn columns(text: &str) -> u16 {
    u16::try_from(text.width()).unwrap_or(u16::MAX)
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rect {
    pub(super) x: u16,
    pub(super) y: u16,
    pub(super) width: u16,
    pub(super) height: u16,
}

impl Rect {
    pub(super) fn right(self) -> u16 {
        self.x + self.width
    }

    pub(super) fn bottom(self) -> u16 {
        self.y + self.height
    }

    pub(super) fn rows(self) -> impl Iterator<Item = Rect> {
        (self.y..self.bottom()).map(move |y| Rect { y, height: 1, ..self })
    }

    pub(super) fn below_first(self) -> Rect {
        let first = self.height.min(1);
        Rect { y: self.y + first, height: self.height - first, ..self }
    }
}

/// A character together with its combining marks, such as accents. A cell without text is covered by a wide character
/// in the cell before it.
#[derive(Clone, Debug, PartialEq)]
struct Cell {
    text: String,
    style: ContentStyle,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Grid {
    width: u16,
    rows: Vec<Vec<Cell>>,
    pub(super) cursor: Option<(u16, u16)>,
}

impl Grid {
    pub(super) fn new((width, height): (u16, u16)) -> Grid {
        let blank = Cell { text: " ".to_owned(), style: ContentStyle::new() };
        let rows = vec![vec![blank; width.into()]; height.into()];
        Grid { width, rows, cursor: None }
    }

    pub(super) fn area(&self) -> Rect {
        let height = u16::try_from(self.rows.len()).unwrap_or(u16::MAX);
        Rect { x: 0, y: 0, width: self.width, height }
    }

    /// Writes texts into the first row of an area. The part that does not fit is cut off.
    pub(super) fn line(&mut self, area: Rect, texts: impl IntoIterator<Item = Text>) {
        let mut x = area.x;
        for text in texts {
            for char in text.content().chars() {
                // Control characters are left out, because they could move the cursor.
                let Some(width) = char.width() else { continue };
                let width = u16::try_from(width).unwrap_or(u16::MAX);
                if area.height == 0 || width > area.right() - x {
                    return;
                }
                self.put((x, area.y), width, char, *text.style());
                x += width;
            }
        }
    }

    /// Puts a character into a cell. A character without width is added to the character before it as a mark.
    fn put(&mut self, (x, y): (u16, u16), width: u16, char: char, style: ContentStyle) {
        let row = &mut self.rows[usize::from(y)];
        if width == 0 {
            let before = row[..usize::from(x)].iter_mut().rfind(|cell| !cell.text.is_empty());
            return before.map_or((), |cell| cell.text.push(char));
        }
        let texts = iter::once(char.to_string()).chain(iter::repeat(String::new()));
        let cells = &mut row[usize::from(x)..usize::from(x + width)];
        cells.iter_mut().zip(texts).for_each(|(cell, text)| *cell = Cell { text, style });
    }

    pub(super) fn title(&mut self, area: Rect, texts: impl IntoIterator<Item = Text>) -> Rect {
        self.line(area, [plain("─".repeat(area.width.into()))]);
        self.line(area, texts);
        area.below_first()
    }

    /// Writes the rows that differ from `earlier`. If `earlier` is `None` or has a different size, all rows are
    /// written, because rows of a wider picture may have wrapped.
    pub(super) fn write(&self, earlier: Option<&Grid>, to: &mut impl Write) -> io::Result<()> {
        let earlier = earlier.filter(|earlier| earlier.area() == self.area());
        queue!(to, Hide)?;
        if earlier.is_none() {
            queue!(to, Clear(ClearType::All))?;
        }
        for (y, row) in (0..).zip(&self.rows) {
            if earlier.is_none_or(|earlier| earlier.rows[usize::from(y)] != *row) {
                queue!(to, MoveTo(0, y))?;
                for run in row.chunk_by(|a, b| a.style == b.style) {
                    let text: String = run.iter().map(|cell| cell.text.as_str()).collect();
                    queue!(to, PrintStyledContent(StyledContent::new(run[0].style, text)))?;
                }
            }
        }
        self.cursor.map_or(Ok(()), |(x, y)| queue!(to, MoveTo(x, y), Show))
    }

    #[cfg(test)]
    pub(super) fn text(&self) -> String {
        let line = |row: &Vec<Cell>| {
            row.iter().map(|cell| cell.text.as_str()).chain(["\n"]).collect::<String>()
        };
        self.rows.iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossterm::style::{Color, Stylize};

    fn lined(width: u16, text: &str) -> String {
        let mut grid = Grid::new((width, 1));
        grid.line(grid.area(), [plain(text)]);
        grid.text()
    }

    #[test]
    fn wide_characters_and_marks_take_their_columns() {
        assert_eq!(lined(6, "例えx"), "例えx \n");
        assert_eq!(lined(3, "例え"), "例 \n");
        assert_eq!(lined(3, "e\u{301}ab c"), "e\u{301}ab\n");
        assert_eq!(lined(4, "\u{301}例\u{301}\u{7}\nb"), "例\u{301}b \n");
        assert_eq!(lined(0, "a"), "\n");
    }

    #[test]
    fn only_changed_rows_are_written() {
        let mut first = Grid::new((3, 2));
        first.line(first.area(), [plain("a").bold(), plain("bc").with(Color::DarkRed)]);
        let mut second = first.clone();
        second.line(second.area().below_first(), [plain("new")]);
        second.cursor = Some((1, 1));
        let written = |grid: &Grid, earlier| {
            let mut bytes = Vec::new();
            grid.write(earlier, &mut bytes).unwrap();
            String::from_utf8(bytes).unwrap()
        };
        assert_eq!(
            written(&second, Some(&first)),
            "\u{1b}[?25l\u{1b}[2;1Hnew\u{1b}[2;2H\u{1b}[?25h"
        );
        assert_eq!(written(&first, Some(&first)), "\u{1b}[?25l");
        for earlier in [None, Some(&Grid::new((4, 2)))] {
            let all = written(&first, earlier);
            assert!(
                all.contains("\u{1b}[1ma\u{1b}[0m") && all.contains("\u{1b}[2;1H   "),
                "{all:?}"
            );
        }
    }
}
