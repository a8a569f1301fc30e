//! Finds path segments that could become `.` or `..` with some values, which would change the path (RFC 3986, section
//! 5.2.4).

use super::piece::{Form, Piece};

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Part {
    dots: usize,
    columns: Vec<usize>,
}

impl Part {
    pub(crate) fn is_dots<'a>(&self, value: impl Fn(usize) -> &'a [u8]) -> bool {
        let values = || self.columns.iter().map(|column| value(*column));
        let dots = self.dots + values().map(<[u8]>::len).sum::<usize>();
        (1..=2).contains(&dots) && values().flatten().all(|byte| *byte == b'.')
    }
}

/// Returns the path segments whose only placeholders are encoded columns. Segments with a raw value are left out,
/// because a raw value is allowed to change the path.
pub(super) fn parts(pieces: &[Piece]) -> Vec<Part> {
    let (mut parts, mut open) = (Vec::new(), Some(Part::default()));
    for piece in pieces {
        match piece {
            Piece::Text(text) => {
                let path = text.split(|byte| *byte == b'?').next().unwrap_or_default();
                for (index, text) in path.split(|byte| *byte == b'/').enumerate() {
                    if index > 0 {
                        parts.extend(open.replace(Part::default()));
                    }
                    open = open.take().and_then(|part| part.and_text(text));
                }
                if path.len() < text.len() {
                    break;
                }
            }
            Piece::Column(column, Form::Encoded) => {
                if let Some(part) = &mut open {
                    part.columns.push(*column);
                }
            }
            _ => open = None,
        }
    }
    parts.extend(open);
    parts.retain(|part| !part.columns.is_empty());
    parts
}

impl Part {
    fn and_text(mut self, text: &[u8]) -> Option<Part> {
        let text = String::from_utf8_lossy(text).to_ascii_lowercase().replace("%2e", ".");
        self.dots += text.len();
        text.bytes().all(|byte| byte == b'.').then_some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Piece {
        Piece::Text(text.as_bytes().into())
    }

    #[test]
    fn a_segment_is_dots_if_all_of_its_pieces_are() {
        let column = |column| Piece::Column(column, Form::Encoded);
        let of = |pieces: &[Piece], values: [&'static str; 2]| {
            parts(pieces).iter().any(|part| part.is_dots(|column| values[column].as_bytes()))
        };
        for (pieces, values, expected) in [
            (vec![text("/a/"), column(0)], ["..", ""], true),
            (vec![text("/a/"), column(0), text("/b")], [".", ""], true),
            (vec![text("/"), column(0), column(1)], [".", "."], true),
            (vec![text("/."), column(0), text("?x")], [".", ""], true),
            (vec![text("/%2E"), column(0)], ["", ""], true),
            (vec![text("/"), column(0)], ["...", ""], false),
            (vec![text("/"), column(0)], ["", ""], false),
            (vec![text("/x"), column(0)], ["..", ""], false),
            (vec![text("/"), column(0), Piece::Slot], ["..", ""], false),
            (vec![text("/?"), column(0), text("/"), column(1)], ["..", ".."], false),
            (vec![text("/../b/"), column(0)], ["b", ""], false),
            (vec![text("/"), Piece::Column(0, Form::Plain)], ["..", ""], false),
        ] {
            assert_eq!(of(&pieces, values), expected, "{pieces:?} {values:?}");
        }
    }
}
