//! Any keys that are pressed while a load runs ask for something, or for nothing, or are no rate.
//!
//! The program is no library, so its own file stands in here as a module.

#![no_main]

#[path = "../../crates/cli/src/keys.rs"]
mod keys;

use crossterm::event::KeyCode;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|typed: &str| {
    let mut prompt = keys::Prompt::default();
    for key in typed.chars() {
        let key = match key {
            '\n' => KeyCode::Enter,
            '\x08' => KeyCode::Backspace,
            '\x1b' => KeyCode::Esc,
            other => KeyCode::Char(other),
        };
        let asked = prompt.press(key);
        assert!(asked.is_ok() || prompt.typed().is_empty(), "a text that is no rate is left in the prompt");
    }
});
