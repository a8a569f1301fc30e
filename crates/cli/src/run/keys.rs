//! What typed keys mean.

use super::action::Action;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use nanopace::RateError;

/// The rate being typed, if any.
#[derive(Debug, Default)]
pub(crate) struct Prompt {
    typed: String,
}

impl Prompt {
    /// What `key` asks for, after the keys before it. An error means that a text was entered that
    /// is not a rate.
    pub(crate) fn press(&mut self, key: KeyEvent) -> Result<Option<Action>, RateError> {
        // With Ctrl or Alt, a key is not the character that it is printed with.
        if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) {
            return Ok(None);
        }
        match key.code {
            KeyCode::Char('+' | '=') => return Ok(Some(Action::Faster)),
            KeyCode::Char('-') => return Ok(Some(Action::Slower)),
            KeyCode::Char(' ') => return Ok(Some(Action::TogglePause)),
            KeyCode::Char(c) if c.is_ascii_digit() => self.typed.push(c),
            // Units and fractions only make sense after a digit.
            KeyCode::Char(c) if !self.typed.is_empty() => self.typed.push(c),
            KeyCode::Backspace => drop(self.typed.pop()),
            KeyCode::Esc => self.typed.clear(),
            KeyCode::Enter if !self.typed.is_empty() => return self.enter(),
            _ => {}
        }
        Ok(None)
    }

    fn enter(&mut self) -> Result<Option<Action>, RateError> {
        let rate = self.typed.parse();
        self.typed.clear();
        Ok(Some(Action::SetRate(rate?)))
    }

    /// The text typed so far.
    pub(crate) fn typed(&self) -> &str {
        &self.typed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The actions that the characters of `text` ask for; `\n`, `\x08` and `\x1b` are Enter,
    /// Backspace and Escape.
    fn actions(text: &str) -> Vec<String> {
        let mut prompt = Prompt::default();
        let key = |c| match c {
            '\n' => KeyCode::Enter,
            '\x08' => KeyCode::Backspace,
            '\x1b' => KeyCode::Esc,
            c => KeyCode::Char(c),
        };
        text.chars().filter_map(|c| prompt.press(key(c).into()).ok().flatten()).map(shown).collect()
    }

    /// Actions are not compared, because shapes are not.
    #[expect(clippy::needless_pass_by_value, reason = "it is mapped over")]
    fn shown(action: Action) -> String {
        format!("{action:?}")
    }

    fn set(rate: &str) -> String {
        shown(Action::SetRate(rate.parse().unwrap()))
    }

    #[test]
    fn single_keys_act_at_once() {
        assert_eq!(
            actions("+-= "),
            [Action::Faster, Action::Slower, Action::Faster, Action::TogglePause].map(shown)
        );
    }

    #[test]
    fn a_typed_rate_acts_on_enter() {
        for (text, expected) in [
            ("250\n", vec![set("250")]),
            ("2.5k/s\n", vec![set("2.5k/s")]),
            ("12\x085\n", vec![set("15")]),
            ("12\x1b7\n", vec![set("7")]),
            ("100\n200\n", vec![set("100"), set("200")]),
        ] {
            assert_eq!(actions(text), expected, "{text:?}");
        }
    }

    #[test]
    fn everything_else_is_ignored() {
        for text in ["\n", "x\n", "k5", "\x08\n", "0\n", "12zz\n"] {
            assert!(actions(text).is_empty(), "{text:?}");
        }
    }

    #[test]
    fn a_key_with_ctrl_or_alt_is_another_key() {
        // Terminals send Ctrl-\\ as Ctrl-4.
        for modifiers in [KeyModifiers::CONTROL, KeyModifiers::ALT] {
            let mut prompt = Prompt::default();
            for c in ['4', '+', ' '] {
                assert!(matches!(
                    prompt.press(KeyEvent::new(KeyCode::Char(c), modifiers)),
                    Ok(None)
                ));
            }
            assert!(matches!(prompt.press(KeyCode::Enter.into()), Ok(None)));
        }
    }

    #[test]
    fn what_is_no_rate_is_an_error_and_forgotten() {
        let mut prompt = Prompt::default();
        assert!(matches!(prompt.press(KeyCode::Char('0').into()), Ok(None)));
        assert_eq!(prompt.typed(), "0");
        assert!(prompt.press(KeyCode::Enter.into()).is_err());
        assert_eq!(prompt.typed(), "");
    }
}
