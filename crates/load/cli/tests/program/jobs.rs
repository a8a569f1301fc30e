//! Runs the ten jobs of the tutorial in a shell.

use crate::server::{Asked, answering};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::Receiver;
use std::{env, fs, thread};

const ADDRESS: &str = "127.0.0.1:8080";

/// The requests that a server must receive for each job. The prompt of the last job is random and left out.
const ASKED: [&[&str]; 10] = [
    &["GET / "],
    &["GET / "],
    &["GET / "],
    &["GET / "],
    &["GET / "],
    &["GET / "],
    &["POST /items {\"user\": \"ann\"}", "POST /items {\"user\": \"bob\"}"],
    &["GET / ", "POST /items "],
    &["GET / ", "POST /orders "],
    &["POST /generate {\"prompt\": \""],
];

fn jobs() -> Vec<Vec<String>> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/run/tutorial.md");
    let page = fs::read_to_string(page).unwrap();
    let section = page.split("\n## ").find(|section| section.starts_with("Ten jobs\n")).unwrap();
    let blocks = section.split("```console\n").skip(1);
    let lines = |block: &str| {
        let lines = block.split("```").next().unwrap().lines();
        lines.map(|line| line.strip_prefix("$ ").unwrap().to_owned()).collect()
    };
    blocks.map(lines).collect()
}

fn answer(asked: &Asked) -> String {
    let body = match &asked.first[..] {
        "POST /generate HTTP/1.1" => "data: one\n\ndata: two\n\n",
        _ => "ok",
    };
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// Lowers the requirements, so that a busy machine meets them, too, even if it does not start all requests.
fn with_low_requirements(line: &str) -> String {
    let lowered = "p50 response < 1h\"";
    line.replace("p99 response < 200ms\"", &format!("{lowered} --until \"ratio >= 0\""))
        .replace("p99 response < 500ms\"", lowered)
}

fn done(number: usize, lines: &[String]) -> (PathBuf, Output, Receiver<Asked>) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("job-{number}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).unwrap();
    let (address, asked) = answering(answer);
    let program = Path::new(env!("CARGO_BIN_EXE_nanopace")).parent().unwrap();
    let others = env::var_os("PATH").unwrap_or_default();
    let folders = [program.to_owned()].into_iter().chain(env::split_paths(&others));
    let mut shell = Command::new("sh");
    shell
        .arg("-ec")
        .arg(with_low_requirements(&lines.join("\n")).replace(ADDRESS, &address))
        .current_dir(&folder);
    shell.env("PATH", env::join_paths(folders).unwrap()).env_remove("GITHUB_STEP_SUMMARY");
    (folder, shell.stdin(Stdio::null()).output().unwrap(), asked)
}

fn kinds(asked: &Receiver<Asked>) -> BTreeSet<String> {
    let kind = |asked: Asked| {
        let text = format!("{} {}", asked.first.trim_end_matches(" HTTP/1.1"), asked.text());
        text.split_once("prompt\": \"")
            .map_or(text.clone(), |(kind, _)| format!("{kind}prompt\": \""))
    };
    asked.try_iter().map(kind).collect()
}

fn written(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(' ').collect::<Vec<_>>();
    let pairs = words.windows(2).map(<[&str; 2]>::try_from).map(Result::unwrap);
    let names = pairs.filter(|[option, _]| ["--html", "--json", "--junit", ">"].contains(option));
    names.map(|[_, name]| name).collect::<Vec<_>>().into_iter()
}

#[test]
fn the_ten_jobs_at_the_beginning_of_the_page_work() {
    let jobs = jobs();
    assert_eq!(jobs.len(), ASKED.len());
    let job = |(number, (lines, expected)): (usize, (Vec<String>, &[&str]))| {
        assert!((1..=3).contains(&lines.len()), "{lines:?}");
        let (folder, output, asked) = done(number, &lines);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{lines:?}: {output:?}");
        assert!(!told.contains("error: "), "{lines:?}: {told}");
        assert_eq!(kinds(&asked), expected.iter().map(|&kind| kind.to_owned()).collect());
        for name in lines.iter().flat_map(|line| written(line)) {
            assert!(folder.join(name).is_file(), "{lines:?}: {name}");
        }
        String::from_utf8(output.stdout).unwrap()
    };
    let numbered = jobs.into_iter().zip(ASKED).enumerate();
    let running: Vec<_> = numbered.map(|one| thread::spawn(move || job(one))).collect();
    let reports: Vec<_> = running.into_iter().map(|job| job.join().unwrap()).collect();
    let runs = reports.iter().filter(|report| report.contains("\nrequests  "));
    // Only the search prints no report of a run. The job with the comparison prints the reports of its two runs first.
    assert_eq!(runs.count(), 9, "{reports:#?}");
    assert!(
        reports[9].contains("first item") && reports[9].contains("item gaps"),
        "{}",
        reports[9]
    );
}
