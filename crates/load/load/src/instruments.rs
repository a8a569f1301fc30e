//! Makes parts of a run available to fuzz targets and benchmarks.

use crate::http::args::HttpRunArgs;
use crate::http::embedded::NoTarget;
use crate::http::written;
use crate::shown::keys::Prompt;
use clap::Parser;
use crossterm::event::KeyCode;

#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct CommandLine {
    #[command(flatten)]
    run: HttpRunArgs<NoTarget>,
}

/// Returns a function that writes the HTTP request of the slot with the given number and returns the length of the
/// request in bytes. The options are those of `nanopace run`, and must define the requests, for example with `--url`.
///
/// # Errors
///
/// Returns the error message that the program prints for invalid options.
pub fn requests(options: &[&str]) -> Result<impl FnMut(u64) -> usize + use<>, String> {
    let HttpRunArgs { requests, load, .. } =
        CommandLine::try_parse_from(options).map_err(|error| error.to_string())?.run;
    written(&requests, &load).map_err(|error| format!("{error:#}"))
}

/// Presses one key for each character of `typed` in the full-screen view of a run: `\n` is Enter, `\x08` Backspace,
/// `\x1b` Escape.
///
/// # Panics
///
/// Panics if the prompt still contains text after Enter has requested an action.
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
