//! Implements a line editor for text that is typed during a run.

use crossterm::event::KeyCode;

/// The maximum number of characters. No shape that a person types or pastes is longer.
const MOST: usize = 4_000;

#[derive(Clone, Debug, Default)]
pub(crate) struct Typed {
    text: Vec<char>,
    cursor: usize,
}

impl Typed {
    pub(crate) fn press(&mut self, key: KeyCode) {
        match key {
            KeyCode::Char(c) if self.text.len() < MOST => {
                self.text.insert(self.cursor, c);
                self.cursor += 1;
            }
            KeyCode::Backspace if self.cursor > 0 => {
                self.cursor -= 1;
                self.text.remove(self.cursor);
            }
            KeyCode::Delete if self.cursor < self.text.len() => drop(self.text.remove(self.cursor)),
            KeyCode::Left => self.move_to(self.cursor.saturating_sub(1)),
            KeyCode::Right => self.move_to(self.cursor + 1),
            KeyCode::Home => self.move_to(0),
            KeyCode::End => self.move_to(self.text.len()),
            _ => {}
        }
    }

    pub(crate) fn move_to(&mut self, index: usize) {
        self.cursor = index.min(self.text.len());
    }

    pub(crate) fn parts(&self) -> (String, String) {
        let (before, after) = self.text.split_at(self.cursor);
        (before.iter().collect(), after.iter().collect())
    }

    pub(crate) fn text(&self) -> String {
        self.text.iter().collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use KeyCode::{Backspace, Char, Delete, End, Enter, Home, Left, Right};
    use proptest::prelude::*;

    fn typed(keys: &[KeyCode]) -> (String, String) {
        let mut typed = Typed::default();
        for &key in keys {
            typed.press(key);
        }
        typed.parts()
    }

    #[test]
    fn characters_go_where_the_cursor_is() {
        for (keys, before, behind) in [
            (&[Char('a'), Char('b')][..], "ab", ""),
            (&[Char('a'), Char('b'), Left, Char('é')], "aé", "b"),
            (&[Char('a'), Char('b'), Home, Delete, Right, Right, Char('c')], "bc", ""),
            (&[Char('a'), Home, Backspace, Left, End, Delete, Backspace, Backspace], "", ""),
            (&[Char('a'), Enter, Char('b'), Left, Left, Backspace], "", "ab"),
        ] {
            assert_eq!(typed(keys), (before.to_owned(), behind.to_owned()), "{keys:?}");
        }
    }

    #[test]
    fn the_length_has_a_bound() {
        assert_eq!(typed(&vec![Char('x'); MOST + 10]).0.len(), MOST);
    }

    proptest! {
        #[test]
        fn no_key_leaves_the_text(keys in prop::collection::vec(0..8_usize, 0..200)) {
            let all = [Char('a'), Char('ß'), Backspace, Delete, Left, Right, Home, End];
            let mut typed = Typed::default();
            for key in keys {
                typed.press(all[key]);
                let (before, behind) = typed.parts();
                prop_assert_eq!(before + &behind, typed.text());
            }
        }
    }
}
