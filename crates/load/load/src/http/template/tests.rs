//! Tests the values that are filled in, and the placeholders that are rejected.

use super::*;
use crate::load::data::args::DataArgs;
use proptest::prelude::*;
use std::fs;
use tempfile::TempDir;

fn data(text: &str) -> Data {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("data");
    fs::write(&path, text).unwrap();
    let args = DataArgs { data: Some(path), ..DataArgs::default() };
    crate::load::data::read(&args, 0, 1).unwrap().unwrap()
}

fn users() -> Data {
    data("user,note\nann,x\n\"b&b?/ %\u{e9}\",\"a \"\"b\"\"\n{}\"\n")
}

fn of(data: &Data) -> Names<'_> {
    Names { data: Some(data), taken: &[] }
}

fn filled(text: &str, place: Place, slot: u64) -> String {
    let data = users();
    let template = Template::new(text, place, of(&data)).unwrap();
    let mut whole = b"|".to_vec();
    template.fill(&mut Values::of_slot(slot, 7, Some(&data)), &mut whole);
    String::from_utf8(whole).unwrap()[1..].to_owned()
}

#[test]
fn places_are_filled_by_the_row_of_the_slot() {
    for (text, place, expected) in [
        ("", Place::Body, ["", ""]),
        ("a{b}c}}", Place::Body, ["a{b}c}}", "a{b}c}}"]),
        ("{{user}}", Place::Body, ["ann", "b&b?/ %\u{e9}"]),
        ("<{{ user }}-{{user}}>", Place::Body, ["<ann-ann>", "<b&b?/ %\u{e9}-b&b?/ %\u{e9}>"]),
        (
            "/u/{{user}}?n={{note}}",
            Place::Url,
            ["/u/ann?n=x", "/u/b%26b%3F%2F%20%25%C3%A9?n=a%20%22b%22%0A%7B%7D"],
        ),
        ("/{{raw user}}", Place::Url, ["/ann", "/b&b?/ %\u{e9}"]),
        (
            "{\"n\": {{json note}}}",
            Place::Body,
            ["{\"n\": \"x\"}", "{\"n\": \"a \\\"b\\\"\\n{}\"}"],
        ),
        ("{{slot}} {{\"{{\"}}{{\"\"}}", Place::Header, ["0 {{", "1 {{"]),
        ("{{random 5..5}}{{random:-3..-3}}", Place::Url, ["5-3", "5-3"]),
    ] {
        assert_eq!([0, 1].map(|slot| filled(text, place, slot)), expected, "{text}");
    }
}

/// A column with a colon in its name takes precedence over a column with a space in its place.
#[test]
fn columns_with_blanks_in_their_names_are_found_in_urls() {
    let data = data("my col,a: b,c d,c:d\n1 1,2,3,4\n");
    let text = "http://h/{{my col}}/{{raw my  col}}/{{ my:col }}?{{a: b}}{{c d}}";
    let path = url(text).unwrap().path_and_query().unwrap().to_string();
    let template = Template::new(&path, Place::Url, of(&data)).unwrap();
    let mut whole = Vec::new();
    template.fill(&mut Values::of_slot(0, 7, Some(&data)), &mut whole);
    assert_eq!(String::from_utf8(whole).unwrap(), "/1%201/1 1/1%201?24");
}

#[test]
fn placeholders_in_urls_may_contain_characters_that_are_invalid_in_urls() {
    let data = data("\"q\"\"\",a#b,<c>,%41,\u{e9}\n1,2,3,4,5\n");
    let text = "http://h/{{q\"}}{{a#b}}?{{<c>}}{{%41}}{{raw \u{e9}}}{{\"{{\"}}";
    let path = url(text).unwrap().path_and_query().unwrap().to_string();
    let template = Template::new(&path, Place::Url, of(&data)).unwrap();
    let mut whole = Vec::new();
    template.fill(&mut Values::of_slot(0, 7, Some(&data)), &mut whole);
    assert_eq!(String::from_utf8(whole).unwrap(), "/12?345%7B%7B");
}

