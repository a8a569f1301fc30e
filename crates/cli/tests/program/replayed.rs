//! Recordings that say what was sent.

use crate::asked;
use crate::refusal::refusal;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

fn file(name: &str, text: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn output(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nanopace"));
    command.args(args).stdin(Stdio::null()).output().unwrap()
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
        ("0.5\n", &[], "line 3 column 4: it has no comma, and no target after it"),
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
