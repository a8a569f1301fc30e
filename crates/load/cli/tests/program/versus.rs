//! Tests `nanopace run --versus`: two servers compared in one load.

use crate::command::object;
use crate::running::{file, output_of, refusal};
use crate::server::{Asked, answering, server};
use crate::steered::Steered;
use crate::sums::assert_adds_up;
use serde_json::Value;
use std::process::Output;
use std::sync::mpsc::Receiver;
use std::sync::{Condvar, Mutex};
use std::{fs, mem, sync::Arc};

fn versus(urls: [&str; 2], options: &str) -> Output {
    let options = options.split(' ').map(|word| word.replace('_', " ")).collect::<Vec<_>>();
    let line = [urls[0], "--versus", urls[1]].into_iter().chain(options.iter().map(String::as_str));
    output_of(&line.collect::<Vec<_>>())
}

fn slots(asked: &Receiver<Asked>) -> Vec<u64> {
    let number = |asked: Asked| asked.path().trim_start_matches('/').parse().unwrap();
    let mut slots: Vec<u64> = asked.try_iter().skip(1).map(number).collect();
    slots.sort_unstable();
    slots
}

#[test]
fn each_pair_of_slots_is_divided_and_all_outputs_have_the_differences() {
    let [(a, asked_a), (b, asked_b)] = [server(), server()];
    let [a, b] = [a, b].map(|url| format!("http://{url}/{{{{slot}}}}"));
    let page = file("versus.html", "");
    let fails = "--rate 2k/s --requests 401 -c 4 --fail-if p99.99_response_slower_by_5%";
    let output = versus([&a, &b], &format!("{fails} --json - --html {page}"));
    let [first, second] = [slots(&asked_a), slots(&asked_b)];
    assert!(first.iter().zip(&second).all(|(a, b)| a ^ b == 1), "{first:?} {second:?}");
    let counts = [first.len(), second.len()];
    assert_eq!(counts[0].abs_diff(counts[1]), 1);
    let (mut all, whole) = ([first, second].concat(), object(&output));
    all.sort_unstable();
    assert_eq!(all, (0..401).collect::<Vec<_>>());
    assert_adds_up(&whole);
    assert_eq!((&whole["loads"]["A"]["url"], &whole["loads"]["B"]["url"]), (&a.into(), &b.into()));
    for (side, requests) in ["A", "B"].into_iter().zip(counts) {
        let settings = &whole["loads"][side]["settings"];
        assert_eq!(
            (&settings["connections"], &settings["requests"]),
            (&2.into(), &requests.into())
        );
        assert_eq!(settings["url"], whole["loads"][side]["url"]);
    }
    assert_eq!(whole["comparison"]["figures"].as_array().map(Vec::len), Some(12));
    assert_eq!(output.status.code(), Some(3));
    assert!(whole["missed"][0].as_str().unwrap().contains("unknown: there are too few samples"));
    let page = fs::read_to_string(page).unwrap();
    for text in [String::from_utf8(output.stderr).unwrap(), page] {
        assert!(text.contains("B compared with A") && text.contains("p99.9 service"), "{text}");
    }
}

#[test]
fn both_slots_of_a_pair_use_the_same_row() {
    let [(a, asked_a), (b, asked_b)] = [server(), server()];
    let [a, b] = [a, b].map(|url| format!("http://{url}/{{{{slot}}}}/{{{{number}}}}"));
    let rows = file("versus.csv", "number\n0\n1\n2\n3\n4\n");
    let output = versus([&a, &b], &format!("--rate 1k/s -c 4 --data {rows} --data-end stop"));
    assert!(output.status.success(), "{output:?}");
    for asked in [asked_a, asked_b] {
        let paths: Vec<_> = asked.try_iter().skip(1).map(|asked| asked.path().to_owned()).collect();
        let parts = paths.iter().map(|path| path[1..].split_once('/').unwrap());
        let numbers = parts.map(|(slot, row)| [slot, row].map(|it| it.parse::<u64>().unwrap()));
        let numbers: Vec<_> = numbers.collect();
        assert!(numbers.iter().all(|[slot, row]| slot / 2 == *row), "{numbers:?}");
        assert_eq!(numbers.len(), 5, "{numbers:?}");
    }
}

