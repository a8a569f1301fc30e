//! Tests scenarios: values taken from responses, checks, think times, and errors in files.

use crate::command::{nanopace, object};
use crate::running::{Target, at_work, file as written, refusal};
use crate::server::{self, Asked};
use nanopace_services::{assert_unless_busy, watched};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Output;
use std::sync::OnceLock;

const USERS: [&str; 3] = ["ann", "b\"o/b", "größe"];

const SHOP: &str = r#"
[[scenario]]
name = "buy"
weight = 3

[[scenario.step]]
name = "log in"
method = "PUT"
url = "URL/login?dice={{random 1..1000000}}"
headers = { X-Slot = "{{slot}}" }
body = '{"user": {{json user}}}'
take.token = { json = "/a/token" }
take.cart = { header = "Location", regex = '/(.*)' }
check.created = { status = 201 }

[[scenario.step]]
name = "look"
url = "URL/{{raw cart}}?dice={{random 1..1000000}}"
headers.Authorization = "Bearer {{token}}"
take.item = { regex = 'item=(\S+)' }
think = "20ms"

[[scenario.step]]
name = "order"
url = "URL/order/{{item}}?user={{user}}"
headers.Authorization = "Bearer {{token}}"
body = '{"item": {{json item}}}'
check.paid = { json = "/paid", equals = true }
check.typed = { header = "Content-Type", equals = "application/json" }

[[scenario]]
name = "browse"

[[scenario.step]]
name = "front page"
url = "URL/"
"#;

fn answer(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{headers}\r\n{body}")
}

fn number(authorization: &str) -> Option<usize> {
    authorization.strip_prefix("Bearer t\u{e9}")?.parse().ok()
}

fn shop(asked: &Asked) -> String {
    let (path, _) = asked.path().split_once('?').unwrap_or((asked.path(), ""));
    let number = number(asked.header("authorization"));
    match (path, number) {
        ("/", _) => answer("200 OK", "", ""),
        ("/login", _) => {
            let body: Value = serde_json::from_slice(&asked.body).unwrap();
            let user = USERS.iter().position(|user| body == json!({ "user": user })).unwrap();
            let body = json!({"a": {"token": format!("t\u{e9}{user}")}}).to_string();
            answer("201 Created", &format!("Location: /carts/{user}/x\r\n"), &body)
        }
        (path, Some(user)) if path == format!("/carts/{user}/x") => {
            answer("200 OK", "", &format!("<p>item=a/{user}% </p>"))
        }
        (path, Some(user)) if path == format!("/order/a%2F{user}%25") => {
            let body: Value = serde_json::from_slice(&asked.body).unwrap();
            assert_eq!(body, json!({ "item": format!("a/{user}%") }));
            let headers = "Content-Type: application/json\r\n";
            answer("200 OK", headers, &json!({ "paid": true }).to_string())
        }
        _ => answer("401 Unauthorized", "", ""),
    }
}

/// Returns the path of the data file. The file is written only once, because tests that run in parallel read it.
fn users() -> String {
    static FILE: OnceLock<String> = OnceLock::new();
    let rows = USERS.map(|user| format!("\"{}\"\n", user.replace('"', "\"\"")));
    FILE.get_or_init(|| written("scenario-users.csv", format!("user\n{}", rows.concat()))).clone()
}

fn run(file: &str, options: &[&str]) -> Output {
    let line = format!("--scenario {file} --rate 200/s --json -");
    nanopace(&line).args(options).output().unwrap()
}

fn labels(results: &Value) -> BTreeMap<String, (u64, u64)> {
    let count = |label: &Value, name: &str| label[name].as_u64().unwrap();
    let labels = results["labels"].as_object().unwrap().iter();
    labels.map(|(it, l)| (it.clone(), (count(l, "completed"), count(l, "failed")))).collect()
}

