//! Tests well-formed and malformed data files.

use super::args::{DataEnd, DataOrder};
use super::*;
use ::csv::{Terminator, WriterBuilder};
use proptest::prelude::*;
use std::fs;
use tempfile::TempDir;

/// Reads a data file with this text. In error messages, `FILE` replaces the path of the file.
fn read_text(text: &[u8]) -> Result<Data, String> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("data");
    fs::write(&path, text).unwrap();
    let args = DataArgs { data: Some(path.clone()), ..DataArgs::default() };
    let read = super::read(&args, 0, 1);
    read.map(Option::unwrap)
        .map_err(|told| told.to_string().replace(path.to_str().unwrap(), "FILE"))
}

fn rows(text: &[u8]) -> Vec<Vec<String>> {
    let data = read_text(text).unwrap_or_else(|told| panic!("{told}"));
    let value = |row, column| String::from_utf8_lossy(data.value(row, column)).into_owned();
    let row = |row| (0..data.columns().len()).map(|column| value(row, column)).collect();
    (0..data.count()).map(row).collect()
}

#[test]
fn rows_are_read_with_quotes_and_newlines() {
    for (text, expected) in [
        ("a,b\n1,2\n", &[&["1", "2"][..]][..]),
        ("\u{feff}a , b\r\n1,2\r\n3,4", &[&["1", "2"], &["3", "4"]]),
        ("a\n\"x,\"\"y\"\"\nz\"\n\"\"\n", &[&["x,\"y\"\nz"], &[""]]),
        ("a,b\n,\n", &[&["", ""]]),
        ("a\nx\"y\n", &[&["x\"y"]]),
        (
            "{\"b\": \"x\\ny\", \"a\": 1.50}\n\n{\"a\": null, \"b\": [1, {}], \"c\": 0}\n",
            &[&["1.50", "x\ny"], &["", "[1, {}]"]],
        ),
        ("\u{feff}\n {\"a\": true}", &[&["true"]]),
        ("{\"a\": 123456789012345678901234567890}", &[&["123456789012345678901234567890"]]),
    ] {
        assert_eq!(rows(text.as_bytes()), expected, "{text}");
    }
    assert_eq!(read_text(b"a\n\xff\n").unwrap().value(0, 0), b"\xff");
    assert_eq!(read_text(b"{\"b\": 1, \"a\": 2}").unwrap().columns(), ["a", "b"]);
}

#[test]
fn the_format_does_not_depend_on_the_parts_that_a_pipe_provides() {
    for (text, columns) in [
        ("\n \r\n{\"a\": 1}\n", &["a"][..]),
        ("\u{feff}\n{\"a\": 1}", &["a"]),
        ("\u{feff}a,b\n1,2\n", &["a", "b"]),
        ("\n\na,b\n1,2\n", &["a", "b"]),
    ] {
        for bytes in 1..5 {
            let data = of_reader(BufReader::with_capacity(bytes, text.as_bytes())).unwrap();
            assert_eq!(data.columns(), columns, "{text:?}");
            assert_eq!(data.value(0, 0), b"1", "{text:?}");
        }
    }
}

#[test]
fn an_error_has_its_line() {
    for (text, told) in [
        (&b""[..], "--data: FILE line 1: the file has no rows"),
        (b"a,b", "--data: FILE line 1: the file has no rows"),
        (b"a,b\n", "--data: FILE line 2: the file has no rows"),
        (b"\n\n", "--data: FILE line 3: the file has no rows"),
        (b"{}", "--data: FILE line 1 column 1: this object is empty"),
        (
            b"{\"a\": 1}\n {\"a\": \"x\\udc00\"}",
            "--data: FILE line 2 column 2: \"a\" contains half of a surrogate pair; write both",
        ),
        (b"a,b\n1,2\n3\n", "--data: FILE line 3: 1 value, but the first line has 2 names"),
        (b"a,b\n1,2\n345", "--data: FILE line 3: 1 value, but the first line has 2 names"),
        (b"a,b\n\"1\n\",2\n1,2,3\n", "--data: FILE line 4: 3 values, but"),
        (b"a,b\n1,2\n\n\"1\n\"\n", "--data: FILE line 4: 1 value, but"),
        (b"a,b\r\n\r\n1,2\r\n\r\n3\r\n", "--data: FILE line 5: 1 value, but"),
        ("\u{feff}\"a,b\"\n1,2\n".as_bytes(), "--data: FILE line 2: 2 values, but"),
        (
            b"{\"a\": 1}\n{\"a\": 1, \"b\": 2, \"a\": 3}\n",
            "--data: FILE line 2 column 24: \"a\" occurs twice",
        ),
        (
            b"a,b\n1,\"2\n3,4\n",
            "--data: FILE line 2: a quoted value of this row has no closing quote",
        ),
        (
            b"a,b\r\n1,2\r\n3,\"4",
            "--data: FILE line 3: a quoted value of this row has no closing quote",
        ),
        (b"a\n\"", "--data: FILE line 2: a quoted value of this row has no closing quote"),
        (b"\n\"a,b\n1,2\n", "--data: FILE line 2: a quoted value of this row has no closing quote"),
        (b"a,b, a\n1,2,3\n", "--data: FILE line 1: two columns have the name \"a\""),
        (b"a,\xff\n1,2\n", "--data: FILE line 1: a column name is not UTF-8"),
        (b"{\"a\": 1}\n{\"b\": 1}\n", "--data: FILE line 2 column 1: \"a\" is missing"),
        (b"{\"a\": 1}\n{\"a\": 1\n", "--data: FILE line 2 column 7: EOF while parsing an object"),
        (b"{\"a\": 1}\n [1]\n", "--data: FILE line 2 column 2: invalid type"),
        (b"{\"a\": \"\xff\"}\n", "--data: FILE line 1 column 8: this is not UTF-8"),
    ] {
        let error = read_text(text).unwrap_err();
        assert!(error.starts_with(told) && error.lines().count() == 1, "{told}: {error}");
    }
    let args = DataArgs { data: Some("/nonexistent/file".into()), ..DataArgs::default() };
    let error = super::read(&args, 0, 1).unwrap_err().to_string();
    assert!(error.contains("cannot read /nonexistent/file"), "{error}");
}