#[test]
fn random_values_have_their_form_and_depend_on_slot_and_seed() {
    let text = "{{uuid}} {{random-text 32}} {{random -1..1}}";
    let one = |slot, seed| {
        let mut whole = Vec::new();
        let template = Template::new(text, Place::Body, Names::default()).unwrap();
        template.fill(&mut Values::of_slot(slot, seed, None), &mut whole);
        String::from_utf8(whole).unwrap()
    };
    assert_eq!(one(3, 7), one(3, 7));
    assert!(one(3, 7) != one(4, 7) && one(3, 7) != one(3, 8));
    let mut numbers = [0; 3];
    for slot in 0..3_000 {
        let whole = one(slot, 0);
        let parts: Vec<_> = whole.split(' ').collect();
        let [uuid, text, number] = parts[..] else { panic!("{whole}") };
        assert_eq!(uuid.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
        assert!(uuid.as_bytes()[14] == b'4' && b"89ab".contains(&uuid.as_bytes()[19]), "{uuid}");
        assert!(text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        numbers[usize::try_from(number.parse::<i64>().unwrap() + 1).unwrap()] += 1;
    }
    assert!(numbers.iter().all(|times| (850..1_150).contains(times)), "{numbers:?}");
}

#[test]
fn the_time_is_now() {
    let milliseconds: u64 = filled("{{now-ms}}", Place::Body, 0).parse().unwrap();
    let now = humantime::parse_rfc3339(&filled("{{now}}", Place::Header, 0)).unwrap();
    let since = now.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    assert!(since.abs_diff(milliseconds.into()) < 60_000, "{milliseconds} {since}");
}

#[test]
fn an_invalid_placeholder_is_rejected_with_its_column() {
    let data = users();
    for (text, place, told) in [
        ("ab{{usr}}", Place::Body, "column 3: \"usr\" is not a placeholder; write {{user}}, or"),
        ("é{{sluut}}", Place::Body, "column 2: \"sluut\" is not a placeholder; write {{slot}}"),
        (
            "{{}}",
            Place::Body,
            "column 1: \"\" is not a placeholder; write a column or a value (user, note)",
        ),
        ("{{a b}}", Place::Body, "column 1: \"a b\" is not a placeholder"),
        ("{{env}}", Place::Body, "column 1: \"env\" is not a placeholder; write {{env NAME}}"),
        ("{{user}} {{note", Place::Body, "column 10: {{ has no }} after it"),
        (
            "{{random}}",
            Place::Body,
            "column 1: \"\" is not a range; write for example random 1..100",
        ),
        ("{{random 2..1}}", Place::Body, "column 1: \"2..1\" is not a range"),
        ("{{random 1..99999999999999999999}}", Place::Body, "column 1: \"1..9"),
        ("{{random-text 0}}", Place::Body, "column 1: write random-text 32"),
        ("{{random-text 9999999}}", Place::Body, "column 1: write random-text 32"),
        (
            "{{env NANOPACE_NOT_SET}}",
            Place::Body,
            "column 1: the environment variable NANOPACE_NOT_SET is not set",
        ),
        ("{{env}}", Place::Body, "column 1: \"env\" is not a placeholder"),
        (
            "{{json nte}}",
            Place::Body,
            "column 1: \"nte\" is not a column of --data or a value of an earlier step; write {{json note}}",
        ),
        (
            "{{json env HOME}}",
            Place::Body,
            "column 1: \"env HOME\" is not a column of --data or a value of an earlier step; write json and one of these: user, note",
        ),
        ("{{json note}}", Place::Url, "column 1: json is only for bodies"),
        ("{{slot 3}}", Place::Body, "column 1: \"slot 3\" is not a placeholder"),
    ] {
        let error = Template::new(text, place, of(&data)).unwrap_err();
        assert!(error.starts_with(told) && error.lines().count() == 1, "{text}: {error}");
    }
    let without = Template::new("{{user}}", Place::Body, Names::default()).unwrap_err();
    assert!(without.contains("for columns, write --data FILE"), "{without}");
}

#[test]
fn a_column_takes_precedence_over_a_built_in_name() {
    let data = data("slot,uuid\na,b\n");
    let template = Template::new("{{slot}}{{uuid}}", Place::Body, of(&data)).unwrap();
    let mut whole = Vec::new();
    template.fill(&mut Values::of_slot(0, 0, Some(&data)), &mut whole);
    assert_eq!(whole, b"ab");
}

#[test]
fn taken_values_have_names_and_forms() {
    let names = ["id".to_owned(), "token".to_owned()];
    let names = Names { data: None, taken: &names };
    let text = "{{token}} {{json token}} {{id}}";
    let template = Template::new(text, Place::Body, names).unwrap();
    let taken = [b"7".to_vec(), b"a\"b".to_vec()];
    let mut whole = Vec::new();
    template.fill(&mut Values::of_step(1, 0, 0, None, &taken), &mut whole);
    assert_eq!(String::from_utf8(whole).unwrap(), "a\"b \"a\\\"b\" 7");
    let uses: Vec<_> = template.taken().collect();
    assert_eq!(uses, [(1, Form::Plain), (1, Form::Json), (0, Form::Plain)]);
    let told = Template::new("{{tokn}}", Place::Body, names).unwrap_err();
    assert!(told.contains("write {{token}}"), "{told}");
}

#[test]
fn a_url_is_read_with_its_placeholders() {
    for (text, path) in [
        ("http://h/a", "/a"),
        ("http://h/{{ user }}?x={{random 1..100}}", "/{{user}}?x={{random:1..100}}"),
        ("http://h?x={{random-text  3}}", "/?x={{random-text:3}}"),
        ("http://h/{{user", "/{{user"),
    ] {
        assert_eq!(url(text).unwrap().path_and_query().unwrap(), path);
    }
    for text in ["http://{{user}}/", "http://h:{{slot}}/", "{{user}}"] {
        assert!(url(text).unwrap_err().contains("only the path and the query"), "{text}");
    }
}

#[test]
fn a_url_is_shown_with_spaces_in_its_placeholders() {
    for text in [
        "http://h:80/a:b?x={{random 1..100}}&y={{random-text 3}}:{{user}}",
        "http://h/a:b",
        "http://h/{{a",
    ] {
        assert_eq!(shown(&url(text).unwrap()), text);
    }
}

#[test]
fn bytes_that_are_not_text_have_no_placeholders() {
    assert!(is_one(b"a{{b") && !is_one(b"a{b") && !is_one(b"\xff{{b}}"));
}

proptest! {
    /// In a URL, no encoded value contains a character that ends a line, a word or a path segment.
    #[test]
    fn a_value_in_a_url_stays_within_its_segment(value: Vec<u8>) {
        let whole = values::encoded(&value);
        prop_assert!(whole.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-._~%".contains(byte)));
        let mut bytes = whole.iter();
        let mut back = Vec::new();
        while let Some(byte) = bytes.next() {
            back.push(match byte {
                b'%' => {
                    let digits = [*bytes.next().unwrap(), *bytes.next().unwrap()];
                    u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
                }
                byte => *byte,
            });
        }
        prop_assert_eq!(back, value);
    }

    #[test]
    fn no_text_panics(text in "((\\{\\{|\\}\\}|user|slot|random|raw|json|env| |:|\"|1..2|é|a)){0,12}") {
        for place in [Place::Url, Place::Header, Place::Body] {
            if let Ok(template) = Template::new(&text, place, of(&users())) {
                let mut whole = Vec::new();
                template.fill(&mut Values::of_slot(1, 1, Some(&users())), &mut whole);
            }
        }
    }
}