#[test]
fn values_taken_from_a_response_are_in_the_next_requests() {
    let (address, asked) = server::answering(shop);
    let file = written("shop.toml", SHOP.replace("URL", &format!("http://{address}")));
    let output = run(&file, &["-n", "40", "-c", "4", "--data", &users()]);
    assert!(output.status.success(), "{output:?}");
    let results = object(&output);
    assert_eq!((&results["completed"], &results["failed"]), (&40.into(), &0.into()), "{results}");
    let expected = [
        ("browse", 10),
        ("buy", 30),
        ("front page", 10),
        ("log in", 30),
        ("look", 30),
        ("order", 30),
    ];
    let expected = expected.map(|(label, count)| (label.to_owned(), (count, 0)));
    assert_eq!(labels(&results), expected.into());
    assert_eq!(results["statuses"], json!({"200": 70, "201": 30}), "{results}");
    let asked: Vec<_> = asked.try_iter().collect();
    let of = |path: &str| asked.iter().filter(|it| it.first.contains(path)).collect::<Vec<_>>();
    assert_eq!((of("PUT /login").len(), of("POST /order").len()), (31, 30));
    for login in of("PUT /login") {
        let slot: usize = login.header("x-slot").parse().unwrap();
        let body: Value = serde_json::from_slice(&login.body).unwrap();
        assert_eq!(body["user"], USERS[slot % USERS.len()]);
    }
    let dice = |asked: &&Asked| asked.first.split_once("dice=").unwrap().1.to_owned();
    let [first, second] =
        ["/login", "/carts"].map(|path| of(path).iter().map(dice).collect::<Vec<_>>());
    assert!(second.iter().all(|dice| !first.contains(dice)), "{first:?} {second:?}");
    // A scenario takes as long as its steps and think times together. A step is due when the previous think time ends.
    let longest = |times: &Value| times["max"].as_f64().unwrap();
    let order = longest(&results["labels"]["order"]["response_time_ns"]);
    let whole = longest(&results["labels"]["buy"]["response_time_ns"]);
    assert!(whole >= 0.98 * 20e6 && order <= 1.02 * (whole - 0.98 * 20e6), "{results}");
}

#[test]
fn a_step_that_fails_ends_its_scenario_and_is_counted_by_name() {
    let (address, asked) = server::answering(shop);
    let file = SHOP.replace("URL", &format!("http://{address}")).replace("weight = 3\n", "");
    let front = file.find("[[scenario]]\nname = \"browse\"").unwrap();
    let file = &file[..front];
    for (from, to, failure, counts) in [
        ("equals = true", "equals = \"true\"", "order: check paid", [(12, 0), (12, 0), (0, 12)]),
        (
            "check.paid = {",
            "check.zeal = { json = \"/zeal\" }\ncheck.all = {",
            "order: check zeal",
            [(12, 0), (12, 0), (0, 12)],
        ),
        ("status = 201", "status = 200", "log in: check created", [(0, 12), (0, 0), (0, 0)]),
        (
            "{ regex = 'item=(\\S+)' }",
            "{ json = \"/item\" }",
            "look: take item (the body is no JSON)",
            [(12, 0), (0, 12), (0, 0)],
        ),
        ("item=(", "items=(", "look: take item", [(12, 0), (0, 12), (0, 0)]),
        (
            "Bearer {{token}}\"\ntake",
            "{{token}}\"\ntake",
            "look: status 401",
            [(12, 0), (0, 12), (0, 0)],
        ),
    ] {
        assert!(file.contains(from));
        let path = written("failing.toml", file.replacen(from, to, 1));
        let few = ["-n", "12", "-c", "3", "--fail-if", "errors <= 1%"];
        let output = run(&path, &[&few[..], &["--data", &users()]].concat());
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        let results = object(&output);
        assert_eq!(results["failures"], json!({ failure: 12 }), "{results}");
        assert_eq!(results["failed"], 12);
        let steps = ["log in", "look", "order"].map(str::to_owned);
        assert_eq!(labels(&results), steps.into_iter().zip(counts).collect(), "{failure}");
        assert_eq!(results["url"], format!("scenarios of {path}"));
        let ordered = asked.try_iter().filter(|it| it.first.contains("/order")).count();
        assert_eq!(ordered, if failure.starts_with("order") { 12 } else { 0 });
    }
}

