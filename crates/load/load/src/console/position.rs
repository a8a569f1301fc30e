//! Converts byte offsets in a text to lines and columns.

/// Returns the line and the column of the byte at offset `at`, both counted from 1. A column is one character.
#[must_use]
pub(crate) fn line_and_column(text: &[u8], at: usize) -> (usize, usize) {
    let lines = || text[..at].split(|byte| *byte == b'\n');
    let last = lines().next_back().unwrap_or_default();
    // In UTF-8, every byte begins a character unless it has the form 0b10......
    let begins = |byte: &&u8| **byte & 0b1100_0000 != 0b1000_0000;
    (lines().count(), 1 + last.iter().filter(begins).count())
}

/// Returns the column, counted from 1, at which `part` begins in `line`. `part` must be a slice of `line`.
#[must_use]
pub(crate) fn column(line: &str, part: &str) -> usize {
    let at = (part.as_ptr() as usize).saturating_sub(line.as_ptr() as usize);
    line_and_column(line.as_bytes(), at.min(line.len())).1
}

/// Converts bytes to a string. An error is the offset of the first byte that is not valid UTF-8.
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, usize> {
    std::str::from_utf8(bytes).map_err(|error| error.valid_up_to())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_are_those_of_an_editor() {
        let text = "aé\n\n b\r\nc";
        let at = |part: &str| line_and_column(text.as_bytes(), text.find(part).unwrap());
        assert_eq!((at("a"), at("é"), at("b"), at("c")), ((1, 1), (1, 2), (3, 2), (4, 1)));
        assert_eq!(line_and_column(text.as_bytes(), text.len()), (4, 2));
        let line = " é x ";
        assert_eq!(
            (column(line, line), column(line, line.trim()), column(line, &line[4..])),
            (1, 2, 4)
        );
        assert_eq!(column(line, line.trim_start().trim_start_matches(['é', 'x', ' '])), 6);
        assert_eq!((utf8(b"a\xff"), utf8(b"a")), (Err(1), Ok("a")));
    }
}
