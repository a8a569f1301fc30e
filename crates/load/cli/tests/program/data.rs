//! Tests requests that are filled with data: a server checks every value that it receives.

use crate::command::{nanopace, object};
use crate::running::{file, output_of, refusal};
use crate::server::{self, Asked};
use serde_json::Value;
use std::sync::mpsc::Receiver;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Got {
    path: String,
    user: String,
    body: String,
}

const USERS: [&str; 5] = ["ann", "b&b=c/d?e#f", "\"d\"", "größe %41", "e+f;g\\"];

fn users(name: &str) -> String {
    let quoted = USERS.map(|user| format!("\"{}\",{}\n", user.replace('"', "\"\""), user.len()));
    file(name, format!("user,size\n{}", quoted.concat()))
}

fn results(args: &[&str]) -> Value {
    let output = nanopace("").args(args).args(["--rate", "1k/s", "--json", "-"]).output().unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    object(&output)
}

struct Sent(Receiver<Asked>);

impl Sent {
    fn try_iter(&self) -> impl Iterator<Item = Got> {
        self.0.try_iter().map(Got::from)
    }
}

fn server() -> (String, Sent) {
    let (address, asked) = server::server();
    (format!("http://{address}"), Sent(asked))
}

impl From<Asked> for Got {
    fn from(asked: Asked) -> Got {
        let words: Vec<_> = asked.first.split(' ').collect();
        assert!(words.len() == 3 && words[2] == "HTTP/1.1", "{asked:?}");
        let usual = ["x-user", "content-length", "host", "user-agent", "x-all"];
        assert!(asked.headers.iter().all(|(name, _)| usual.contains(&&**name)), "{asked:?}");
        let [user, path, body] =
            [asked.header("x-user"), asked.path(), asked.text()].map(str::to_owned);
        Got { path, user, body }
    }
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        match first {
            b'%' => {
                let digits = std::str::from_utf8(&behind[..2]).unwrap();
                bytes.push(u8::from_str_radix(digits, 16).unwrap());
                rest = &behind[2..];
            }
            byte => {
                bytes.push(*byte);
                rest = behind;
            }
        }
    }
    String::from_utf8(bytes).unwrap()
}

#[test]
fn url_headers_and_body_have_the_values_of_the_slots_row() {
    let (url, got) = server();
    let data = users("slots.csv");
    let json = USERS.map(|user| {
        format!(
            "{{\"user\": {}, \"size\": {}}}\n",
            serde_json::to_string(user).unwrap(),
            user.len()
        )
    });
    let lines = file("slots.jsonl", json.concat());
    for data in [&data, &lines] {
        let url = format!("{url}/users/{{{{ user }}}}?slot={{{{slot}}}}&n={{{{random 1..6}}}}");
        let body = "{\"user\": {{json user}}, \"size\": {{size}}, \"at\": \"{{now}}\"}";
        let options =
            ["-H", "X-User: <{{user}}>", "-H", "X-All: yes", "-d", body, "-n", "40", "-c", "4"];
        results(&[&[url.as_str(), "--data", data], &options[..]].concat());
        let all: Vec<_> = got.try_iter().collect();
        let mut slots = Vec::new();
        for Got { path, user, body } in all {
            let (name, query) = path.strip_prefix("/users/").unwrap().split_once('?').unwrap();
            let (slot, dice) = query.strip_prefix("slot=").unwrap().split_once("&n=").unwrap();
            let slot: usize = slot.parse().unwrap();
            let expected = USERS[slot % USERS.len()];
            assert!((1..=6).contains(&dice.parse::<u8>().unwrap()), "{path}");
            assert!(!name.contains(['/', '?', '#', '&']), "{path}");
            assert_eq!(
                (decoded(name).as_str(), user),
                (expected, format!("<{expected}>")),
                "{path}"
            );
            let body: Value = serde_json::from_str(&body).unwrap();
            assert_eq!((&body["user"], &body["size"]), (&expected.into(), &expected.len().into()));
            slots.push(slot);
        }
        slots.sort_unstable();
        // The probe sends the request of the first slot, and the load sends it again for that slot.
        assert!(slots.into_iter().eq([0].into_iter().chain(0..40)));
    }
}

#[test]
fn all_shards_together_send_each_row_once() {
    let (url, got) = server();
    let rows: Vec<_> = (0..23).map(|row| row.to_string()).collect();
    let data = file("once.csv", format!("id\n{}\n", rows.join("\n")));
    let url = format!("{url}/{{{{id}}}}");
    for order in ["sequential", "shuffled"] {
        let mut sent: Vec<usize> = Vec::new();
        for shard in ["1/2", "2/2"] {
            let options = ["--data-end", "stop", "--data-order", order, "--seed", "5", "-c", "1"];
            let args = [&url, "--data", &data, "--shard", shard];
            let results = results(&[&args[..], &options].concat());
            let paths = got.try_iter().map(|got| got.path[1..].parse::<usize>().unwrap());
            let own: Vec<_> = paths.skip(1).collect();
            assert_eq!((own.len(), &results["completed"]), (own.len(), &own.len().into()));
            assert_eq!(own.is_sorted(), order == "sequential", "{own:?}");
            sent.extend(own);
        }
        sent.sort_unstable();
        assert!(sent.into_iter().eq(0..23), "{order}");
    }
}

