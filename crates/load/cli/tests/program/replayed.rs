//! Recordings that say what was sent.

use crate::asked::{self, Asked};
use crate::refusal::refusal;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::Receiver;

fn file(name: &str, text: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn output(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nanopace"));
    command.args(args).stdin(Stdio::null()).output().unwrap()
}

/// The results of a run, and what it says while it runs.
fn results(args: &[&str]) -> (Value, String) {
    let output = output(&[args, &["-c", "1", "--json", "-"]].concat());
    let results = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {output:?}"));
    (results, String::from_utf8(output.stderr).unwrap())
}

/// All requests that came after the one before the run: the first line, the value of the header X, and the body.
fn sent(asked: &Receiver<Asked>) -> Vec<String> {
    let short = |Asked { first, headers, body }| {
        let x = headers.into_iter().find(|(name, _)| name == "x").map(|(_, value)| value);
        [Some(first), x, Some(body)].into_iter().flatten().collect::<Vec<_>>().join(" ")
    };
    asked.try_iter().skip(1).map(short).map(|text| text.replace(" HTTP/1.1", "")).collect()
}

#[test]
fn each_slot_is_sent_the_request_of_its_line() {
    let (address, asked) = asked::server();
    let line = |number: u32| match number % 5 {
        0 => format!("0.{number:03},POST http://{address}/post\n"),
        1 => format!("0.{number:03},http://{address}/n?{{{{slot}}}}\n"),
        2 => format!("0.{number:03},\"http://{address}/a,b\"\n"),
        _ => format!("0.{number:03},GET http://{address}/{number}\n"),
    };
    let expected = |number: u32| match number % 5 {
        0 => "POST /post HTTP/1.1".to_owned(),
        1 => format!("GET /n?{number} HTTP/1.1"),
        2 => "GET /a,b HTTP/1.1".to_owned(),
        _ => format!("GET /{number} HTTP/1.1"),
    };
    let text = format!("offset,target\n{}", (0..40).map(line).collect::<String>());
    let recording = file("replayed.csv", &text);
    let replay = format!("replay:{recording}");
    let slots: [(&[&str], Vec<u32>); 4] = [
        (&[], (0..40).collect()),
        (&["--rate", "2/s"], (0..40).collect()),
        (&["--shard", "1/2"], (0..40).step_by(2).collect()),
        (&["--shard", "2/2"], (1..40).step_by(2).collect()),
    ];
    for (options, slots) in &slots {
        let options = [&["--arrivals", &replay, "-c", "1", "--json", "-"], *options].concat();
        let output = output(&options);
        let results: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {output:?}"));
        assert_eq!(results["completed"], slots.len(), "{results}");
        // The probe is slot 0's request.
        let sent: Vec<_> = asked.try_iter().map(|asked| asked.first).collect();
        let expected: Vec<_> = [0].iter().chain(slots).map(|slot| expected(*slot)).collect();
        assert_eq!(sent, expected, "{options:?}");
    }
}

/// Before anything is sent: nobody listens there.
#[test]
fn what_is_wrong_has_its_line_and_column() {
    let begin = "offset,target\n0,http://127.0.0.1:1/\n";
    let fine = file("replayed-fine.csv", begin);
    for (text, options, told) in [
        ("0.5,ftp://h/\n", &[][..], "line 3 column 5: \"ftp://h/\" is not a URL with http://"),
        ("0.5,\n", &[], "line 3 column 5: \"\" is not a URL"),
        ("0.5\n", &[], "line 3 column 4: 1 values, but the first line has 2 names"),
        ("0.5,get http://h/\n", &[], "line 3 column 5: \"get http://h/\" is not a URL"),
        (" 0.5,\"http://h/\n", &[], "line 3 column 6: this quote never closes"),
        (
            "0.5,http://127.0.0.1:1/{{a}}\n",
            &[],
            "line 3 column 5: path of the URL: column 2: \"a\"",
        ),
        ("", &["--url", "http://127.0.0.1:1/"], "says what is sent: leave --url out"),
        ("", &["-d", "body"], "says what is sent: leave --body out"),
        ("", &["-F", "a=b"], "says what is sent: leave --form out"),
        ("", &["--json", &fine], "reads this file"),
    ] {
        let recording = match options {
            ["--json", path] => (*path).to_owned(),
            _ => file("replayed-wrong.csv", &format!("{begin}{text}")),
        };
        let replay = format!("replay:{recording}");
        let stderr = refusal(output(&[&["--arrivals", &replay], options].concat()));
        assert!(stderr.contains(told), "{text:?} {options:?}: {stderr}");
    }
}

#[test]
fn a_plan_takes_such_a_recording_for_its_times() {
    let recording = file("replayed-plan.csv", "offset,target\n0.5,http://h/\n1,anything\n");
    let output = output(&["plan", "--arrivals", &format!("replay:{recording}"), "--csv", "-"]);
    let listed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(listed, "intended_start_seconds\n0.500000000\n1.000000000\n");
}

#[test]
fn absolute_times_begin_with_the_first_one() {
    let (address, asked) = asked::server();
    let recording =
        file("replayed-absolute.csv", "timestamp,tokens\n1700158623500,7\n1700158623600,9\n");
    let url = format!("http://{address}/{{{{tokens}}}}");
    let replay = format!("replay:{recording}");
    let (results, shown) = results(&["--arrivals", &replay, "--url", &url, "--data", &recording]);
    assert_eq!((&results["due"], &results["completed"]), (&2.into(), &2.into()), "{results}");
    assert_eq!(sent(&asked), ["GET /7 ", "GET /9 "]);
    let line = "(2 starts in 100ms, times in ms since 1970, the first at 2023-11-16T18:17:03Z)";
    assert!(shown.contains(line), "{shown}");
}

#[test]
fn a_first_start_that_is_an_hour_away_is_refused() {
    let recording = file("replayed-far.csv", "3600001\n3600002\n");
    let replay = |words: &str| format!("replay:{recording}{words}");
    let stderr = refusal(output(&["--arrivals", &replay("")]));
    assert!(
        stderr.contains("its first request is due 41days 16h 1s after the beginning"),
        "{stderr}"
    );
    assert_eq!(results(&["--arrivals", &replay(" from=first unit=ms")]).0["due"], 2);
    assert_eq!(results(&["--arrivals", &replay(" from=0"), "--rate", "1G/s"]).0["due"], 2);
}

#[test]
fn rows_may_have_methods_headers_and_bodies() {
    let (address, asked) = asked::server();
    let body = file("replayed-body", "{{slot}} file");
    let csv = format!(
        "ts,method,path,headers,body,body_file\n\
         0,PUT,/a?b={{{{slot}}}},\"{{\"\"X\"\": \"\"{{{{1}}}}\"\"}}\",\"{{\"\"c\"\": {{{{d}}}}}}\",\n\
         0.01,,/e,,,{body}\n0.02,,/f,,,\n"
    );
    let json = format!(
        "{{\"timestamp\": 0, \"url\": \"http://{address}/a\", \"header\": {{\"X\": [\"1\"]}}, \"body\": {{\"b\": 1.50}}}}\n\
         {{\"timestamp\": 0.01, \"url\": \"http://{address}/a\", \"body_base64\": \"aGk=\", \"method\": \"PATCH\"}}\n"
    );
    let bodies = "{\"ts\": 0, \"body\": {\"prompt\": \"{{\"}}\n{\"ts\": 0.01, \"body\": null, \"method\": \"GET\"}\n";
    let base = format!("http://{address}/base?x");
    for (text, url, expected) in [
        (
            &*csv,
            Some(&base),
            &["PUT /a?b=0 {{1}} {\"c\": {{d}}}", "POST /e {{slot}} file", "GET /f "][..],
        ),
        (&*json, None, &["POST /a 1 {\"b\": 1.50}", "PATCH /a hi"]),
        (bodies, Some(&base), &["POST /base?x {\"prompt\": \"{{\"}", "GET /base?x "]),
    ] {
        let replay = format!("replay:{}", file("replayed-rows", text));
        let url: Vec<_> = url.into_iter().flat_map(|url| ["--url", url]).collect();
        let (results, _) = results(&[&["--arrivals", &*replay], &*url].concat());
        assert_eq!(results["completed"], expected.len(), "{results}");
        assert_eq!(sent(&asked), expected);
    }
    let replay = format!("replay:{}", file("replayed-rows", bodies));
    let stderr = refusal(output(&["--arrivals", &replay]));
    assert!(
        stderr.contains("line 1 column 1: \"\" is not a URL: write one in each row, or"),
        "{stderr}"
    );
    let replay =
        format!("replay:{}", file("replayed-rows", "ts,url,body_file\n0,http://h/,/nonexistent\n"));
    let stderr = refusal(output(&["--arrivals", &replay]));
    assert!(stderr.contains("line 2 column 3: cannot read \"/nonexistent\""), "{stderr}");
}

#[test]
fn recorded_urls_are_encoded_and_their_labels_are_grouped() {
    let (address, asked) = asked::server();
    let row =
        |number| format!("0,http://{address}/items/{number}?q=\"a <\\^`{{|}}>\"&{{{{slot}}}}\n");
    let rows = (10..80).map(row).collect::<Vec<_>>().concat();
    let text = format!("ts,url\n{rows}0.1,http://{address}/größe\n0.1,http://{address}/a%20b\n");
    let replay = format!("replay:{}", file("replayed-urls.csv", &text));
    let (results, shown) = results(&["--arrivals", &replay]);
    let sent = sent(&asked);
    assert_eq!(sent[0], "GET /items/10?q=%22a%20%3C%5C%5E%60%7B%7C%7D%3E%22&0 ");
    assert_eq!((&*sent[70], &*sent[71]), ("GET /gr%C3%B6%C3%9Fe ", "GET /a%20b "));
    let line = "characters that a URL may not have are percent-encoded in 71 of 72 requests";
    assert!(shown.contains(line), "{shown}");
    let label = &results["labels"][format!("GET http://{address}/items/{{n}} 204")];
    assert_eq!(label["completed"], 70, "{results}");
}

#[test]
fn a_har_file_is_replayed() {
    let (address, asked) = asked::server();
    let entry = |ms: u32, url: &str| {
        format!(
            "{{\"startedDateTime\": \"2026-01-31T12:00:00.{ms:03}Z\", \"request\": {{\"method\": \"POST\", \"url\": \"{url}\", \
                 \"headers\": [{{\"name\": \"Connection\", \"value\": \"close\"}}, {{\"name\": \"X\", \"value\": \"1\"}}], \
                 \"postData\": {{\"text\": \"{ms} {{{{\"}}}}}}"
        )
    };
    let [first, second] = ["/1", "/2|"].map(|path| format!("http://{address}{path}"));
    let entries =
        [entry(90, &second), entry(20, "https://127.0.0.1:1/"), entry(10, &first)].join(",\n");
    let har = file("replayed.har", &format!("{{\"log\": {{\"entries\": [{entries}]}}}}"));
    let with_host = format!("{har} hosts={address}");
    for options in
        [["--har", &*with_host], ["--arrivals", &*format!("har:{with_host}")], ["--har", &har]]
    {
        let (results, shown) = results(&options);
        // The first one of the file's times is to the same host.
        assert_eq!(sent(&asked), ["POST /1 1 10 {{", "POST /2%7C 1 90 {{"], "{results}");
        assert!(results["settings"]["arrivals"].as_str().unwrap().starts_with("har:"), "{results}");
        let told = format!("left out of 3 requests: 1 to other hosts than {address}");
        assert!(
            shown.contains(&told) && shown.contains("(2 starts in 80.0ms, times as dates"),
            "{shown}"
        );
    }
    for (options, told) in [
        (["--har", &*har, "--arrivals", "poisson"], "cannot be used with"),
        (["--har", &har, "--url", "http://h/"], "says what is sent: leave --url out"),
        (["--har", &har, "--rate", "max"], "--har: --rate max has no schedule"),
        (["--har", &har, "--json", &har], "reads this file"),
    ] {
        let stderr = refusal(output(&options));
        assert!(stderr.contains(told), "{options:?}: {stderr}");
    }
}

#[test]
fn standard_input_is_a_file_that_is_read_once() {
    let (address, asked) = asked::server();
    let port = address.rsplit(':').next().unwrap();
    let run = |line: &[&str], input: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nanopace"));
        let pipes =
            command.args(line).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = pipes.spawn().unwrap();
        let mut stdin = process.stdin.take().unwrap();
        // A program that refuses its options does not read.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        process.wait_with_output().unwrap()
    };
    let url = format!("http://:{port}/{{{{a}}}}");
    let here = format!("127.0.0.1:{port}");
    let resolve = format!("localhost:{port}:127.0.0.1");
    let cases: [(&[&str], String, &str); 4] = [
        (&["--targets", "-", "-n", "2"], format!("POST http://:{port}/a\n\nb\n"), "POST /a b"),
        (&["--data", "-", "-n", "2", "--url", &url], "a\nc\n".to_owned(), "GET /c "),
        (
            &["-D", "-", "-n", "2", "--url", &format!("http://{here}/d")],
            "e".to_owned(),
            "POST /d e",
        ),
        (
            &["--arrivals", "replay:-"],
            format!("ts,url\n0,http://{here}/f\n0,http://{here}/f\n"),
            "GET /f ",
        ),
    ];
    for (options, input, expected) in cases {
        let output =
            run(&[options, &["--rate", "1k/s", "-c", "1", "--resolve", &resolve]].concat(), &input);
        assert_eq!(output.status.code(), Some(0), "{options:?}: {output:?}");
        assert_eq!(sent(&asked), [expected; 2], "{options:?}");
    }
    let stderr = refusal(run(&["--targets", "-", "--data", "-"], ""));
    assert!(stderr.contains("--targets and --data both read standard input"), "{stderr}");
}

