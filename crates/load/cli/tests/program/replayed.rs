//! Tests replays of recordings with requests.

use crate::command::{nanopace, object};
use crate::running::{file, output, output_of, refusal};
use crate::server::{Asked, server};
use serde_json::Value;
use std::io::Write;
use std::process::Stdio;
use std::sync::mpsc::Receiver;

fn results(options: &str) -> (Value, String) {
    let output = output(&format!("{options} -c 1 --json -"));
    (object(&output), String::from_utf8(output.stderr).unwrap())
}

fn sent(asked: &Receiver<Asked>) -> Vec<String> {
    let short = |asked: Asked| {
        let parts = [&*asked.first, asked.header("x"), asked.text()];
        let parts: Vec<_> = parts.into_iter().enumerate().filter(|it| *it != (1, "")).collect();
        parts.into_iter().map(|(_, part)| part).collect::<Vec<_>>().join(" ")
    };
    asked.try_iter().skip(1).map(short).map(|text| text.replace(" HTTP/1.1", "")).collect()
}

#[test]
fn each_slot_sends_the_request_of_its_line() {
    let (address, asked) = server();
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
    let recording = file("replayed.csv", text);
    let slots: [(&str, Vec<u32>); 4] = [
        ("", (0..40).collect()),
        ("--rate 2/s", (0..40).collect()),
        ("--shard 1/2", (0..40).step_by(2).collect()),
        ("--shard 2/2", (1..40).step_by(2).collect()),
    ];
    for (options, slots) in &slots {
        let (results, _) = results(&format!("--arrivals replay:{recording} {options}"));
        assert_eq!(results["completed"], slots.len(), "{results}");
        // The probe sends the request of slot 0.
        let sent: Vec<_> = asked.try_iter().map(|asked| asked.first).collect();
        let expected: Vec<_> = [0].iter().chain(slots).map(|slot| expected(*slot)).collect();
        assert_eq!(sent, expected, "{options:?}");
    }
}

#[test]
fn an_error_has_its_line_and_column() {
    let begin = "offset,target\n0,http://127.0.0.1:1/\n";
    let fine = file("replayed-fine.csv", begin);
    for (text, options, told) in [
        ("0.5,ftp://h/\n", &[][..], "line 3 column 5: \"ftp://h/\" is not a URL with http://"),
        ("0.5,\n", &[], "line 3 column 5: \"\" is not a URL"),
        ("0.5,get http://h/\n", &[], "line 3 column 5: \"get http://h/\" is not a URL"),
        ("0.5,http://127.0.0.1:1/{{a}}\n", &[], "line 3 column 5: path of the URL: column 2: "),
        ("", &["--url", "http://127.0.0.1:1/"], "defines the requests: leave --url out"),
        ("", &["-d", "body"], "defines the requests: leave --body out"),
        ("", &["-F", "a=b"], "defines the requests: leave --form out"),
        ("", &["--json", &fine], "reads this file"),
    ] {
        let wrong = file("replayed-wrong.csv", format!("{begin}{text}"));
        let recording = if options.contains(&"--json") { &fine } else { &wrong };
        let stderr = refusal(output_of(
            &[&["--arrivals", &format!("replay:{recording}")], options].concat(),
        ));
        assert!(stderr.contains(told), "{text:?} {options:?}: {stderr}");
    }
}

#[test]
fn a_plan_uses_the_times_of_a_recording_with_requests() {
    let recording = file("replayed-plan.csv", "offset,target\n0.5,http://h/\n1,anything\n");
    let output = output(&format!("plan --arrivals replay:{recording} --csv -"));
    let listed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(listed, "intended_start_seconds\n0.500000000\n1.000000000\n");
}

#[test]
fn absolute_times_begin_with_the_first_one() {
    let (address, asked) = server();
    let recording =
        file("replayed-absolute.csv", "timestamp,tokens\n1700158623500,7\n1700158623600,9\n");
    let url = format!("http://{address}/{{{{tokens}}}}");
    let replay = format!("--arrivals replay:{recording} --url {url} --data {recording}");
    let (results, shown) = results(&replay);
    assert_eq!((&results["due"], &results["completed"]), (&2.into(), &2.into()), "{results}");
    assert_eq!(sent(&asked), ["GET /7 ", "GET /9 "]);
    let line = "(2 starts in 100ms, times in ms since 1970, the first at 2023-11-16T18:17:03Z)";
    assert!(shown.contains(line), "{shown}");
    let far = file("replayed-far.csv", "3600001\n3600002\n");
    let stderr = refusal(output(&format!("--arrivals replay:{far}")));
    assert!(stderr.contains("the first request is due 41days 16h 1s after"), "{stderr}");
}