/// Apart from the response to the probe, B sends no response until A has all of its requests.
#[test]
fn a_side_that_stalls_does_not_delay_the_other() {
    const EACH: usize = 100;
    let response = || "HTTP/1.1 204 No Content\r\n\r\n".to_owned();
    let counted = Arc::new((Mutex::new(0), Condvar::new()));
    let (at_a, is_probed) = (Arc::clone(&counted), Mutex::new(false));
    let (a, _asked) = answering(move |_| {
        *at_a.0.lock().unwrap() += 1;
        at_a.1.notify_all();
        response()
    });
    let (b, _asked) = answering(move |_| {
        if mem::replace(&mut *is_probed.lock().unwrap(), true) {
            let count = counted.0.lock().unwrap();
            drop(counted.1.wait_while(count, |count| *count <= EACH).unwrap());
        }
        response()
    });
    let [a, b] = [a, b].map(|url| format!("http://{url}/"));
    let options = "--rate 1k/s --requests 200 -c 4 --threads 1 --timeout 1min --json -";
    let whole = object(&versus([&a, &b], options));
    let completed = ["A", "B"].map(|side| whole["loads"][side]["completed"].clone());
    assert_eq!(completed, [EACH, EACH], "{whole}");
}

#[test]
fn a_new_rate_is_divided_between_the_sides() {
    let [(a, _asked_a), (b, _asked_b)] = [server(), server()];
    let [a, b] = [a, b].map(|url| format!("http://{url}/"));
    let options = ["--rate", "20/s", "--duration", "1h", "-c", "4", "--control", "127.0.0.1:0"];
    let run = Steered::start(&[&["--url", &a, "--versus", &b], &options[..]].concat());
    let all =
        |state: &Value, field: &str| ["A", "B"].map(|side| state["loads"][side][field].clone());
    // After 1.5 s, a progress line has been printed for each side.
    let is_late = |elapsed: &Value| elapsed.as_f64().is_some_and(|seconds| seconds > 1.5);
    run.wait_until(|state| all(state, "elapsed_seconds").iter().all(is_late));
    let refused = run.ask("PUT", "/rate?load=A", &[], b"40/s");
    assert!(refused.status == 400 && refused.body.contains("leave out ?load=A"), "{refused:?}");
    let changed = run.ask("PUT", "/rate", &[], b"40/s");
    assert_eq!(changed.status, 200, "{changed:?}");
    assert_eq!(all(&changed.json(), "rate"), ["40/s", "40/s"]);
    let (_, lines) = run.stop(&[]);
    assert!(lines.contains(" of 10.0/s") && !lines.contains(" of 20/s"), "{lines}");
}

#[test]
fn options_that_do_not_fit_two_sides_get_one_line() {
    for (options, told) in [
        ("--shard 1/2", "--shard cannot be used with --versus: leave it out"),
        ("--rate max", "--rate max cannot be used with --versus"),
        ("--fleet redis://127.0.0.1/ --run a", "--fleet cannot be used with --versus"),
        (
            "-c 5",
            "--connections 5: each side gets half of the connections: write an even number, such as 6",
        ),
        ("-c 4..7", "write an even number, such as 4..8"),
        ("--requests 1", "gets no requests: write a larger number"),
        ("--load a.toml", "cannot be used with"),
        ("--fail-if C:_failed=0", "no load has this name: write one of A, B"),
    ] {
        let told_line = refusal(versus(["http://127.0.0.1:1/", "http://127.0.0.1:2/"], options));
        assert!(told_line.contains(told), "{options}: {told_line}");
    }
}