/// In HTTP/2 browsers send a field for each cookie (RFC 9113, section 8.2.3).
#[test]
fn a_har_file_with_doubled_fields_and_unfit_entries_is_replayed() {
    let (address, asked) = asked::server();
    let entry = |ms: u32, method: &str, url: &str, fields: &[(&str, &str)]| {
        let field =
            |(name, value): &(&str, &str)| serde_json::json!({"name": name, "value": value});
        let fields: Vec<_> = fields.iter().map(field).collect();
        serde_json::json!({
            "startedDateTime": format!("2026-01-31T12:00:00.{ms:03}Z"),
            "request": {"method": method, "url": url, "headers": fields, "bodySize": -1}
        })
    };
    let url = format!("http://{address}/1");
    let doubled =
        [("cookie", "a=1"), ("cookie", "b=2"), ("content-type", "a"), ("content-type", "b")];
    let newline = [("X", "a\nb")];
    let entries = [
        entry(10, "GET", &url, &doubled),
        entry(20, "get", &url, &newline),
        entry(30, "", &url, &[]),
        entry(40, "POST", &url, &[("content-length", "20")]),
    ];
    let har = serde_json::json!({"log": {"entries": entries}}).to_string();
    let (results, shown) = results(&["--har", &file("replayed-doubled.har", &har)]);
    assert_eq!(results["completed"], 2, "{results}");
    let sent: Vec<_> = asked.try_iter().skip(1).collect();
    assert!(sent.iter().all(|asked| asked.first == "GET /1 HTTP/1.1"));
    let values = |name: &str| {
        let of_name = sent[0].headers.iter().filter(|(known, _)| known == name);
        of_name.map(|(_, value)| value.clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        (values("cookie"), values("content-type")),
        (vec!["a=1; b=2".to_owned()], vec!["a".to_owned()])
    );
    let told = "left out of 4 requests: 1 that cannot be sent (entry 3: \"\" is not a method), 1 without the text of \
                their bodies; left out of header fields: 1 repeated, 1 that cannot be sent";
    assert!(shown.contains(told), "{shown}");
}

#[test]
fn rows_without_a_request_are_sent_to_the_url() {
    let (address, asked) = asked::server();
    let url = format!("http://{address}/base");
    for (text, expected) in [
        ("{\"time\":0,\"url\":\"/a\"}\n{\"time\":0.1}\n", ["GET /a ", "GET /base "]),
        ("{\"time\":0}\n{\"time\":0.1,\"body\":\"b\"}\n", ["GET /base ", "POST /base b"]),
    ] {
        let replay = format!("replay:{}", file("replayed-partly", text));
        let (results, _) = results(&["--arrivals", &replay, "--url", &url]);
        assert_eq!(results["completed"], 2, "{results}");
        assert_eq!(sent(&asked), expected);
        let stderr = refusal(output(&["--arrivals", &replay]));
        assert!(stderr.contains("is not a URL: write one in each row, or"), "{stderr}");
    }
}
