//! Maps the keys that are pressed during a run to actions on the run.

use super::typed::Typed;
use crate::console::human;
use crate::load::action::Action;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use nanopace::{Rate, Shape, ShapeSyntaxError};

#[derive(Debug)]
pub(crate) struct Binding {
    chars: &'static str,
    pub(crate) label: &'static str,
    pub(crate) brief: &'static str,
    pub(crate) help: &'static str,
    meaning: Meaning,
}

#[derive(Clone, Copy, Debug)]
enum Meaning {
    Faster,
    Slower,
    TogglePause,
    Rate,
    Shape,
    Stop,
    Help,
}

pub(crate) const BINDINGS: [Binding; 7] = [
    Binding {
        chars: "+=",
        label: "+",
        brief: "faster",
        help: "raise the rate (multiply it by 1.1)",
        meaning: Meaning::Faster,
    },
    Binding {
        chars: "-",
        label: "-",
        brief: "slower",
        help: "lower the rate (divide it by 1.1)",
        meaning: Meaning::Slower,
    },
    Binding {
        chars: " ",
        label: "space",
        brief: "pause",
        help: "pause or continue",
        meaning: Meaning::TogglePause,
    },
    Binding {
        chars: "0123456789",
        label: "2k Enter",
        brief: "rate",
        help: "type a rate, with units as in 2.5k/s or 90/min",
        meaning: Meaning::Rate,
    },
    Binding {
        chars: "s",
        label: "s",
        brief: "shape",
        help: "type a shape, as in: ramp 100/s..5k/s 30s, hold 60s",
        meaning: Meaning::Shape,
    },
    Binding {
        chars: "q",
        label: "q",
        brief: "stop",
        help: "end the run and report; q again gives up open requests",
        meaning: Meaning::Stop,
    },
    Binding {
        chars: "?",
        label: "?",
        brief: "help",
        help: "show or hide this help",
        meaning: Meaning::Help,
    },
];

