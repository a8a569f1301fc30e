//! What versions that were released have written is read, and has no name that is gone; what they have read
//! is read alike. Each has a folder in `tests/recorded`.

use crate::asked::{self, Asked};
use crate::names::{assert_none_is_gone, gone, recorded};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// In the folder of a version, so that the files there have short names.
fn nanopace(folder: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nanopace"));
    command.args(line.split_whitespace()).current_dir(folder).stdin(Stdio::null());
    command.output().unwrap()
}

/// What a command that must succeed has on standard output.
fn told(folder: &Path, line: &str) -> String {
    let output = nanopace(folder, line);
    assert!(output.status.success(), "{}: {line}: {output:?}", folder.display());
    String::from_utf8(output.stdout).unwrap()
}

/// The commands in the files of this name, each with its folder and what was told then.
fn commands(name: &str) -> Vec<(PathBuf, String, String)> {
    let mut commands = Vec::new();
    for folder in recorded() {
        let text = fs::read_to_string(folder.join(name)).unwrap();
        for command in text.split("$ nanopace ").skip(1) {
            let (line, told) = command.split_once('\n').unwrap();
            commands.push((folder.clone(), line.to_owned(), told.to_owned()));
        }
    }
    assert!(!commands.is_empty(), "{name}");
    commands
}

/// The parts of a text between blank lines.
fn paragraphs(text: &str) -> impl Iterator<Item = &str> {
    text.split("\n\n").map(str::trim)
}

const RUN: &str = "run --rate 100/s --requests 100 -c 2 --seed 1";

/// By the file of the record, the command that makes it.
const OBJECTS: [(&str, &str); 8] = [
    ("run.json", RUN),
    ("run-items.json", "run --rate 100/s --requests 20 -c 2 --items lines --kernel-timestamps"),
    ("search.json", "search --from 2k/s --max 2k/s --step 500ms --until errors<90%"),
    ("calibrate.json", "calibrate --seconds 0.5"),
    ("compare.json", "compare run.json run.json"),
    ("limit.json", "limit --phases 1"),
    ("limit-compare.json", "limit --compare --phases 0,20"),
    (
        "limit-retry.json",
        "limit --retry 10ms --limit 1/week --limiter cooldown,refilled-token-bucket",
    ),
];

/// Those that have names which only Linux has.
const ON_LINUX: [&str; 2] = ["run-items.json", "calibrate.json"];

#[test]
fn a_run_is_compared_with_what_every_version_wrote() {
    let now = Path::new(env!("CARGO_TARGET_TMPDIR")).join("recorded-now.json");
    let now = now.to_str().unwrap();
    assert!(!recorded().is_empty());
    for folder in recorded() {
        told(&folder, &format!("{RUN} --json {now}"));
        told(&folder, &format!("compare run.json {now}"));
        told(&folder, &format!("{RUN} --baseline run.json"));
    }
}

/// On a busy machine a search may end with another status, and a run may have too few requests for some names.
#[test]
fn objects_have_every_name_that_a_version_wrote() {
    let is_here = |file| cfg!(target_os = "linux") || !ON_LINUX.contains(&file);
    for folder in recorded() {
        for (file, line) in OBJECTS.into_iter().filter(|(file, _)| is_here(file)) {
            let once = || {
                let output = nanopace(&folder, &format!("{line} --json -"));
                let now = serde_json::from_slice(&output.stdout);
                let now = now.unwrap_or_else(|error| panic!("{line}: {error}: {output:?}"));
                gone(&folder.join(file), &now)
            };
            let tries: Vec<_> =
                (0..10).map(|_| once()).take_while(|gone| !gone.is_empty()).collect();
            assert!(tries.len() < 10, "{file}: {:?}", tries[0]);
        }
    }
}

