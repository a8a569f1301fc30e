//! Finds the items in streamed responses.

use super::extraction::is_pointer;
use super::retained::LONGEST_BODY;
use serde_json::Value;
use std::mem;
use std::str::FromStr;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ItemKind {
    /// Each server-sent event with data is an item. Events with only comments or other fields are not items.
    Sse,
    /// Each line that is not empty is an item.
    Lines,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Items {
    kind: ItemKind,
    /// The JSON pointer (RFC 6901) to the content of an item. Items before the first item that has content do not
    /// count.
    pointer: Option<Arc<str>>,
}

impl FromStr for Items {
    type Err = String;

    fn from_str(text: &str) -> Result<Items, String> {
        let (kind, pointer) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        let kind = match kind {
            "sse" => ItemKind::Sse,
            "lines" => ItemKind::Lines,
            _ => return Err("write sse or lines, as in 'sse /choices/0/delta/content'".to_owned()),
        };
        match pointer.trim() {
            "" => Ok(Items { kind, pointer: None }),
            pointer if is_pointer(pointer) => Ok(Items { kind, pointer: Some(pointer.into()) }),
            other => {
                Err(format!("{other:?} is not a JSON pointer, such as /choices/0/delta/content"))
            }
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Scanner {
    kind: ItemKind,
    /// The length of the current line in bytes, which is counted only up to five.
    length: usize,
    /// Whether the current line, as far as it was read, can be a data line.
    is_data: bool,
    has_data: bool,
    is_behind_return: bool,
    /// The number of bytes of a byte-order mark that were read. The mark does not belong to the first line.
    mark: usize,
    /// The search for the first item with content, or `None` if all following items count.
    first: Option<First>,
}

#[derive(Clone, Debug)]
struct First {
    pointer: Arc<str>,
    line: Vec<u8>,
    data: Vec<u8>,
}

impl First {
    fn push(&mut self, byte: u8) {
        if self.line.len() + self.data.len() <= LONGEST_BODY {
            self.line.push(byte);
        }
    }

    /// Handles the end of the current line. The data of the line begins after `before` bytes. `None` means that the
    /// line contains no data.
    fn end_line(&mut self, before: Option<usize>) {
        let data = before.and_then(|before| self.line.get(before..)).unwrap_or_default();
        self.data.extend_from_slice(data);
        self.data.push(b'\n');
        self.line.clear();
    }

    fn has_content(&mut self) -> bool {
        let value = serde_json::from_slice::<Value>(&self.data).ok();
        self.data.clear();
        let content = value.as_ref().and_then(|value| value.pointer(&self.pointer));
        content.is_some_and(|content| !content.is_null() && *content != "")
    }
}

const MARK: &[u8; 3] = b"\xEF\xBB\xBF";
const DATA: &[u8; 5] = b"data:";

impl Scanner {
    pub(crate) fn new(items: Items) -> Scanner {
        Scanner {
            kind: items.kind,
            length: 0,
            is_data: true,
            has_data: false,
            is_behind_return: false,
            mark: 0,
            first: items.pointer.map(|pointer| First {
                pointer,
                line: Vec::new(),
                data: Vec::new(),
            }),
        }
    }

    pub(crate) fn count(&mut self, part: &[u8]) -> u64 {
        part.iter().filter(|byte| self.ends_item(**byte)).count() as u64
    }

    /// Returns the number of items that the end of the response completes. An unfinished line is an item. An unfinished
    /// event is discarded (HTML standard, section 9.2.6).
    pub(crate) fn at_end(&mut self) -> u64 {
        u64::from(self.kind == ItemKind::Lines && self.length > 0 && self.ends_line())
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
            return self.ends_line();
        }
        self.is_data &= DATA.get(self.length).is_none_or(|expected| *expected == byte);
        self.length = DATA.len().min(self.length + 1);
        if let Some(first) = &mut self.first {
            first.push(byte);
        }
        false
    }

    fn ends_line(&mut self) -> bool {
        let (is_empty, is_data) = (self.length == 0, self.is_data && self.length >= "data".len());
        (self.length, self.is_data) = (0, true);
        if let Some(first) = &mut self.first {
            first.end_line(match self.kind {
                ItemKind::Lines => Some(0),
                ItemKind::Sse => is_data.then_some(DATA.len()),
            });
        }
        match self.kind {
            ItemKind::Lines => !is_empty && self.counts(),
            ItemKind::Sse if is_empty => mem::take(&mut self.has_data) && self.counts(),
            ItemKind::Sse => {
                self.has_data |= is_data;
                false
            }
        }
    }

    fn counts(&mut self) -> bool {
        let counts = self.first.as_mut().is_none_or(First::has_content);
        self.first = self.first.take().filter(|_| !counts);
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn items(kind: &str, parts: &[&[u8]]) -> u64 {
        let mut scanner = Scanner::new(kind.parse().unwrap());
        let inside: u64 = parts.iter().map(|part| scanner.count(part)).sum();
        inside + scanner.at_end()
    }

    #[test]
    fn an_event_ends_with_a_blank_line_and_a_line_with_a_line_break() {
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
            assert_eq!((count("sse"), count("lines")), (events, lines), "{body:?}");
        }
    }

    #[test]
    fn the_first_item_has_content_where_the_pointer_says() {
        const POINTER: &str = "/choices/0/delta/content";
        let choice = |delta: &str| format!("{{\"choices\":[{{\"delta\":{delta}}}]}}");
        let role = choice("{\"role\":\"assistant\",\"content\":\"\"}");
        let [null, none, token] = ["{\"content\":null}", "{}", "{\"content\":\"Hi\"}"].map(choice);
        for (items_of, counted) in [
            (&[][..], 0),
            (&[&*role, &null, &none, "[DONE]", "{\"choices\":[]}", "{"], 0),
            (&[&*role, &token, &token], 2),
            (&[&*role, &token, &none, "[DONE]"], 3),
        ] {
            let events = items_of.iter().map(|data| format!("id: 1\ndata: {data}\r\n\n"));
            let events = events.collect::<Vec<_>>().concat();
            let lines = items_of.join("\n");
            for (kind, body) in [("sse", events), ("lines", lines)] {
                let kind = format!("{kind} {POINTER}");
                let halves = body.split_at(body.len() / 2);
                let count = items(&kind, &[halves.0.as_bytes(), halves.1.as_bytes()]);
                assert_eq!(count, counted, "{kind}: {body}");
            }
        }
        let long = format!("data: {{\"a\":\"{}\"}}\n\n", "x".repeat(LONGEST_BODY));
        for (body, counted) in [
            ("data: {\"a\":\ndata:1}\n\n", 1),
            ("data\n\n", 0),
            ("data: {\"a\":1\ndata: 2}\n\n", 0),
            (&*long, 0),
        ] {
            assert_eq!(items("sse /a", &[body.as_bytes()]), counted);
        }
        assert_eq!(items("sse /a~1b/~0", &[b"data: {\"a/b\": {\"~\": 1}}\n\n"]), 1);
        for (text, told) in [
            ("event", "write sse or lines"),
            ("sse x", "\"x\" is not a JSON pointer"),
            ("sse /a~2", "\"/a~2\" is not a JSON pointer"),
            ("lines /~0~", "\"/~0~\" is not a JSON pointer"),
        ] {
            assert!(text.parse::<Items>().unwrap_err().starts_with(told), "{text}");
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
            for kind in ["sse", "lines", "sse /x"] {
                prop_assert_eq!(items(kind, &parts), items(kind, &[bytes]));
            }
        }
    }
}
