//! Draws the text that is being typed, messages, and the keys with their help.

use super::figures::BAD;
use super::grid::{Grid, Rect, Text, columns, plain};
use super::layout::Wishes;
use super::picture::Picture;
use crate::shown::keys::{BINDINGS, Prompt, PromptKind};
use crossterm::style::Stylize;

const LABEL: usize = 10;

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

fn lines(text: &str, width: u16) -> u16 {
    u16::try_from(wrapped(text, width).len()).unwrap_or(u16::MAX).clamp(1, 3)
}

/// Breaks a text into lines. A word that is longer than a line is broken at the end of the line.
fn wrapped(text: &str, width: u16) -> Vec<String> {
    let mut lines = Vec::<String>::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if columns(line).saturating_add(columns(word)) < width => {
                *line += " ";
                *line += word;
            }
            _ => {
                let chars: Vec<char> = word.chars().collect();
                lines.extend(chars.chunks(width.max(1).into()).map(String::from_iter));
            }
        }
    }
    lines
}

fn note(picture: &Picture) -> &str {
    picture.snapshot.as_ref().map_or("", |now| &now.note)
}

pub(crate) fn draw_prompt(grid: &mut Grid, area: Rect, picture: &Picture) {
    let Some((kind, typed)) = picture.prompt.typing() else {
        return grid.line(area, [plain(note(picture)).with(BAD).bold()]);
    };
    let name = match kind {
        PromptKind::Rate => "rate> ",
        PromptKind::Shape => "shape> ",
    };
    let (before, after) = typed.parts();
    // If the text is longer than the line, the part that contains the cursor is drawn.
    let before = ending(&format!("{name}{before}"), area.width.saturating_sub(1));
    let cursor = columns(&before);
    grid.line(area, [plain(before + &after).bold()]);
    if cursor < area.width {
        grid.cursor = Some((area.x + cursor, area.y));
    }
}

fn ending(text: &str, width: u16) -> String {
    let mut from = text.char_indices().map(|(index, _)| index).chain([text.len()]);
    let fitting = from.find(|&from| columns(&text[from..]) <= width);
    text[fitting.unwrap_or(text.len())..].to_owned()
}

pub(super) fn draw_keys(grid: &mut Grid, area: Rect, prompt: &Prompt) {
    match prompt.typing() {
        Some(_) if !prompt.wrong().is_empty() => {
            let lines = wrapped(prompt.wrong(), area.width);
            let lines = area.rows().zip(lines);
            lines.for_each(|(area, line)| grid.line(area, [plain(line).with(BAD)]));
        }
        Some(_) => grid.line(area, [plain("Enter applies, Esc cancels").dim()]),
        None => grid.line(area, keys(area.width)),
    }
}

fn keys(width: u16) -> Vec<Text> {
    let label = |key: &'static str| plain(key).bold();
    let named = BINDINGS
        .iter()
        .flat_map(|key| [label(key.label), plain(" "), plain(key.brief).dim(), plain("  ")]);
    let named: Vec<_> = named.collect();
    if named.iter().map(|text| columns(text.content())).sum::<u16>() <= width.saturating_add(2) {
        return named;
    }
    BINDINGS.iter().flat_map(|key| [label(key.label), plain("  ")]).collect()
}

pub(super) fn draw_help(grid: &mut Grid, area: Rect) {
    let inner = grid.title(area, [plain("help")]);
    let key = |label: &'static str, text: &'static str| {
        [plain(format!("{label:LABEL$}")).bold(), plain(text)]
    };
    let keys = BINDINGS.iter().map(|binding| key(binding.label, binding.help));
    let figures = [
        key("Ctrl-C", "like q, also while typing; a third Ctrl-C (in a fleet: a fourth) exits"),
        key("wait", "from the intended start to the start"),
        key("service", "from sending the request to the end of the response"),
        key("response", "from the intended start to the end of the response"),
        key("backlog", "requests due but not started, and the time in which they became due"),
    ];
    inner.rows().zip(keys.chain(figures)).for_each(|(area, line)| grid.line(area, line));
}
