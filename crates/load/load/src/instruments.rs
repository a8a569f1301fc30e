//! Parts of a run without the run around them, for fuzz targets and benchmarks.

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

/// Returns a function that writes the HTTP request of the slot with a number, and returns its length in bytes. The
/// options are those of `nanopace run`, with a URL.
///
/// # Errors
///
/// The error message of the program about these options.
pub fn requests(options: &[&str]) -> Result<impl FnMut(u64) -> usize + use<>, String> {
    let HttpRunArgs { requests, load, .. } =
        CommandLine::try_parse_from(options).map_err(|error| error.to_string())?.run;
    written(&requests, &load).map_err(|error| format!("{error:#}"))
}

/// Presses a key of the view of a run for each character: `\n` is Enter, `\x08` Backspace, `\x1b` Escape.
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