#[test]
fn targets_are_filled_too_and_labels_are_not() {
    let (url, got) = server();
    let (data, body) = (users("of-targets.csv"), file("of-targets.txt", "{{user}}!"));
    let text = format!(
        "GET {url}/a/{{{{size}}}}\nX-User: {{{{user}}}}\n\nPOST {url}/b/{{{{random 7..7}}}}\n@{body}\n\nGET {url}/c\n",
    );
    let targets = file("of-targets-list.txt", text);
    let options = ["--data", &data, "-n", "15", "-c", "1"];
    let results = results(&[&["--targets", &targets], &options[..]].concat());
    for (slot, got) in got.try_iter().skip(1).enumerate() {
        let user = USERS[slot % USERS.len()];
        let expected = match slot % 3 {
            0 => (format!("/a/{}", user.len()), user, String::new()),
            1 => ("/b/7".to_owned(), "", format!("{user}!")),
            _ => ("/c".to_owned(), "", String::new()),
        };
        assert_eq!((got.path, got.user.as_str(), got.body), expected, "{slot}");
    }
    let labels: Vec<_> = results["labels"].as_object().unwrap().keys().cloned().collect();
    let expected = ["GET /a/{{size}}", "GET /c", "POST /b/{{random:7..7}}"];
    let expected =
        expected.map(|label| format!("{} 204", label.replace(" /", &format!(" {url}/"))));
    assert_eq!(labels, expected);
}

#[test]
fn errors_are_reported_before_the_first_request() {
    let (url, got) = server();
    let data = users("wrong.csv");
    let lines = file("wrong-lines.csv", "a,b\n1,2\n3,\"x\r\ny\"\n");
    let bytes = file("bytes.csv", b"a\nx\n\nx\xff\n");
    let dots = file("dots.csv", "a\nx\n..\n");
    let hosts = file("hosts.csv", "a\nx\na b\n");
    let of = |path: &str| format!("{url}/{path}");
    let targets = file("wrong-targets.txt", format!("GET {url}/\n\nGET {url}/{{{{usr}}}}\n"));
    for (args, told) in [
        (
            &[&of("{{usr}}"), "--data", &data][..],
            "path of the URL: column 2: \"usr\" is not a placeholder",
        ),
        (&[&of("{{user}}")], "for columns, write --data FILE"),
        (
            &[&of(""), "-d", "a{{sise}}", "--data", &data],
            "body: column 2: \"sise\" is not a placeholder",
        ),
        (&[&of(""), "-H", "X-User: {{a}}", "--data", &data], "header x-user: column 1: \"a\""),
        (
            &["--targets", &targets, "--data", &data],
            "wrong-targets.txt line 3 column 5: path of the URL: column 2: \"usr\"",
        ),
        (
            &[&of(""), "-H", "X-User: {{b}}", "--data", &lines],
            "--data: row 2 (line 3) column \"b\": \"x\\r\\ny\" can't be in a header",
        ),
        (&[&of("{{raw b}}"), "--data", &lines], "\"x\\r\\ny\" can't be in a URL without encoding"),
        (&[&of(""), "-d", "{{slot}}", "-H", "Content-Length: 1"], "leave Content-Length out"),
        (&[&of(""), "-H", "Transfer-Encoding: {{slot}}"], "this header can't contain placeholders"),
        (
            &[&of(""), "-d", "{{json a}}", "--data", &bytes],
            "\"x\u{fffd}\" can't be in a JSON string, because it is not UTF-8",
        ),
        (
            &[&of("users/{{a}}/x"), "--data", &dots],
            "--data: row 2 (line 3): with this row, a segment of the path is . or .., which changes the path",
        ),
        (
            &[&of(""), "-H", "Host: {{a}}.example.com", "--data", &hosts],
            "header host: --data: row 2 (line 3): \"a b.example.com\" is not a host",
        ),
        (&[&of(""), "-H", "Host: {{now}}"], " is not a host"),
        (
            &[&of(""), "-a", "ann:x", "-H", "authorization: Bearer y"],
            "--basic-auth and a header authorization are both given: leave one of them out",
        ),
        (&[&of(""), "--data-order", "random"], "--data"),
        (&[&of("{{a}}"), "--data", &lines, "--json", &lines], "--data reads this file"),
        (
            &["search", &of("{{a}}"), "--data", &lines, "--data-end", "stop"],
            "--data-end stop: a search",
        ),
    ] {
        let stderr = refusal(output_of(args));
        assert!(stderr.contains(told), "{args:?}: {stderr}");
    }
    assert_eq!(got.try_iter().count(), 0);
    results(&[&of("?{{a}}&{{raw a}}"), "--data", &dots, "-n", "2"]);
    got.try_iter().for_each(drop);
    results(&[&of("{{b}}"), "-d", "{{b}}", "--data", &lines, "-n", "2", "-c", "1"]);
    let last = got.try_iter().last().unwrap();
    assert_eq!((last.path.as_str(), last.body.as_str()), ("/x%0D%0Ay", "x\r\ny"));
}