pub(crate) fn action(key: KeyEvent) -> Option<Action> {
    Prompt::default().press(key)
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Prompt {
    typing: Option<(PromptKind, Typed)>,
    /// The message about an error in the last input. It is empty if there was no error, and the next key clears it.
    wrong: String,
    is_help_wanted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PromptKind {
    Rate,
    Shape,
}

impl Prompt {
    pub(crate) fn press(&mut self, key: KeyEvent) -> Option<Action> {
        // A key that is pressed with Ctrl or Alt does not have the meaning of its character.
        if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) {
            return None;
        }
        self.wrong.clear();
        match (&mut self.typing, key.code) {
            (Some(_), KeyCode::Esc) => self.typing = None,
            (Some((kind, typed)), KeyCode::Enter) => {
                let (kind, text) = (*kind, typed.text());
                return self.enter(kind, &text);
            }
            // These keys cannot be part of a rate. They discard the typed text, and have their usual meaning.
            (Some((PromptKind::Rate, _)), KeyCode::Char('+' | '=' | '-' | ' ')) | (None, _) => {
                self.typing = None;
                return self.begin(key.code);
            }
            (Some((kind, typed)), code) => {
                typed.press(code);
                if *kind == PromptKind::Rate && typed.is_empty() {
                    self.typing = None;
                }
            }
        }
        None
    }

    fn begin(&mut self, key: KeyCode) -> Option<Action> {
        let KeyCode::Char(char) = key else {
            self.is_help_wanted &= key != KeyCode::Esc;
            return None;
        };
        let Some(binding) = BINDINGS.iter().find(|binding| binding.chars.contains(char)) else {
            self.wrong =
                format!("unknown key {}: press ? for help", human::visible(&char.to_string()));
            return None;
        };
        match binding.meaning {
            Meaning::Faster => return Some(Action::Faster),
            Meaning::Slower => return Some(Action::Slower),
            Meaning::TogglePause => return Some(Action::TogglePause),
            Meaning::Stop => return Some(Action::Stop),
            Meaning::Rate => {
                let mut typed = Typed::default();
                typed.press(key);
                self.typing = Some((PromptKind::Rate, typed));
            }
            Meaning::Shape => self.typing = Some((PromptKind::Shape, Typed::default())),
            Meaning::Help => self.is_help_wanted = !self.is_help_wanted,
        }
        None
    }

    fn enter(&mut self, kind: PromptKind, text: &str) -> Option<Action> {
        let entered = match kind {
            PromptKind::Rate => text.parse::<Rate>().map(Action::SetRate).map_err(|error| {
                // The typed rate is discarded, because it is short enough to be typed again.
                self.typing = None;
                error.to_string()
            }),
            PromptKind::Shape => text.parse::<Shape>().map(Action::SetShape).map_err(|error| {
                self.point_out(&error);
                error.to_string()
            }),
        };
        match entered {
            Err(wrong) => {
                self.wrong = wrong;
                None
            }
            Ok(action) => {
                self.typing = None;
                Some(action)
            }
        }
    }

    fn point_out(&mut self, error: &ShapeSyntaxError) {
        if let Some((_, typed)) = &mut self.typing {
            typed.move_to(error.column().saturating_sub(1));
        }
    }

    pub(crate) fn typing(&self) -> Option<(PromptKind, &Typed)> {
        self.typing.as_ref().map(|(kind, typed)| (*kind, typed))
    }

    pub(crate) fn wrong(&self) -> &str {
        &self.wrong
    }

    pub(crate) fn is_help_wanted(&self) -> bool {
        self.is_help_wanted
    }

    pub(crate) fn line(&self) -> String {
        let typed = match &self.typing {
            Some((PromptKind::Rate, typed)) => format!("> {}", typed.text()),
            Some((PromptKind::Shape, typed)) => format!("shape> {}", typed.text()),
            None => String::new(),
        };
        let parts = [typed.as_str(), &self.wrong];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the actions that a text causes when it is typed. `\n`, `\x08` and `\x1b` stand for Enter, Backspace and
    /// Escape.
    fn actions(text: &str) -> Vec<String> {
        let mut prompt = Prompt::default();
        let key = |c| match c {
            '\n' => KeyCode::Enter,
            '\x08' => KeyCode::Backspace,
            '\x1b' => KeyCode::Esc,
            c => KeyCode::Char(c),
        };
        text.chars().filter_map(|c| prompt.press(key(c).into())).map(shown).collect()
    }

    #[expect(clippy::needless_pass_by_value, reason = "`map` passes actions by value")]
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
    fn other_text_does_nothing() {
        for text in ["\n", "x\n", "k5", "\x08\n", "0\n", "12zz\n", "1\x08\n"] {
            assert!(actions(text).is_empty(), "{text:?}");
        }
    }

    #[test]
    fn keys_with_ctrl_or_alt_do_nothing() {
        // A terminal sends the same byte for Ctrl-\ and Ctrl-4.
        for modifiers in [KeyModifiers::CONTROL, KeyModifiers::ALT] {
            let mut prompt = Prompt::default();
            for c in ['4', '+', ' ', 'q'] {
                assert!(prompt.press(KeyEvent::new(KeyCode::Char(c), modifiers)).is_none());
            }
            assert!(prompt.press(KeyCode::Enter.into()).is_none());
        }
    }

    fn pressed(text: &str) -> Prompt {
        let mut prompt = Prompt::default();
        for c in text.chars() {
            let code = if c == '\n' { KeyCode::Enter } else { KeyCode::Char(c) };
            assert!(prompt.press(code.into()).is_none(), "{text}: {c:?}");
        }
        prompt
    }

    #[test]
    fn a_wrong_rate_is_an_error_and_dropped() {
        assert_eq!(pressed("0").line(), "> 0");
        let prompt = pressed("0\n");
        assert!(prompt.typing().is_none() && !prompt.wrong().is_empty());
        assert_eq!(prompt.line(), prompt.wrong());
    }

    #[test]
    fn q_stops_unless_it_is_typed() {
        assert_eq!(actions("q"), ["Stop"]);
        assert_eq!(actions("1q"), [""; 0]);
        assert_eq!(actions("1+q"), ["Faster", "Stop"]);
        assert_eq!(actions("sq1+- ?q"), [""; 0]);
        assert_eq!(actions("sq\x1bq"), ["Stop"]);
        assert_eq!(actions("0\nq"), ["Stop"]);
    }

    #[test]
    fn a_typed_shape_acts_on_enter() {
        let shape = "ramp 1/s..2/s 3s, hold 5s";
        let set = shown(Action::SetShape(shape.parse().unwrap()));
        assert_eq!(actions(&format!("s{shape}\n+")), [set, shown(Action::Faster)]);
        assert_eq!(actions("shold 1/s 2s\x1b\n"), [""; 0]);
    }

    #[test]
    fn a_wrong_shape_stays_with_the_cursor_where_it_is_wrong() {
        let mut prompt = pressed("shold 1/s 2s, jump 3/s\n");
        let (kind, typed) = prompt.typing().unwrap();
        assert_eq!((kind, typed.parts().0.as_str()), (PromptKind::Shape, "hold 1/s 2s, "));
        assert!(prompt.wrong().contains("column 14"), "{}", prompt.wrong());
        assert!(prompt.line().starts_with("shape> hold 1/s 2s, jump 3/s  "), "{}", prompt.line());
        assert!(prompt.press(KeyCode::Delete.into()).is_none());
        assert_eq!((prompt.wrong(), prompt.line().as_str()), ("", "shape> hold 1/s 2s, ump 3/s"));
        assert!(pressed("s\n").typing().is_some());
    }

    #[test]
    fn help_comes_and_goes() {
        assert!(pressed("?").is_help_wanted() && !pressed("??").is_help_wanted());
        let mut prompt = pressed("?s?");
        for is_wanted in [true, false] {
            prompt.press(KeyCode::Esc.into());
            assert_eq!(prompt.is_help_wanted(), is_wanted);
        }
    }

    #[test]
    fn an_unknown_key_says_so() {
        assert_eq!(pressed("x").line(), "unknown key x: press ? for help");
        assert_eq!(pressed("x\n").line(), "");
        assert_eq!(pressed("xs").line(), "shape> ");
    }

    #[test]
    fn no_key_means_two_things() {
        let mut chars: Vec<char> = BINDINGS.iter().flat_map(|key| key.chars.chars()).collect();
        chars.sort_unstable();
        assert!(chars.windows(2).all(|pair| pair[0] != pair[1]), "{chars:?}");
    }
}
