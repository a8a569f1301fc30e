//! What a run reads while it goes on, for the targets in `fuzz/`.

use crate::shown::keys::Prompt;
use crossterm::event::KeyCode;

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
