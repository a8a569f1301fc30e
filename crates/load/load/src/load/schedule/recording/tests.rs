//! Tests well-formed and malformed recordings.

use super::recorded::Requests;
use super::request::{RecordedBody, RecordedRequest};
use super::*;
use proptest::prelude::*;
use std::fs;
use tempfile::TempDir;

/// Reads a recording. In the option, `words` follow the file. In error messages, `FILE` replaces the path of the file.
fn read_with<T>(
    kind: &str,
    text: &[u8],
    words: &str,
    look: impl FnOnce(&Recorded) -> T,
) -> Result<T, String> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a recording");
    fs::write(&path, text).unwrap();
    let written = format!("{kind}{}{words}", path.display());
    let recording = Recording::parse(&written).unwrap()?;
    assert_eq!((recording.file(), recording.to_string()), (&*path, written));
    let read = recording.read().map(look);
    read.map_err(|error| format!("{error:#}").replace(path.to_str().unwrap(), "FILE"))
}

fn starts(text: &str, words: &str) -> Result<Vec<u64>, String> {
    read_with(REPLAY, text.as_bytes(), words, |recorded| recorded.starts.to_vec())
}

fn requests(kind: &str, text: &str, words: &str) -> Result<Vec<String>, String> {
    let short = |RecordedRequest { method, url, headers, body }: &RecordedRequest| {
        let body = match body {
            RecordedBody::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            RecordedBody::File(path) => format!("@{path}"),
        };
        let fields = headers.iter().map(|(name, value)| format!("{name}={value} "));
        let fields = fields.collect::<Vec<_>>().concat();
        let [method, url] = [method, url].map(|text| text.as_deref().unwrap_or("-"));
        format!("{method} {url} {fields}{body}").trim_end().to_owned()
    };
    read_with(kind, text.as_bytes(), words, |recorded| {
        let Requests { different, of_slots, .. } = recorded.take_requests();
        of_slots.iter().map(|index| short(&different[*index as usize].0)).collect()
    })
}

#[test]
fn times_are_read_exactly() {
    for (text, words, ns) in [
        ("0.000000001\n", "", &[1][..]),
        ("intended_start_seconds\n0\n0\n1.5\r\n\n2.", "", &[0, 0, 1_500_000_000, 2_000_000_000]),
        ("9007199254.740993001", " from=0", &[9_007_199_254_740_993_001]),
        ("9223372036.854775806", " from=0", &[9_223_372_036_854_775_806]),
        ("\u{feff}intended_start_seconds\n1\n", "", &[1_000_000_000]),
        ("\u{feff}1\n", "", &[1_000_000_000]),
        ("0.0000000019", "", &[1]),
        ("1e3", "", &[1_000_000_000_000]),
    ] {
        assert_eq!(starts(text, words), Ok(ns.to_vec()), "{text}");
    }
}

#[test]
fn a_recording_of_absolute_times_begins_with_the_first_one() {
    let azure =
        "TIMESTAMP,ContextTokens\n2023-11-16 18:17:03.5000000,4808\n2023-11-16 18:17:04,1\n";
    let json = "{\"timestamp\": 1700158623500}\n{\"timestamp\": \"1700158624000\"}\n";
    for (text, words) in [
        ("1700158623.5\n1700158624\n", ""),
        ("1700158623500\n1700158624000\n", ""),
        ("1700158623500000\n1700158624000000\n", ""),
        ("1700158623500000000\n1700158624000000000\n", ""),
        (azure, ""),
        (json, ""),
        ("2024-05-10 00:00:00.5+00:00\n2024-05-10T01:00:01+01:00\n", ""),
        ("1700158623500\n1700158624000\n", " unit=ms"),
        ("7200\n7200.5\n", " from=first"),
        ("7200000\n7200500\n", " unit=ms  from=first "),
    ] {
        assert_eq!(starts(text, words), Ok(vec![0, 500_000_000]), "{text}{words}");
    }
    assert_eq!(starts("1700158623", " from=0"), Ok(vec![1_700_158_623_000_000_000]));
    assert_eq!(starts("ts\n0\n27482", " unit=ms"), Ok(vec![0, 27_482_000_000]));
}