#[test]
fn an_error_in_a_file_has_its_line_and_column() {
    let (address, asked) = server::server();
    let url = format!("http://{address}");
    let file = SHOP.replace("URL", &url);
    let data = users();
    for (from, to, told) in [
        ("weight = 3", "weight = 0", "line 4 column 10: write a weight of at least 1"),
        ("weight = 3", "wieght = 3", "line 4 column 1: unknown field `wieght`"),
        ("name = \"log in\"\n", "", "line 6 column 1: missing field `name`"),
        ("name = \"look\"", "name = \"order\"", "column 8: the name \"order\" occurs twice"),
        ("name = \"look\"", "name = \" \"", "line 17 column 8: this name is empty"),
        (
            "name = \"look\"",
            "name = \"a\\nb\"",
            "line 17 column 8: this name is empty, or contains a line break",
        ),
        ("\"PUT\"", "\"put\"", "line 8 column 10: \"put\" is not a method"),
        (
            "{{json user}}",
            "{{json usr}}",
            "line 11 column 8: body: column 10: \"usr\" is not a column",
        ),
        (
            "{{token}}\"\ntake",
            "{{tokn}}\"\ntake",
            "line 19 column 25: header authorization: column 8: \"tokn\"",
        ),
        (
            "/login?",
            "/login?{{item}}&",
            "line 9 column 7: path of the URL: column 8: \"item\" is not a placeholder",
        ),
        ("think = \"20ms\"", "think = \"20\"", "line 21 column 9: "),
        ("check.paid", "think = \"1s\"\ncheck.paid", "column 9: no step follows"),
        (
            "check.paid",
            "think = \"1\"\ncheck.paid",
            "column 9: \"1\" is not a time: time unit needed",
        ),
        ("check.paid", "think = \"-1s\"\ncheck.paid", "; write a time such as 1ms, or exp,"),
        ("think = \"20ms\"", "think = \"exp\"", "column 9: \"exp\" is not a time: write exp MEAN"),
        (
            "think = \"20ms\"",
            "think = \"25h\"",
            "line 21 column 9: a think time is at most one day",
        ),
        ("\"PUT\"", "\"CONNECT\"", "line 8 column 10: CONNECT opens a tunnel"),
        (
            "{ X-Slot = \"{{slot}}\" }",
            "{ Transfer-Encoding = \"chunked\" }",
            "line 10 column 33: leave transfer-encoding out: the length of the body determines",
        ),
        (
            "take.cart",
            "take.carts",
            "line 18 column 7: path of the URL: column 2: \"cart\" is not a column",
        ),
        ("take.cart", "take.user", "line 13 column 13: \"user\" is a column of --data"),
        ("take.cart", "take.slot", "{{slot}} is built in"),
        ("take.cart", "take.'a b'", "\"a b\" is not a name"),
        ("{ json = \"/a/token\" }", "{ json = \"a\" }", "line 12 column 14: write header ="),
        ("{ json = \"/a/token\" }", "{ json = \"/a~2\" }", "line 12 column 14: write header ="),
        ("equals = true", "equals = nan", "or, with json and without regex, also a number"),
        ("{ json = \"/a/token\" }", "{ status = 200 }", "line 12 column 14: write header ="),
        (
            "{ json = \"/a/token\" }",
            "{ pointer = \"/a\" }",
            "line 12 column 16: unknown field `pointer`",
        ),
        ("{ regex = 'item=(\\S+)' }", "{ regex = '(' }", "line 20 column 13: regex parse error"),
        ("{ status = 201 }", "{ status = 201, equals = 1 }", "write only a status, from 100"),
        ("equals = true", "equals = [1]", "or, with json and without regex, also a number"),
        ("equals = true", "equals = \"{{usr}}\"", "equals: column 1: \"usr\" is not a placeholder"),
        ("equals = true", "equals = \"{{uuid}}\"", "equals cannot contain random values"),
        (
            "headers.Authorization = \"Bearer {{token}}\"\ntake",
            "headers.Host = \"{{token}}\"\ntake",
            "this header can't contain a value taken from a response",
        ),
    ] {
        assert!(file.contains(from), "{from}");
        let path = written("wrong.toml", file.replacen(from, to, 1));
        let stderr = refusal(run(&path, &["--data", &data, "-n", "1"]));
        let is_told =
            stderr.starts_with("error: --scenario: ") && stderr.contains("wrong.toml line ");
        assert!(is_told && stderr.contains(told), "{from} -> {to}: {stderr}");
    }
    let unused = file.replace("{{raw cart}}", "x");
    let stderr = refusal(run(&written("wrong.toml", &unused), &["--data", &data]));
    let told = "line 13 column 13: no later step contains {{cart}}";
    assert!(stderr.contains(told), "{stderr}");
    let stderr = refusal(run(&written("wrong.toml", &file), &["--data", &data, "--items", "sse"]));
    assert!(stderr.contains("cannot be used with"), "{stderr}");
    assert_eq!(asked.try_iter().count(), 0);
}

