//! Draws the typed text, messages, and the keys with their help.

use super::figures::BAD;
use super::layout::Wishes;
use super::picture::Picture;
use crate::shown::keys::{BINDINGS, Prompt, PromptKind};
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Stylize;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph, Widget, Wrap};

/// The width of the column of keys in the help.
const LABEL: usize = 10;

/// Computes what a picture needs from the layout.
pub(crate) fn wishes(picture: &Picture, width: u16) -> Wishes {
    let prompt = &picture.prompt;
    Wishes {
        prompt: prompt.typing().is_some() || !note(picture).is_empty(),
        keys: match prompt.typing() {
            Some(_) => lines(prompt.wrong(), width),
            None => 1,
        },
        help: prompt.is_help_wanted(),
    }
}

/// The number of lines that a text needs, at most three. Line breaks between words may leave a tenth of a line empty.
fn lines(text: &str, width: u16) -> u16 {
    let filled = usize::from(width - width / 10).max(1);
    u16::try_from(1 + Span::from(text).width() / filled).unwrap_or(u16::MAX).min(3)
}

fn wrapped(prompt: &Prompt) -> Paragraph<'_> {
    Paragraph::new(prompt.wrong()).fg(BAD).wrap(Wrap { trim: true })
}

fn note(picture: &Picture) -> &str {
    picture.snapshot.as_ref().map_or("", |now| &now.note)
}

/// Draws the text that is being typed, with its cursor, or otherwise the message.
pub(crate) fn draw_prompt(frame: &mut Frame<'_>, area: Rect, picture: &Picture) {
    let Some((kind, typed)) = picture.prompt.typing() else {
        frame.render_widget(Line::from(note(picture)).fg(BAD).bold(), area);
        return;
    };
    let name = match kind {
        PromptKind::Rate => "rate> ",
        PromptKind::Shape => "shape> ",
    };
    let (before, after) = typed.parts();
    // If a text is too long, the part with the cursor is shown.
    let before = ending(&format!("{name}{before}"), area.width.saturating_sub(1).into());
    let cursor = u16::try_from(Span::from(before.as_str()).width()).unwrap_or(u16::MAX);
    frame.render_widget(Line::from(before + &after).bold(), area);
    if cursor < area.width {
        frame.set_cursor_position((area.x + cursor, area.y));
    }
}

/// The longest end of a text that has at most this width.
fn ending(text: &str, width: usize) -> String {
    let mut from = text.char_indices().map(|(index, _)| index).chain([text.len()]);
    let fitting = from.find(|&from| Span::from(&text[from..]).width() <= width);
    text[fitting.unwrap_or(text.len())..].to_owned()
}

/// Displays the keys that can be pressed, or the error in the last entry.
#[derive(Debug)]
pub(crate) struct Keys<'run>(pub(crate) &'run Prompt);

impl Widget for Keys<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        match self.0.typing() {
            Some(_) if !self.0.wrong().is_empty() => wrapped(self.0).render(area, buffer),
            Some(_) => Line::from("Enter applies, Esc cancels").dim().render(area, buffer),
            None => keys(area.width).render(area, buffer),
        }
    }
}

/// Lists the keys, with their actions if there is room.
fn keys(width: u16) -> Line<'static> {
    let named = BINDINGS
        .iter()
        .flat_map(|binding| [binding.label.bold(), " ".into(), binding.brief.dim(), "  ".into()]);
    let named: Line<'_> = named.collect();
    if named.width() <= usize::from(width) + 2 {
        return named;
    }
    BINDINGS.iter().flat_map(|binding| [binding.label.bold(), "  ".into()]).collect()
}

/// Displays an explanation of the keys and the figures.
#[derive(Debug)]
pub(crate) struct Help;

impl Widget for Help {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let block = Block::new().borders(Borders::TOP).title("help");
        let inner = block.inner(area);
        block.render(area, buffer);
        let key = |label: &'static str, text: &'static str| {
            Line::from(vec![format!("{label:LABEL$}").bold(), text.into()])
        };
        let keys = BINDINGS.iter().map(|binding| key(binding.label, binding.help));
        let figures = [
            key("Ctrl-C", "as q, also while typing; the third one ends the program at once"),
            key("wait", "from the intended start to the start"),
            key("service", "from sending the request to the end of the response"),
            key("response", "from the intended start to the end of the response"),
            key("backlog", "requests that are due and have not started, and their time"),
        ];
        for (line, area) in keys.chain(figures).zip(inner.rows()) {
            line.render(area, buffer);
        }
    }
}