#[test]
fn an_error_has_its_line_and_column() {
    let earlier = "this time is earlier than the previous one";
    let too_long = "this time is too long after the start";
    for (text, line, column, told) in [
        ("", 1, 1, "the file has no times"),
        ("intended_start_seconds\n", 2, 1, "the file has no times"),
        (" x", 1, 2, "`x` is not a time"),
        ("\u{feff}x", 1, 1, "`x` is not a time"),
        ("offset,target\n  1,a\n  0,a", 3, 3, earlier),
        ("offset,target\n y ,a", 2, 2, "`y` is not a time"),
        ("1\nintended_start_seconds", 2, 1, "`intended_start_seconds` is not a time"),
        ("0\n\n1,5", 3, 1, "`1,5` is not a time"),
        ("-1", 1, 1, "`-1` is not a time"),
        (".5", 1, 1, "`.5` is not a time"),
        ("0\n9223372036.854775807", 2, 1, too_long),
        ("0\n\u{feff}1", 2, 1, "`\u{feff}1` is not a time"),
        ("0\n9é\n", 2, 1, "`9é` is not a time"),
        ("99999999999999999999", 1, 1, too_long),
        ("offset,target\n1", 2, 2, "1 value, but the first line has 2 names"),
        ("offset,target\nx,a", 2, 1, "`x` is not a time"),
        ("offset,target\n1,a\n0,a", 3, 1, earlier),
        ("0,a", 1, 1, "`0,a` is not a time"),
        ("1\n2\n1.999999999", 3, 1, earlier),
        ("1700158624\n1700158623", 2, 1, earlier),
        (
            "1700158623\n1700158623500",
            2,
            1,
            "times are written in ms since 1970 here, and in s since",
        ),
        (
            "1700158623\n2023-11-16 18:17:04",
            2,
            1,
            "times are written as dates without a zone here, and in s since 1970",
        ),
        ("0\n1700158623\n", 2, 1, "times are written in s since 1970 here, and in s in"),
        ("offset,url\n0,\"a\n\nb\"\n1,\"c", 5, 3, "this quoted value has no closing quote"),
        ("offset,url\n0,\"a\"b\"", 2, 3, "write \"\" for a quote within quotes"),
        ("offset,url\n0,\"a\",b", 2, 7, "too many values: the first line has 2 names"),
        ("{\"ts\": \"a\\nb\"}", 1, 1, "`a\\nb` is not a time"),
        ("{\"ts\": 1}\n {\"ts\": }", 2, 9, "expected value"),
        ("{\"ts\": 1}\n{\"x\": 1}", 2, 1, "this row has no time; for a HAR file, write har:FILE"),
        ("\n{\n \"log\": {}}", 2, 1, "a JSON object must be on one line; for a HAR"),
        ("{\"ts\": 1}\n  {\"ts\": true}", 2, 3, "`true` is not a time"),
        ("offset,url,URL\n0,/a,/b", 1, 12, "url occurs twice: leave one of them out"),
        ("{\"ts\": 1, \"url\": \"a\", \"URL\": \"a\"}", 1, 1, "url occurs twice"),
        ("ts,time,ts\n0,1,2", 1, 9, "ts occurs twice"),
        (
            "2023-11-16 18:17:03\n2023-11-16 18:17:04Z",
            2,
            1,
            "times are written as dates with a zone here, and as dates without a zone in the first row",
        ),
        ("ts,body,body_file\n1,a,b", 2, 1, "this row has several bodies"),
        ("ts,body_base64\n1,?", 2, 1, "the body is not base64: "),
        ("ts,headers\n1,{\"a\": 1}", 2, 1, "headers: write a JSON object of strings"),
    ] {
        let error = starts(text, "").unwrap_err();
        let told = format!("FILE line {line} column {column}: {told}");
        assert!(error.starts_with(&told), "{text:?}: {error}");
    }
    let not_utf8 = read_with(REPLAY, b"0\n1\xff\n", "", |_| ()).unwrap_err();
    assert_eq!(not_utf8, "FILE line 2 column 2: this is not UTF-8");
}