#[test]
fn other_files_are_rejected_as_scenarios() {
    for (text, told) in [
        ("", "the file has no scenarios; write [[scenario]]"),
        ("scenario = [1]", "expected [[scenario]]"),
        ("[[scenario]]\nname = \"a\"\nstep = [1]", "expected [[scenario.step]]"),
        ("scenario = []", "the file has no scenarios"),
        ("[[scenario]]\nname = \"a\"", "line 2 column 8: this scenario has no steps"),
        ("[[scenario]\n", "line 1 column "),
    ] {
        let stderr = refusal(run(&written("no-file.toml", text), &[]));
        assert!(stderr.contains(told) && stderr.contains(" line "), "{text}: {stderr}");
    }
    let path = written("no-file.toml", "");
    fs::write(&path, b"[[scenario]]\nname = \"\xff\"").unwrap();
    let stderr = refusal(run(&path, &[]));
    assert!(stderr.contains("no-file.toml line 2 column 9: this is not UTF-8"), "{stderr}");
}

#[test]
fn responses_are_compared_with_filled_values() {
    let doubled = |asked: &Asked| {
        let (_, query) = asked.first.split_once('?').unwrap();
        let number: u64 = query.split(' ').next().unwrap().parse().unwrap();
        let body = json!({ "twice": 2 * number, "text": format!("<{number}>") }).to_string();
        answer("200 OK", &format!("X-Twice: {}\r\n", 2 * number), &body)
    };
    let (address, _asked) = server::answering(doubled);
    let twice = [0, 2, 4, 6, 8, 10, 12, 15, 16, 18];
    let rows = (0..10).map(|n| format!("{n},{}\n", twice[n])).collect::<Vec<_>>().concat();
    let data = written("compared.csv", format!("n,twice\n{rows}"));
    let text = format!(
        "[[scenario]]\nname = \"two\"\n[[scenario.step]]\nname = \"one\"\nurl = \"http://{address}/?{{{{n}}}}\"\n\
         take.double = {{ header = \"x-twice\" }}\n\
         check.json = {{ json = \"/twice\", equals = \"{{{{twice}}}}\" }}\n\
         check.text = {{ json = \"/text\", equals = \"<{{{{slot}}}}>\" }}\n\
         [[scenario.step]]\nname = \"other\"\nurl = \"http://{address}/?{{{{n}}}}\"\n\
         check.taken = {{ regex = 'twice\":([0-9]*)', equals = \"{{{{double}}}}\" }}\n"
    );
    let output = run(&written("compared.toml", &text), &["--data", &data, "-n", "10"]);
    let results = object(&output);
    assert_eq!(results["failures"], json!({ "one: check json": 1 }), "{results}");
    assert_eq!(labels(&results), [("one".into(), (9, 1)), ("other".into(), (9, 0))].into());
}

#[test]
fn values_are_taken_from_http2_responses() {
    let target = Target::start("--target-body 10");
    let url = &target.url;
    let text = format!(
        "[[scenario]]\nname = \"two\"\n[[scenario.step]]\nname = \"one\"\nurl = \"{url}\"\n\
         take.length = {{ header = \"content-length\" }}\ntake.all = {{ regex = \".*\" }}\n\
         [[scenario.step]]\nname = \"other\"\nurl = \"{url}{{{{length}}}}?{{{{all}}}}\"\n\
         check.ten = {{ header = \"content-length\", equals = \"10\" }}\ncheck.of = {{ status = 200 }}\n"
    );
    let file = written("http2.toml", &text);
    let output = run(&file, &["-n", "20", "--http2"]);
    let results = object(&output);
    assert_eq!(
        (&results["completed"], &results["failures"]),
        (&20.into(), &json!({})),
        "{results}"
    );
    let expected = ["one", "other"].map(|name| (name.to_owned(), (20, 0)));
    assert_eq!(labels(&results), expected.into());
}