#[test]
fn labels_have_every_name_that_a_version_wrote() {
    let (address, _asked) = asked::answering(shop);
    for folder in recorded() {
        let line = format!("run --config run-labels.toml --proxy {address} --json -");
        let now = serde_json::from_str(&told(&folder, &line)).unwrap();
        assert_none_is_gone(&folder.join("run-labels.json"), &now);
    }
}

#[test]
fn tables_begin_with_the_columns_of_every_version() {
    let (address, _asked) = asked::answering(shop);
    for (folder, line, columns) in commands("columns.txt") {
        let is_sent = line.contains("labels");
        let proxy = if is_sent { format!(" --proxy {address}") } else { String::new() };
        let now = told(&folder, &format!("{line}{proxy}"));
        let now = now.lines().next().unwrap();
        assert!(format!("{now},").starts_with(&format!("{},", columns.trim())), "{line}: {now}");
    }
}

#[test]
fn commands_have_every_option_of_every_version() {
    for (folder, line, options) in commands("options.txt") {
        let now = told(&folder, &line);
        let words: Vec<_> = now.split_whitespace().collect();
        let gone: Vec<_> =
            options.split_whitespace().filter(|option| !words.contains(option)).collect();
        assert!(gone.is_empty(), "{line}: {gone:?}");
    }
}

/// Each paragraph of the file is one by itself, as some options go without each other.
#[test]
fn a_file_of_options_is_read_as_every_version_did() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("recorded-config.toml");
    for folder in recorded() {
        let options = fs::read_to_string(folder.join("config.toml")).unwrap();
        for options in paragraphs(&options) {
            fs::write(&file, options).unwrap();
            let line = format!("run --config {} --print-config", file.display());
            let now = told(&folder, &line);
            let [now, then] =
                [&now, options].map(|text| toml::from_str::<toml::Table>(text).unwrap());
            assert_eq!(now, then);
        }
    }
}

/// The same for random loads, within a second number: but for the last digits.
#[test]
fn loads_start_when_they_started_by_every_version() {
    for (folder, line, expected) in commands("starts.txt") {
        let (now, expected) = (seconds(&told(&folder, &line)), seconds(&expected));
        let is_near = now.iter().zip(&expected).all(|(now, then)| (now - then).abs() < 1e-6);
        assert!(now.len() == expected.len() && is_near, "{line}: {now:?} {expected:?}");
    }
}

/// Of a list of starts, behind the name of its column.
fn seconds(csv: &str) -> Vec<f64> {
    csv.lines().skip(1).map(|line| line.parse().unwrap()).collect()
}

/// What is random in requests is drawn alike, too. The first is the one before the run.
#[test]
fn files_of_requests_are_sent_as_every_version_did() {
    let (address, asked) = asked::answering(shop);
    for (folder, line, expected) in commands("requests.txt") {
        told(&folder, &format!("{line} --rate 100/s -c 1 --proxy {address}"));
        let sent: Vec<_> = asked.try_iter().map(|asked| shown(&asked)).collect();
        assert_eq!(sent, expected.lines().collect::<Vec<_>>(), "{line}");
    }
}

/// Says the same to everybody, with something of each kind that can be taken and checked.
fn shop(_: &Asked) -> String {
    let body = r#"{"token": "t 1", "items": [{"id": 7}], "paid": true, "text": "id=42 welcome"}"#;
    let length = body.len();
    format!("HTTP/1.1 201 Created\r\nLocation: /carts/x\r\nContent-Length: {length}\r\n\r\n{body}")
}

/// A request in one line, without what is so of all.
fn shown(asked: &Asked) -> String {
    let common = ["host", "user-agent", "accept", "content-length"];
    let headers = asked.headers.iter().filter(|(name, _)| !common.contains(&&**name));
    let first = asked.first.strip_suffix(" HTTP/1.1").unwrap().to_owned();
    let mut parts = vec![first];
    parts.extend(headers.map(|(name, value)| format!("{name}: {value}")));
    parts.push(asked.body.trim().to_owned());
    parts.retain(|part| !part.is_empty());
    parts.join(" | ")
}