#[test]
fn an_unreadable_file_is_rejected() {
    for (text, told) in [
        ("replay:", "replay needs a file: write replay:FILE"),
        ("har: hosts=all", "har needs a file: write har:FILE"),
        ("replay:a unit=min", "unit=min: write unit=s, ms, us or ns"),
        ("replay:a from=second", "from=second: write from=first or from=0"),
        ("replay:a unit=ms unit=us", "unit= occurs twice: leave one of them out"),
        ("replay:a unit=ms from=0 unit=ms", "unit= occurs twice: leave one of them out"),
        ("replay:a from=0 from=first", "from= occurs twice: leave one of them out"),
        ("har:a hosts=a hosts=b", "hosts= occurs twice: leave one of them out"),
        ("har:a hosts=", "hosts=: write hosts=all, or hosts as in hosts=api.test,cdn.test"),
        ("har:a hosts=a,,b", "hosts=a,,b: write hosts=all, or hosts as in hosts=api.test,cdn.test"),
    ] {
        assert_eq!(Recording::parse(text).unwrap().unwrap_err(), told);
    }
    let folder = TempDir::new().unwrap();
    for path in [folder.path().to_owned(), folder.path().join("none")] {
        let recording = Recording::parse(&format!("replay:{}", path.display())).unwrap().unwrap();
        let error = format!("{:#}", recording.read().err().unwrap());
        assert!(error.contains(&path.display().to_string()) && !error.contains('\n'), "{error}");
    }
}

#[test]
fn a_first_start_that_is_far_away_is_refused_unless_it_is_asked_for() {
    let hours = |hours: u64| Duration::from_secs(3600 * hours);
    let check = |words: &str, first| {
        let recording = Recording::parse(&format!("replay:x{words}")).unwrap().unwrap();
        recording.check_first(first).map_err(|error| error.to_string())
    };
    assert_eq!((check("", hours(1)), check(" from=0", hours(2))), (Ok(()), Ok(())));
    let told = check(" unit=s", hours(2)).unwrap_err();
    assert!(told.starts_with("replay:x unit=s: the first request is due 2h after"), "{told}");
}

#[test]
fn a_recording_has_a_title_of_one_line() {
    let first = "the first at 2023-11-16T18:17:03Z";
    for (text, words, line) in [
        ("0\n2.5\n", "", "2 starts in 2.50s, times in s"),
        ("0\n", " unit=us", "1 start in 0ns, times in us"),
        ("1700158623979\n1700158624979\n", "", "2 starts in 1.00s, times in ms since 1970, "),
        ("2023-11-16 18:17:03\n", "", "1 start in 0ns, times as dates without a zone, "),
        ("2023-11-16T18:17:03Z\n", "", "1 start in 0ns, times as dates with a zone, "),
    ] {
        let told = read_with(REPLAY, text.as_bytes(), words, ToString::to_string).unwrap();
        assert_eq!(told, format!("{line}{}", if line.ends_with(' ') { first } else { "" }));
    }
}