#[test]
fn the_error_for_an_invalid_value_has_its_row() {
    let data = read_text(b"a,b\n1,2\n3,\"4\n5\"\n").unwrap();
    let is_line = |value: &[u8]| !value.contains(&b'\n');
    assert!(data.check(0, is_line, "a header").is_ok());
    let told = data.check(1, is_line, "a header").unwrap_err().to_string();
    assert_eq!(told, "--data: row 2 (line 3) column \"b\": \"4\\n5\" can't be in a header");
}

#[test]
fn each_row_has_its_line() {
    let long = format!("a\n{}\r\n2\n", "x".repeat(100_000));
    // The reader's buffer ends between the two bytes of a line break.
    let split = format!("a\r\n{}\r\n2\r\n", "x".repeat((1 << 16) - 4));
    for (text, lines) in [
        (&*long, [2, 3]),
        (&*split, [2, 3]),
        ("a\r1\r2", [1, 1]),
        ("a\n1\n2\n", [2, 3]),
        ("a\r\n\r\n1\r\n\r\n\r\n2\r\n", [3, 6]),
        ("\"a\"\n\"1\n\n\"\n2", [2, 5]),
        ("{\"a\": 1}\n\n{\"a\": 2}", [1, 3]),
    ] {
        let data = read_text(text.as_bytes()).unwrap();
        let place = |row| data.place(row);
        let expected = [0, 1].map(|row| format!("--data: row {} (line {})", row + 1, lines[row]));
        assert_eq!([0, 1].map(place), expected, "{text:?}");
    }
}

#[test]
fn data_without_repetition_limits_the_number_of_slots() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("data");
    fs::write(&path, "a\n1\n2\n3\n").unwrap();
    for (data_end, most) in [(DataEnd::Wrap, None), (DataEnd::Stop, Some(3))] {
        let args =
            DataArgs { data: Some(path.clone()), data_order: DataOrder::Sequential, data_end };
        let data = super::read(&args, 0, 1).unwrap().unwrap();
        assert_eq!((data.most_slots(), data.row_of_slot(4)), (most, 1));
    }
}

#[test]
fn a_field_takes_its_text_and_8_bytes() {
    let lines: Vec<_> = (0..10_000).map(|row| format!("user-{row:06},{row:06}")).collect();
    let data = read_text(format!("user,id\n{}", lines.join("\n")).as_bytes()).unwrap();
    assert_eq!((data.count(), data.text.len()), (10_000, 10_000 * 17));
    assert!(data.text.capacity() <= 187_000 && data.ends.capacity() <= 22_000);
    assert_eq!(size_of_val(&data.ends[0]), 8);
}

proptest! {
    #[test]
    fn rows_written_as_csv_are_read_with_their_lines(
        rows_given in prop::collection::vec(("(?s).{0,5}", "[a\",\r\n ]{0,5}"), 1..8),
        crlf in any::<bool>(),
    ) {
        let end = if crlf { Terminator::CRLF } else { Terminator::Any(b'\n') };
        let mut writer = WriterBuilder::new().terminator(end).from_writer(Vec::new());
        writer.write_record(["a", "b"]).unwrap();
        let mut lines = Vec::new();
        for (a, b) in &rows_given {
            writer.flush().unwrap();
            lines.push(writer.get_ref().split(|byte| *byte == b'\n').count());
            writer.write_record([a, b]).unwrap();
        }
        let text = writer.into_inner().unwrap();
        let expected: Vec<_> = rows_given.into_iter().map(|(a, b)| vec![a, b]).collect();
        prop_assert_eq!(rows(&text), expected);
        let data = read_text(&text).unwrap();
        prop_assert!(lines.iter().copied().eq((0..data.count()).map(|row| data.lines.of(row))));
    }

    #[test]
    fn no_file_panics(text in "((a|,|\"|\n|\r|\\{|\\}|:|1|é)){0,20}") {
        if let Err(told) = read_text(text.as_bytes()) {
            prop_assert_eq!(told.lines().count(), 1, "{}", told);
        }
    }
}
