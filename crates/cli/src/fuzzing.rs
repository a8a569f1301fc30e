//! What the program reads, for the targets in `fuzz/`.

use crate::args::Cli;
use crate::limit;
use crate::run::keys::Prompt;
use clap::Parser;
use crossterm::event::KeyCode;

/// Reads a command line, the program's own name first.
///
/// # Errors
///
/// What the program would say about it.
pub fn command_line(words: &[&str]) -> Result<(), String> {
    Cli::try_parse_from(words)
        .map(|cli| drop(cli.into_command()))
        .map_err(|error| error.to_string())
}

/// Reads a line of requests, as `nanopace limit` does.
///
/// # Errors
///
/// What the program would say about the line.
pub fn request_line(line: &[u8]) -> Result<(), String> {
    limit::request::parse(line).map(drop).map_err(|error| format!("{error:#}"))
}

/// Presses a key for each character: `\n` is Enter, `\x08` Backspace, `\x1b` Escape.
///
/// # Panics
///
/// If a text stays in the prompt after it was entered.
pub fn press_keys(typed: &str) {
    let mut prompt = Prompt::default();
    for key in typed.chars() {
        let key = match key {
            '\n' => KeyCode::Enter,
            '\x08' => KeyCode::Backspace,
            '\x1b' => KeyCode::Esc,
            other => KeyCode::Char(other),
        };
        let acts = prompt.press(key.into()).is_some();
        let is_left = acts && key == KeyCode::Enter && prompt.typing().is_some();
        assert!(!is_left, "`{}` is left in the prompt", prompt.line());
    }
}