#[test]
fn a_row_may_have_a_request() {
    let several_lines = "method,body,Time,url,headers\n\
        POST,\"{\"\"a\"\": 1}\n\",0,/x,\"{\"\"B\"\": \"\"c\"\", \"\"D\"\": [\"\"1\"\", \"\"2\"\"]}\"\n\
        GET,,1,/y,\n";
    let json = "{\"ts\": 0, \"body\": {\"n\": 1.50, \"m\": [null]}}\n\
        {\"body\": \"x\", \"ts\": 1, \"url\": null, \"k\": 2}\n";
    for (text, sent) in [
        ("offset,target\n0,/a\n\n1.5,GET /b?c,d\r\n", &["- /a", "- GET /b?c,d"][..]),
        ("\u{feff}intended_start_seconds,target\n0 , \"a,\"\"b\"\"\"\n", &["- a,\"b\""]),
        ("intended_start_seconds\n0\n", &[]),
        ("Timestamp,Model,Request tokens\n5,ChatGPT,472\n45,GPT-4,1087\n", &[]),
        (several_lines, &["POST /x B=c D=1 D=2 {\"a\": 1}", "GET /y"]),
        ("ts,url,body\n0,/a,{\"b\": 1, \"c\": 2}\n", &["- /a {\"b\": 1, \"c\": 2}"]),
        ("ts,url,body-file,body_base64\n0,/a,b,\n1,/a,,aMOp\n", &["- /a @b", "- /a hé"]),
        (json, &["- - {\"n\": 1.50, \"m\": [null]}", "- - x"]),
        ("path,url,time,offset\n/a,/b,9,1\n", &["- /b"]),
        ("{\"ts\":0,\"url\":\"/a\"}\n{\"ts\":1}\n{\"ts\":2,\"url\":null}", &["- /a", "- -", "- -"]),
        (
            "{\"ts\":0}\n{\"ts\":1}\n{\"ts\":2,\"body\":\"b\"}\n{\"ts\":3}",
            &["- -", "- -", "- - b", "- -"],
        ),
        ("{\"ts\":0}\n{\"ts\":1,\"url\":null}", &[]),
    ] {
        assert_eq!(requests(REPLAY, text, "").unwrap(), sent, "{text}");
    }
    assert_eq!(starts("path,url,time,offset\n/a,/b,9,1\n", "").unwrap(), [1_000_000_000]);
    let alike = "offset,url\n0,/a\n1,/b\n2,/a\n";
    let different = |recorded: &Recorded| recorded.take_requests().different;
    let different = read_with(REPLAY, alike.as_bytes(), "", different).unwrap();
    assert!(different.iter().map(|(_, place)| place).eq(["line 2 column 3", "line 3 column 3"]));
}

proptest! {
    #[test]
    fn no_text_panics_and_every_error_is_one_line(text in prop_oneof![
        "(?s).{0,20}",
        "(ts,url\n)?(([0-9]|,|\"|\n|\r\n| |\\{|\\}|:|a|é|\"ts\":)){0,20}",
    ]) {
        if let Err(told) = starts(&text, "") {
            prop_assert_eq!(told.lines().count(), 1, "{}", told);
            prop_assert!(told.starts_with("FILE line "), "{}", told);
        }
    }

    #[test]
    fn values_in_quotes_are_what_was_written(values in prop::collection::vec("[a\",\n é\r]{0,6}", 1..6)) {
        let quoted = |value: &String| format!("0,\"{}\",x\n", value.replace('"', "\"\""));
        let text: String = values.iter().map(quoted).collect();
        let read = read_with(REPLAY, format!("offset,url,note\n{text}").as_bytes(), "", |recorded| {
            let Requests { different, of_slots, .. } = recorded.take_requests();
            of_slots.iter().map(|index| different[*index as usize].0.url.clone()).collect::<Vec<_>>()
        });
        prop_assert_eq!(read.unwrap(), values.into_iter().map(Some).collect::<Vec<_>>());
    }
}

fn entry(ms: u32, request: &str) -> String {
    format!(
        "{{\"startedDateTime\":\"2026-01-31T12:00:00.{ms:03}+02:00\",\"time\":1.5,\"request\":{{{request}}},\"response\":{{\"status\":200}}}}"
    )
}