#[cfg(unix)]
#[test]
fn the_finished_steps_of_an_abandoned_scenario_are_counted() {
    use crate::command::signal;
    use std::io::{BufRead, Read};
    let first_only = |asked: &Asked| {
        let is_first = asked.first.contains("/first");
        if is_first { answer("200 OK", "", "") } else { String::new() }
    };
    let (address, _asked) = server::answering(first_only);
    let step = |name: &str| {
        format!("[[scenario.step]]\nname = \"{name}\"\nurl = \"http://{address}/{name}\"\n")
    };
    let text = format!("[[scenario]]\nname = \"two\"\n{}{}", step("first"), step("second"));
    let file = written("given-up.toml", &text);
    let load = "--rate 100/s -n 4 -c 4 --timeout 10min --json -";
    let (child, mut progress) = at_work(&format!("--scenario {file} {load}"));
    for _ in 0..2 {
        signal(child.id(), "-INT");
        progress.errors.read_line(&mut progress.said).unwrap();
    }
    progress.errors.read_to_string(&mut progress.said).unwrap();
    let output = child.wait_with_output().unwrap();
    let results = object(&output);
    assert_eq!((&results["started"], &results["unfinished"]), (&4.into(), &4.into()), "{results}");
    assert_eq!(output.status.code(), Some(4), "{results}");
    let expected = [("first".to_owned(), (4, 0)), ("second".to_owned(), (0, 0))];
    assert_eq!(labels(&results), expected.into());
}

#[test]
fn lateness_from_think_times_is_attributed_to_them() {
    let (address, _asked) = server::answering(|_| answer("200 OK", "", ""));
    let text = format!(
        "[[scenario]]\nname = \"two\"\n[[scenario.step]]\nname = \"one\"\nurl = \"http://{address}\"\n\
         think = \"500ms\"\n[[scenario.step]]\nname = \"other\"\nurl = \"http://{address}\"\n"
    );
    let file = written("thinking.toml", &text);
    let (output, machine) = watched(|| run(&file, &["-n", "20", "-c", "2"]));
    let is_verdict = object(&output)["verdict"] == "think-times";
    let report = String::from_utf8(output.stderr).unwrap();
    let is_advice = report.contains("advice    raise --connections: this rate keeps about ");
    assert_unless_busy(is_verdict && is_advice, machine, &report);
    let output = run(&written("thinking.toml", text.replace("500ms", "0s")), &["-n", "20"]);
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_scenario_of_one_step_has_its_label() {
    let (address, _asked) = server::answering(|_| answer("200 OK", "", ""));
    let text = format!(
        "[[scenario]]\nname = \"one\"\n[[scenario.step]]\nname = \"only\"\nurl = \"http://{address}\"\n"
    );
    let file = written("only.toml", &text);
    let ran = || object(&run(&file, &["-n", "3"]));
    let first = ran();
    assert_eq!(labels(&first), [("only".to_owned(), (3, 0))].into());
    assert_eq!(ran()["scenario_hash"], first["scenario_hash"]);
    fs::write(&file, format!("{text}# another\n")).unwrap();
    assert_ne!(ran()["scenario_hash"], first["scenario_hash"]);
}

#[test]
fn the_example_of_the_manual_is_accepted() {
    let page = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/run/how-to.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, rest) = page.split_once("```toml\n[[scenario]]").unwrap();
    let text = format!("[[scenario]]{}", rest.split_once("```").unwrap().0);
    assert!(text.lines().count() <= 15);
    let (address, _asked) = server::answering(|asked| {
        let is_paid = asked.header("authorization") == "Bearer x";
        answer("200 OK", "", &json!({"token": "x", "paid": is_paid}).to_string())
    });
    let file = written("manual.toml", text.replace("127.0.0.1:8080", &address));
    let load = |requirement| {
        let data = users();
        run(&file, &["-n", "4", "-c", "4", "--data", &data, "--fail-if", requirement])
    };
    let missed = load(r#"completed of "order" > 4"#);
    assert_eq!(missed.status.code(), Some(3), "{missed:?}");
    let output = load(r#"completed of "order" = 4"#);
    assert!(output.status.success(), "{output:?}");
    let expected = ["log in", "order"].map(|name| (name.to_owned(), (4, 0)));
    assert_eq!(labels(&object(&output)), expected.into());
}
