//! Items of streamed answers: where in a body one ends.

use clap::ValueEnum;

/// What an item of an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Items {
    /// A server-sent event with data; comments and other fields are none.
    Sse,
    /// A line that is not empty.
    Lines,
}

/// Counts the items of a body that comes in parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scanner {
    kind: Items,
    /// How many characters the line has, up to five.
    length: usize,
    /// Whether it begins as a line of data does.
    is_data: bool,
    /// Whether the event has a line of data.
    has_data: bool,
    is_behind_return: bool,
    /// How much of a byte-order mark there has been, which is no part of the first line.
    mark: usize,
}

const MARK: &[u8; 3] = b"\xEF\xBB\xBF";
const DATA: &[u8; 5] = b"data:";

impl Scanner {
    /// At the beginning of a body.
    pub(crate) fn new(kind: Items) -> Scanner {
        Scanner {
            kind,
            length: 0,
            is_data: true,
            has_data: false,
            is_behind_return: false,
            mark: 0,
        }
    }

    /// How many items end in this part.
    pub(crate) fn count(&mut self, part: &[u8]) -> u64 {
        part.iter().filter(|byte| self.ends_item(**byte)).count() as u64
    }

    /// How many items the end of the body ends: a line is one, and an event is discarded (HTML standard,
    /// section 9.2.6).
    pub(crate) fn at_end(&self) -> u64 {
        u64::from(self.kind == Items::Lines && self.length > 0)
    }

    fn ends_item(&mut self, byte: u8) -> bool {
        if MARK.get(self.mark) == Some(&byte) {
            self.mark += 1;
            return false;
        }
        self.mark = MARK.len();
        let is_second_half = byte == b'\n' && self.is_behind_return;
        self.is_behind_return = byte == b'\r';
        if is_second_half {
            return false;
        }
        if b"\r\n".contains(&byte) {
            return self.end_line();
        }
        self.is_data &= DATA.get(self.length).is_none_or(|expected| *expected == byte);
        self.length = DATA.len().min(self.length + 1);
        false
    }

    fn end_line(&mut self) -> bool {
        let (is_empty, is_data) = (self.length == 0, self.is_data && self.length >= "data".len());
        (self.length, self.is_data) = (0, true);
        match self.kind {
            Items::Lines => !is_empty,
            Items::Sse if is_empty => std::mem::take(&mut self.has_data),
            Items::Sse => {
                self.has_data |= is_data;
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn items(kind: Items, parts: &[&[u8]]) -> u64 {
        let mut scanner = Scanner::new(kind);
        let inside: u64 = parts.iter().map(|part| scanner.count(part)).sum();
        inside + scanner.at_end()
    }

    #[test]
    fn an_event_ends_with_a_blank_line_and_a_line_with_its_end() {
        for (body, events, lines) in [
            ("", 0, 0),
            ("data: a\n\n", 1, 1),
            ("\u{FEFF}data: a\n\n", 1, 1),
            ("data: a\r\n\r\ndata: b\r\n\r\n", 2, 2),
            ("data: a\r\rdata: b\r\r", 2, 2),
            ("data: a\ndata: b\n\n", 1, 2),
            ("event: x\nid: 1\ndata\n\n", 1, 3),
            (": ping\n\n: ping\n\n", 0, 2),
            ("event: x\n\ndata: a\n\n", 1, 2),
            ("database: x\n\ndat: y\n\n data: z\n\n", 0, 3),
            ("\n\n\ndata:\n\n\n", 1, 1),
            ("data: a\n\ndata: b", 1, 2),
            ("{\"a\":1}\n{\"a\":2}", 0, 2),
        ] {
            let count = |kind| items(kind, &[body.as_bytes()]);
            assert_eq!((count(Items::Sse), count(Items::Lines)), (events, lines), "{body:?}");
        }
    }

    proptest! {
        #[test]
        fn parts_make_no_difference(body in "(data|dat|: a|\r|\n|x){0,30}", places in prop::collection::vec(0_usize..60, 0..5)) {
            let bytes = body.as_bytes();
            let mut places: Vec<_> = places.into_iter().map(|place| place.min(bytes.len())).collect();
            places.extend([0, bytes.len()]);
            places.sort_unstable();
            let parts: Vec<_> = places.windows(2).map(|ends| &bytes[ends[0]..ends[1]]).collect();
            for kind in [Items::Sse, Items::Lines] {
                prop_assert_eq!(items(kind, &parts), items(kind, &[bytes]));
            }
        }
    }
}