fn har(entries: &[String]) -> String {
    format!("\u{feff}{{\"log\":{{\"version\":\"1.2\",\"entries\":[\n{}\n]}}}}", entries.join(",\n"))
}

#[test]
fn a_har_file_is_sent_in_order_without_what_belongs_to_a_connection() {
    let text = har(&[
        entry(
            250,
            "\"method\":\"POST\",\"url\":\"https://h/a?b={{c}}\",\"headers\":[{\"name\":\":authority\",\"value\":\"h\"},\
             {\"name\":\"Host\",\"value\":\"h\"},{\"name\":\"content-length\",\"value\":\"3\"},{\"name\":\"X\",\"value\":\"1\"},\
             {\"name\":\"X\",\"value\":\"2\"}],\"postData\":{\"mimeType\":\"text/plain\",\"text\":\"{{d}}\"}",
        ),
        entry(100, "\"method\":\"GET\",\"url\":\"https://h/\",\"headers\":[],\"bodySize\":-1"),
        entry(
            900,
            "\"method\":\"PUT\",\"url\":\"HTTPS://H/\",\"postData\":{\"encoding\":\"base64\",\"text\":\"aMOp\"}",
        ),
    ]);
    let sent =
        ["GET https://h/", "POST https://h/a?b=%7B%7Bc}} X=1 X=2 {{d}}", "PUT HTTPS://H/ hé"];
    assert_eq!(requests(HAR, &text, "").unwrap(), sent);
    let starts = read_with(HAR, text.as_bytes(), "", |recorded| recorded.starts.to_vec());
    assert_eq!(starts.unwrap(), [0, 150_000_000, 800_000_000]);
}

#[test]
fn omissions_from_a_har_file_are_counted() {
    let get = |url: &str, more: &str| format!("\"method\":\"GET\",\"url\":\"{url}\"{more}");
    let text = har(&[
        entry(1, &get("data:image/png;base64,x", "")),
        entry(2, &get("http://a:8080/", "")),
        entry(3, &get("http://b/", "")),
        entry(4, &get("http://A:8080/2", "")),
        entry(5, &get("http://a:8080/cached", ""))
            .replace("\"time\"", "\"_fromCache\":\"disk\",\"time\""),
        entry(6, &get("http://a:8080/form", ",\"postData\":{\"params\":[]}")),
        entry(7, &get("http://a:8080/large", ",\"bodySize\":9")),
        entry(8, &get("ws://a:8080/", "")),
    ]);
    let left_out = |words: &str| {
        let look = |recorded: &Recorded| recorded.take_requests();
        let Requests { of_slots, left_out, .. } =
            read_with(HAR, text.as_bytes(), words, look).unwrap();
        (of_slots.len(), left_out.unwrap())
    };
    let (count, line) = left_out("");
    let told = "left out of 8 requests: 1 from the browser's cache, 2 not http or https, 1 to other hosts than a:8080 \
                (hosts=all sends them), 2 without the text of their bodies";
    assert_eq!((count, &*line), (2, told));
    assert_eq!(
        ["", " hosts=all", " hosts=b", " hosts=A,b"].map(|words| left_out(words).0),
        [2, 3, 1, 3]
    );
}

#[test]
fn other_files_are_rejected_as_har() {
    let file = har(&[entry(1, "\"method\":\"GET\",\"url\":\"http://a/\"").replace("2026-", "")]);
    for (text, told) in [
        ("{}", "is not a HAR file: missing field `log`"),
        ("{\"ts\": 1}\n{\"ts\": 2}", "is not a HAR file: "),
    ] {
        let error = read_with(HAR, text.as_bytes(), "", |_| ()).unwrap_err();
        assert!(error.starts_with(&format!("FILE {told}")), "{error}");
    }
    let none = "FILE has no requests to send";
    let no_date = "left out of 1 request: 1 that cannot be sent (entry 1: \"01-31T12:00:00.001+02:00\" is not a date)";
    let number = no_date.replace("01-31T12:00:00.001+02:00", "5");
    for (text, told) in [
        (har(&[]), none.to_owned()),
        (file.clone(), format!("{none}; {no_date}")),
        (file.replace("01-31T12:00:00.001+02:00", "5"), format!("{none}; {number}")),
    ] {
        assert_eq!(read_with(HAR, text.as_bytes(), "", |_| ()).unwrap_err(), told);
    }
}