#[test]
fn rows_may_have_methods_headers_and_bodies() {
    let (address, asked) = server();
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
        let rows = file("replayed-rows", text);
        let url = url.map_or(String::new(), |url| format!("--url {url}"));
        let (results, _) = results(&format!("--arrivals replay:{rows} {url}"));
        assert_eq!(results["completed"], expected.len(), "{results}");
        assert_eq!(sent(&asked), expected);
    }
    for (text, told) in [
        (bodies, "line 1 column 1: \"\" is not a URL: write a URL in each row, or"),
        (
            "ts,url,body_file\n0,http://h/,/nonexistent\n",
            "line 2 column 3: cannot read \"/nonexistent\"",
        ),
    ] {
        let rows = file("replayed-rows", text);
        let stderr = refusal(output(&format!("--arrivals replay:{rows}")));
        assert!(stderr.contains(told), "{stderr}");
    }
}

#[test]
fn recorded_urls_are_encoded_and_their_labels_are_grouped() {
    let (address, asked) = server();
    let row =
        |number| format!("0,http://{address}/items/{number}?q=\"a <\\^`{{|}}>\"&{{{{slot}}}}\n");
    let rows = (10..80).map(row).collect::<Vec<_>>().concat();
    let text = format!("ts,url\n{rows}0.1,http://{address}/größe\n0.1,http://{address}/a%20b\n");
    let (results, shown) =
        results(&format!("--arrivals replay:{}", file("replayed-urls.csv", text)));
    let sent = sent(&asked);
    assert_eq!(sent[0], "GET /items/10?q=%22a%20%3C%5C%5E%60%7B%7C%7D%3E%22&0 ");
    assert_eq!((&*sent[70], &*sent[71]), ("GET /gr%C3%B6%C3%9Fe ", "GET /a%20b "));
    let line = "characters that are not valid in a URL are percent-encoded in 71 of 72 requests";
    assert!(shown.contains(line), "{shown}");
    let label = &results["labels"][format!("GET http://{address}/items/{{n}} 204")];
    assert_eq!(label["completed"], 70, "{results}");
}

#[test]
fn a_har_file_is_replayed() {
    let (address, asked) = server();
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
    let har = file("replayed.har", format!("{{\"log\": {{\"entries\": [{entries}]}}}}"));
    for options in [
        format!("--har \"{har} hosts={address}\""),
        format!("--arrivals \"har:{har} hosts={address}\""),
        format!("--har {har}"),
    ] {
        let (results, shown) = results(&options);
        // Without `hosts`, only requests to the host of the earliest request are replayed.
        assert_eq!(sent(&asked), ["POST /1 1 10 {{", "POST /2%7C 1 90 {{"], "{results}");
        assert!(results["settings"]["arrivals"].as_str().unwrap().starts_with("har:"), "{results}");
        let told = format!("left out of 3 requests: 1 to other hosts than {address}");
        assert!(
            shown.contains(&told) && shown.contains("(2 starts in 80.0ms, times as dates"),
            "{shown}"
        );
    }
    for (options, told) in [
        ("--arrivals poisson", "cannot be used with"),
        ("--url http://h/", "defines the requests: leave --url out"),
        ("--rate max", "--har: --rate max has no schedule"),
        (&format!("--json {har}"), "reads this file"),
    ] {
        let stderr = refusal(output(&format!("--har {har} {options}")));
        assert!(stderr.contains(told), "{options:?}: {stderr}");
    }
}

#[test]
fn standard_input_is_a_file_that_is_read_once() {
    let (address, asked) = server();
    let port = address.rsplit(':').next().unwrap();
    let run = |line: &str, input: &str| {
        let mut command = nanopace(line);
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = pipes.spawn().unwrap();
        let mut stdin = process.stdin.take().unwrap();
        // If the program rejects its options, it does not read standard input.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        process.wait_with_output().unwrap()
    };
    let here = format!("127.0.0.1:{port}");
    let rows = format!("ts,url\n0,http://{here}/f\n0,http://{here}/f\n");
    for (options, input, expected) in [
        ("--targets - -n 2", &*format!("POST http://:{port}/a\n\nb\n"), "POST /a b"),
        (&format!("--data - -n 2 --url http://:{port}/{{{{a}}}}"), "a\nc\n", "GET /c "),
        (&format!("-D - -n 2 --url http://{here}/d"), "e", "POST /d e"),
        ("--arrivals replay:-", &rows, "GET /f "),
    ] {
        let resolve = format!("--resolve localhost:{port}:127.0.0.1");
        let output = run(&format!("{options} --rate 1k/s -c 1 {resolve}"), input);
        assert_eq!(output.status.code(), Some(0), "{options:?}: {output:?}");
        assert_eq!(sent(&asked), [expected; 2], "{options:?}");
    }
    let output = run(&format!("-F a=<- -n 1 --rate 1k/s --url http://{here}/g"), "f");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(sent(&asked)[0].contains("name=\"a\"\r\n\r\nf\r\n"));
    let targets = file("targets-stdin", format!("POST http://{here}/h\n@-\n").as_bytes());
    for (options, told) in [
        ("--targets - --data -", "--targets and --data both read standard input"),
        (
            &*format!("--targets {targets} --data -"),
            "--data and a request of --targets both read standard input",
        ),
    ] {
        let stderr = refusal(run(options, "a\nb\n"));
        assert!(stderr.contains(told), "{stderr}");
    }
}