fn sent_of_har(entries: &[String]) -> (Vec<String>, Option<String>) {
    let text = har(entries);
    let left_out = |recorded: &Recorded| recorded.take_requests().left_out;
    let left_out = read_with(HAR, text.as_bytes(), "", left_out).unwrap();
    (requests(HAR, &text, "").unwrap(), left_out)
}

fn entry_with(ms: u32, method: &str, fields: &[(&str, &str)], more: &str) -> String {
    let fields: Vec<_> = fields
        .iter()
        .map(|(name, value)| format!("{{\"name\":\"{name}\",\"value\":\"{value}\"}}"))
        .collect();
    let fields = fields.join(",");
    entry(
        ms,
        &format!("\"method\":\"{method}\",\"url\":\"http://h/{ms}\",\"headers\":[{fields}]{more}"),
    )
}

#[test]
fn header_fields_of_a_har_file_are_made_fit_to_be_sent() {
    for (fields, sent, left_out) in [
        (&[("a", "1"), ("A", "2")][..], "a=1 A=2", None),
        (
            &[("cookie", "a=1"), ("X", "1"), ("Cookie", "b=2"), ("cookie", "c=3")],
            "cookie=a=1; b=2; c=3 X=1",
            None,
        ),
        (
            &[("Content-Type", "a"), ("content-type", "b"), ("From", "c")],
            "Content-Type=a From=c",
            Some("1 repeated"),
        ),
        (
            &[("X", "1\\n2"), ("x y", "1"), ("", "2"), ("Y", "ü")],
            "Y=ü",
            Some("3 that cannot be sent"),
        ),
        (&[("Cookie", "a\\r"), ("Cookie", "b=2")], "Cookie=b=2", Some("1 that cannot be sent")),
        (
            &[("Host", "h"), (":path", "/"), ("TE", "a"), ("Range", "a"), ("range", "b")],
            "Range=a",
            Some("3 of the connection (Host, Content-Length and others), 1 repeated"),
        ),
    ] {
        let (requests, line) = sent_of_har(&[entry_with(0, "GET", fields, "")]);
        assert_eq!(requests, [format!("GET http://h/0 {sent}")], "{fields:?}");
        assert_eq!(line, left_out.map(|told| format!("left out of header fields: {told}")));
    }
}

#[test]
fn an_invalid_entry_does_not_reject_the_other_entries() {
    let url = |url: &str| entry(1, &format!("\"method\":\"GET\",\"url\":\"{url}\""));
    let fine = entry_with(2, "patch", &[("Host", "h")], "");
    let text = ",\"postData\":{\"mimeType\":\"a/b\",\"encoding\":\"base64\",\"text\":\"?\"}";
    let long = format!("http://h/{}", "é".repeat(11_000));
    for (unfit, told) in [
        ("5".to_owned(), "invalid type: integer `5`, expected struct Entry"),
        ("{}".to_owned(), "missing field `startedDateTime`"),
        (
            url("http://h/").replace("2026", "9026"),
            "\"9026-01-31T12:00:00.001+02:00\" is not a date",
        ),
        (url("http://h/").replace("\"url\"", "\"u\""), "missing field `url`"),
        (url("http://"), "\"http://\" is not a URL"),
        (url("http://h:x/"), "\"http://h:x/\" has no port"),
        (url("http://{{h}}/"), "\"http://%7B%7Bh}}/\" is not a URL"),
        (url(&long), "\"http://h/%C3%A9"),
        (url("http://h/\\ud800"), "unexpected end of hex escape"),
        (entry_with(1, "", &[], ""), "\"\" is not a method"),
        (entry_with(1, "GE T", &[], ""), "\"GE T\" is not a method"),
        (entry_with(1, "connect", &[], ""), "\"connect\" is not a method"),
        (entry_with(1, "PUT", &[], text), "the body is not base64: "),
    ] {
        for entries in [[unfit.clone(), fine.clone()], [fine.clone(), unfit.clone()]] {
            let number = if entries[0] == unfit { 1 } else { 2 };
            let (requests, line) = sent_of_har(&entries);
            assert_eq!(requests, ["PATCH http://h/2"]);
            let line = line.unwrap();
            let begin =
                format!("left out of 2 requests: 1 that cannot be sent (entry {number}: {told}");
            let end = "); left out of header fields: 1 of the connection (Host, Content-Length and others)";
            assert!(line.starts_with(&begin) && line.ends_with(end), "{told}: {line}");
            assert_eq!(line.lines().count(), 1);
        }
    }
}

#[test]
fn a_har_file_that_is_sent_whole_leaves_nothing_out() {
    assert_eq!(sent_of_har(&[entry_with(1, "GET", &[("X", "1")], "")]).1, None);
}

#[test]
fn a_body_that_is_not_in_a_har_file_leaves_its_request_out() {
    let sized = &[("content-length", "20")];
    let form = "\"mimeType\":\"Application/x-www-form-urlencoded; charset=UTF-8\"";
    let params = "\"params\":[{\"name\":\"a b\",\"value\":\"1&é\"},{\"name\":\"c\"},{\"name\":\"d-._*~\",\"value\":\"\"}]";
    for (fields, more, body) in [
        (&sized[..], ",\"bodySize\":-1", None),
        (sized, "", None),
        (&[("Content-Length", "0")], ",\"bodySize\":-1", Some("")),
        (&[("Transfer-Encoding", "chunked")], "", None),
        (&[], ",\"bodySize\":null,\"postData\":null", Some("")),
        (&[], ",\"postData\":{\"mimeType\":null,\"text\":\"x\"}", Some("x")),
        (&[], ",\"postData\":{\"mimeType\":null,\"text\":null,\"params\":[]}", None),
        (&[], ",\"bodySize\":-1", Some("")),
        (sized, ",\"postData\":{\"mimeType\":\"a/b\",\"text\":\"\"}", None),
        (sized, ",\"postData\":{\"mimeType\":\"a/b\",\"text\":\"x\"}", Some("x")),
        (&[], ",\"postData\":{\"mimeType\":\"a/b\",\"text\":\"\"}", Some("")),
        (sized, &format!(",\"postData\":{{{form},{params}}}"), Some("a+b=1%26%C3%A9&c=&d-._*%7E=")),
        (
            &[],
            &format!(",\"postData\":{{{form},\"text\":\"\",{params}}}"),
            Some("a+b=1%26%C3%A9&c=&d-._*%7E="),
        ),
        (sized, &format!(",\"postData\":{{{form},\"text\":\"x=1\",{params}}}"), Some("x=1")),
        (sized, &format!(",\"postData\":{{{form},\"params\":[]}}"), None),
        (&[], &format!(",\"postData\":{{{form},\"params\":[]}}"), Some("")),
        (&[], &format!(",\"postData\":{{\"mimeType\":\"multipart/form-data\",{params}}}"), None),
    ] {
        let (requests, _) =
            sent_of_har(&[entry_with(1, "POST", fields, more), entry_with(2, "GET", &[], "")]);
        let body = body.map(|body| format!("POST http://h/1 {body}").trim_end().to_owned());
        let sent: Vec<_> = body.into_iter().chain(["GET http://h/2".to_owned()]).collect();
        assert_eq!(requests, sent, "{fields:?} {more}");
    }
}
