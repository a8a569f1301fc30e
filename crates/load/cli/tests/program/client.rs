//! What the client sends, and to whom: headers, bodies, TLS, HTTP/2, sockets, files of requests.

use crate::refusal::unreachable;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;

fn nanopace(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nanopace"));
    command.arg("run").args(args).stdin(Stdio::null()).output().unwrap()
}

/// The results of a run of a few requests that must all succeed.
fn results(args: &[&str]) -> Value {
    let few = ["--rate", "1k/s", "--requests", "12", "--json", "-"];
    let output = nanopace(&[args, &few].concat());
    let results: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{args:?}: {error}: {output:?}"));
    assert_eq!(results["completed"], 12, "{args:?}: {results}");
    results
}

fn scratch(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Reads one request: its head, and a body of the length that it gives.
fn request(stream: &mut impl BufRead) -> Option<String> {
    let mut text = String::new();
    while !text.ends_with("\r\n\r\n") {
        if stream.read_line(&mut text).ok()? == 0 {
            return None;
        }
    }
    let length = text.to_ascii_lowercase().lines().find_map(|line| {
        line.strip_prefix("content-length:").map(|length| length.trim().parse().unwrap())
    });
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).ok()?;
    text.push_str(std::str::from_utf8(&body).unwrap());
    Some(text)
}

/// A server that tells which requests it got, and how many connections there were.
fn server() -> (String, Receiver<(usize, String)>) {
    server_that_answers("HTTP/1.1 204 No Content\r\n\r\n".to_owned())
}

fn server_that_answers(answer: String) -> (String, Receiver<(usize, String)>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (sender, requests) = mpsc::channel();
    thread::spawn(move || {
        for (number, stream) in listener.incoming().flatten().enumerate() {
            let (sender, answer) = (sender.clone(), answer.clone());
            thread::spawn(move || {
                let mut answers = stream.try_clone().unwrap();
                let mut stream = BufReader::new(stream);
                while let Some(text) = request(&mut stream) {
                    let _ = sender.send((number, text));
                    answers.write_all(answer.as_bytes()).unwrap();
                }
            });
        }
    });
    (address, requests)
}

#[test]
fn what_is_too_large_is_called_that() {
    let header = |number| format!("X-{number}: y\r\n");
    let headers: String = (0..50_000).map(header).collect();
    for answer in [headers, format!("X: {}\r\n", "y".repeat(1_000_000))] {
        let answer = format!("HTTP/1.1 204 No Content\r\n{answer}\r\n");
        let (address, _requests) = server_that_answers(answer);
        let output = nanopace(&["--url", &format!("http://{address}/")]);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(5), "{stderr}");
        assert!(stderr.contains("too many headers, or too long ones"), "{stderr}");
    }
}

#[test]
fn method_headers_and_body_are_sent_as_given() {
    let (address, requests) = server();
    let url = format!("http://{address}/a/b?c=d");
    results(&[
        "--url",
        &url,
        "-X",
        "PUT",
        "-H",
        "Accept: text/x",
        "-H",
        "X-Two: 1",
        "-H",
        "X-Two: 2",
        "--body",
        "hello",
        "-H",
        "User-Agent: me",
    ]);
    // The probe is one more.
    let requests: Vec<_> = requests.try_iter().map(|(_, text)| text.to_lowercase()).collect();
    assert_eq!(requests.len(), 13);
    for text in requests {
        assert!(text.starts_with("put /a/b?c=d http/1.1\r\n"), "{text}");
        assert!(text.ends_with("\r\n\r\nhello"), "{text}");
        for line in
            ["accept: text/x", "x-two: 1", "x-two: 2", "content-length: 5", "user-agent: me"]
        {
            assert_eq!(text.matches(&format!("\r\n{line}\r\n")).count(), 1, "{line}: {text}");
        }
        assert!(text.contains(&format!("\r\nhost: {address}\r\n")), "{text}");
        assert_eq!(text.matches("user-agent").count(), 1, "{text}");
    }
}

#[test]
fn no_body_has_a_length_where_one_is_usual() {
    for (method, length) in
        [("POST", Some("0")), ("PUT", Some("0")), ("PATCH", Some("0")), ("GET", None)]
    {
        let (address, requests) = server();
        results(&["--url", &format!("http://{address}/"), "-X", method]);
        for (_, text) in requests.try_iter() {
            let text = text.to_lowercase();
            let told = text.lines().find_map(|line| line.strip_prefix("content-length: "));
            assert_eq!(told, length, "{text}");
        }
    }
}

#[test]
fn over_http2_a_header_host_must_be_one() {
    for host in ["a b", "", "a/b"] {
        let output = nanopace(&["--http2", "--requests=1", "-H", &format!("Host: {host}")]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{host}: {error}");
        assert!(error.contains("is no host"), "{host}: {error}");
    }
}

#[test]
fn connections_are_kept_or_not() {
    // 12 requests and the probe; a connection may be open that was not needed.
    for (option, connections) in [("--connections=2", 1..=3), ("--disable-keepalive", 13..=30)] {
        let (address, requests) = server();
        results(&["--url", &format!("http://{address}/"), option]);
        let opened = requests.try_iter().map(|(number, _)| number).max().unwrap() + 1;
        assert!(connections.contains(&opened), "{option}: {opened}");
    }
}

#[test]
fn names_are_resolved_as_told() {
    let (address, requests) = server();
    let port = address.rsplit(':').next().unwrap();
    let url = format!("http://example.invalid:{port}/");
    results(&["--url", &url, "--resolve", &format!("example.invalid:{port}:127.0.0.1")]);
    let (_, text) = requests.try_iter().last().unwrap();
    assert!(text.contains(&format!("host: example.invalid:{port}\r\n")), "{text}");
}

/// The request before the run is not taken from them.
#[test]
fn a_run_begins_with_the_first_target() {
    let path = scratch("first.txt");
    let (address, requests) = server();
    let targets = ["a", "b", "c"].map(|name| format!("GET http://{address}/{name}\n\n")).concat();
    fs::write(&path, targets).unwrap();
    results(&["--targets", path.to_str().unwrap(), "-c", "1"]);
    let paths: Vec<_> = requests.try_iter().map(|(_, text)| text.as_bytes()[5]).collect();
    assert_eq!(paths, b"aabcabcabcabc");
}

/// So a load from several processes sends each request as often as one does alone.
#[test]
fn a_slot_has_the_same_target_whoever_starts_it() {
    let path = scratch("of-slots.txt");
    let (address, requests) = server();
    let targets = ["a", "b", "c"].map(|name| format!("GET http://{address}/{name}?x\n\n"));
    fs::write(&path, targets.concat()).unwrap();
    let paths = |options: &[&str]| -> Vec<u8> {
        results(&[&["--targets", path.to_str().unwrap(), "-c", "1"], options].concat());
        requests.try_iter().map(|(_, text)| text.as_bytes()[5]).collect()
    };
    // The first is the probe. The even slots, and the odd ones.
    for (options, expected) in [("1/2", b"aacbacbacbacb"), ("2/2", b"abacbacbacbac")] {
        assert_eq!(paths(&["--shard", options]), expected, "{options}");
    }
    // Those of the warm-up count.
    let warm = paths(&["--warmup", "4ms"]);
    assert_eq!(warm, b"aabcabcabcabcabca");
}

#[test]
fn targets_are_counted_apart_and_a_single_one_is_not() {
    let path = scratch("apart.txt");
    let (address, _requests) = server();
    let targets = ["a", "b"].map(|name| format!("GET http://{address}/{name}?x\n\n"));
    fs::write(&path, targets.concat()).unwrap();
    let csv = scratch("apart.csv");
    let options = ["--targets", path.to_str().unwrap(), "--csv", csv.to_str().unwrap()];
    let both = results(&options);
    let label = |name: &str| format!("GET http://{address}/{name} 204");
    for name in ["a", "b"] {
        let of = &both["labels"][label(name)];
        assert_eq!((&of["completed"], &of["failed"]), (&6.into(), &0.into()), "{both}");
    }
    let csv_text = fs::read_to_string(&csv).unwrap();
    assert!(csv_text.lines().next().unwrap().ends_with(",label"), "{csv_text}");
    assert!(csv_text.contains(&format!(",\"{}\"\n", label("a"))), "{csv_text}");
    let url = format!("http://{address}/");
    let one = results(&["--url", &url, "--csv", csv.to_str().unwrap()]);
    assert!(one["labels"].is_null(), "{one}");
    assert!(!fs::read_to_string(&csv).unwrap().contains("label"));
}

#[test]
fn targets_with_weights_are_sent_so_often() {
    let path = scratch("weights.txt");
    let (address, requests) = server();
    let targets = ["3x GET", "GET", "2x PUT"].map(|what| format!("{what} http://{address}/\n\n"));
    fs::write(&path, format!("{}GET http://{address}/last\n", targets.concat())).unwrap();
    // A round has seven.
    let options = ["--targets", path.to_str().unwrap(), "-n", "70", "--rate", "1k/s", "-c", "1"];
    assert!(nanopace(&options).status.success());
    let sent: Vec<_> = requests.try_iter().skip(1).map(|(_, text)| text).collect();
    let count = |begin: &str| sent.iter().filter(|text| text.starts_with(begin)).count();
    assert_eq!(
        (count("GET / "), count("PUT / "), count("GET /last "), sent.len()),
        (40, 20, 10, 70)
    );
}

#[test]
fn a_name_and_a_password_are_sent_and_not_shown() {
    let (address, requests) = server();
    let url = format!("http://{address}/");
    let page = scratch("basic.html");
    results(&["--url", &url, "-a", "Aladdin:open sesame", "--html", page.to_str().unwrap()]);
    // The example of RFC 7617.
    for (_, text) in requests.try_iter() {
        assert!(text.contains("authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n"), "{text}");
    }
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("basic-auth") && !page.contains("sesame"));
    let refused = nanopace(&["--url", &url, "-a", "Aladdin"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("write USER:PASSWORD"));
}

#[test]
fn a_connection_carries_so_many_requests() {
    let (address, requests) = server();
    let url = format!("http://{address}/");
    let results = results(&["--url", &url, "-c", "1", "--connection-requests", "5"]);
    assert_eq!(results["set_up_time_ns"]["count"], 3, "{results}");
    let mut carried = std::collections::BTreeMap::new();
    for (connection, _) in requests.try_iter() {
        *carried.entry(connection).or_insert(0) += 1;
    }
    // The first is the probe's.
    assert_eq!(carried.into_values().collect::<Vec<_>>(), [1, 5, 5, 2]);
}

#[test]
fn cookies_that_are_set_are_sent_back_by_their_connection() {
    let cookies = "Set-Cookie: a=1; Path=/x\r\nSet-Cookie: b=2; Max-Age=0\r\n";
    let (address, requests) =
        server_that_answers(format!("HTTP/1.1 204 No Content\r\n{cookies}\r\n"));
    for connection_requests in ["1", "100"] {
        let url = format!("http://{address}/");
        let options = ["--cookies", "-c", "3", "--connection-requests", connection_requests];
        results(&[&["--url", &url], &options[..]].concat());
        let sent: Vec<_> = requests.try_iter().collect();
        let first = sent.iter().filter(|(_, text)| !text.contains("cookie:")).count();
        let later = sent.iter().filter(|(_, text)| text.contains("\r\ncookie: a=1\r\n")).count();
        // The probe has none either, and its cookies are nobody's.
        assert!((2..=4).contains(&first) && first + later == 13, "{sent:?}");
    }
    let output = nanopace(&["--url", "http://127.0.0.1:1/", "--cookies", "-H", "Cookie: c=3"]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("--cookies and a header cookie: leave one of them out"), "{told}");
}

/// How many connections are open at once is known by what it took to open them.
#[test]
fn requests_in_flight_share_connections_of_http2() {
    let opened = |options: &[&str]| {
        let results =
            results(&[&["--http2", "--target-latency", "20ms", "-c", "8"], options].concat());
        let bytes = ["bytes_read", "bytes_written"].map(|name| results[name].as_u64().unwrap());
        (results["set_up_time_ns"]["count"].as_u64().unwrap(), bytes)
    };
    let one_thread = ["--threads", "1", "--streams"];
    let with = |streams| opened(&[&one_thread[..], &[streams]].concat());
    let (alone, bytes_alone) = with("1");
    let (shared, bytes_shared) = with("4");
    assert_eq!((alone, shared, with("8").0, with("100").0), (8, 2, 1, 1));
    assert_eq!(opened(&["--threads", "2", "--streams", "8"]).0, 2);
    // Each answer is counted once, and what opens a connection is less where there are fewer.
    assert!(bytes_shared[0] < bytes_alone[0] && bytes_shared[1] < bytes_alone[1]);
    // Where the date changes meanwhile, each connection that answers twice tells it anew: a tenth more.
    assert!(bytes_shared[0] * 5 > bytes_alone[0] * 2, "{bytes_shared:?} {bytes_alone:?}");
}

#[test]
fn a_connection_is_used_until_it_is_so_old() {
    for options in [&["--connection-age"][..], &["--http2", "--connection-age"]] {
        let opened = |age| {
            let results = results(&[&["-c", "1"], options, &[age]].concat());
            results["set_up_time_ns"]["count"].as_u64().unwrap()
        };
        assert_eq!((opened("1ns"), opened("1h")), (13, 1));
    }
}

/// The server would wait for the rest, or take it for the next request.
#[test]
fn a_length_that_is_not_that_of_the_body_is_refused() {
    let (address, requests) = server();
    let url = format!("http://{address}/");
    let path = scratch("length.txt");
    fs::write(&path, format!("GET {url}\nContent-Length: 3\n\n")).unwrap();
    for args in [
        &["--url", &url, "-d", "body", "-H", "Content-Length: 5"][..],
        &["--url", &url, "-H", "Content-Length: 5"],
        &["--url", &url, "-d", "body", "-H", "content-length: four"],
        &["--targets", path.to_str().unwrap()],
    ] {
        let output = nanopace(args);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(told.contains("the header Content-Length says"), "{args:?}: {told}");
        assert_eq!(output.status.code(), Some(2), "{args:?}");
    }
    assert_eq!(requests.try_iter().count(), 0);
    results(&["--url", &url, "-d", "body", "-H", "Content-Length: 4"]);
}

#[test]
fn a_file_of_targets_is_sent_round_and_round() {
    let ((one, first), (two, second)) = (server(), server());
    let (path, body) = (scratch("targets.txt"), scratch("body.txt"));
    fs::write(&body, "from a file").unwrap();
    let text = format!(
        "GET http://{one}/x\nX-Own: yes\n\nPOST http://{two}/y\n@{}\n\nGET http://{one}/z\n",
        body.display()
    );
    fs::write(&path, text).unwrap();
    results(&["--targets", path.to_str().unwrap(), "-H", "X-All: yes"]);
    let count = |requests: &[String], part: &str| {
        requests.iter().filter(|text| text.contains(part)).count()
    };
    let first: Vec<String> = first.try_iter().map(|(_, text)| text).collect();
    let second: Vec<String> = second.try_iter().map(|(_, text)| text).collect();
    // 12 and the probe, which is the first one.
    assert_eq!((count(&first, "GET /x"), count(&first, "GET /z"), second.len()), (5, 4, 4));
    assert_eq!((count(&first, "x-own: yes"), count(&second, "x-own: yes")), (5, 0));
    assert_eq!((count(&first, "x-all: yes"), count(&second, "x-all: yes")), (9, 4));
    assert_eq!(count(&second, "\r\n\r\nfrom a file"), 4);
}

#[test]
fn the_embedded_target_speaks_everything() {
    for options in [
        &["--http2"][..],
        #[cfg(feature = "target-tls")]
        &["--target-tls"],
        #[cfg(feature = "target-tls")]
        &["--target-tls", "--http2"],
        #[cfg(feature = "target-tls")]
        &["--target-tls", "--insecure", "--disable-keepalive"],
    ] {
        let results = results(options);
        let tls = results["tls_time_ns"]["count"].as_u64().unwrap();
        assert_eq!(tls > 0, options.contains(&"--target-tls"), "{results}");
        assert_eq!(results["statuses"]["200"], 12, "{results}");
        assert!(results["bytes_read"].as_u64().unwrap() > 12 * 3, "{results}");
    }
}

#[cfg(feature = "target-tls")]
#[test]
fn a_certificate_that_nobody_trusts_is_refused() {
    // A target of another process, whose certificate is its own.
    let options = ["run", "--target-tls", "--rate", "10", "--duration", "10min"];
    let mut target = Command::new(env!("CARGO_BIN_EXE_nanopace"))
        .args(options)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut title = String::new();
    BufReader::new(target.stderr.take().unwrap()).read_line(&mut title).unwrap();
    let url = title.split_whitespace().next().unwrap();
    let refused = nanopace(&["--url", url, "--requests", "1"]);
    results(&["--url", url, "--insecure"]);
    target.kill().unwrap();
    target.wait().unwrap();
    let told = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(5), "{told}");
    assert!(told.contains("--cacert") || told.contains("no trusted certificates"), "{told}");
}

#[cfg(unix)]
#[test]
fn a_unix_socket_takes_the_place_of_the_address() {
    use std::os::unix::net::UnixListener;
    let path = std::env::temp_dir().join(format!("nanopace-{}.sock", std::process::id()));
    let listener = UnixListener::bind(&path).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut answers = stream.try_clone().unwrap();
                let mut stream = BufReader::new(stream);
                while request(&mut stream).is_some_and(|text| text.contains("host: here\r\n")) {
                    answers.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
                }
            });
        }
    });
    results(&["--url", "http://here/", "--unix-socket", path.to_str().unwrap()]);
    fs::remove_file(path).unwrap();
}

/// Hangs up on each connection after its first answer, without a word about it: the end of the connection
/// is in the same packet, so it is there before the next request.
#[cfg(target_os = "linux")]
#[test]
fn a_server_that_closes_idle_connections_costs_no_failure() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                rustix::net::sockopt::set_tcp_cork(&stream, true).unwrap();
                if request(&mut reader).is_some() {
                    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").unwrap();
                }
            });
        }
    });
    let few = ["--url", &url, "--rate", "20/s", "-c", "1", "--requests", "8", "--json", "-"];
    let output = nanopace(&few);
    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&results["completed"], &results["failed"]), (&8.into(), &0.into()), "{results}");
    assert_eq!(results["set_up_time_ns"]["count"], 8, "{results}");
}

/// A run that sends requests to `host`, which is on this machine, with an environment that names
/// proxies; what it says on standard error.
fn told_with(host: &str, environment: &[(&str, &str)]) -> String {
    let (url, _requests) = server();
    let port = url.trim_end_matches('/').rsplit(':').next().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_nanopace"));
    let resolve = format!("{host}:{port}:127.0.0.1");
    command.args(["run", "--requests", "3", "--url", &format!("http://{host}:{port}/")]);
    command.args(["--resolve", &resolve]).stdin(Stdio::null());
    for name in ["http_proxy", "https_proxy", "all_proxy", "no_proxy"] {
        command.env_remove(name).env_remove(name.to_uppercase());
    }
    let output = command.envs(environment.iter().copied()).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{told}");
    told
}

/// Behind a proxy, that is so of every name.
#[test]
fn a_name_that_is_not_resolved_is_told_with_the_proxy_of_the_environment() {
    const ADVICE: &str = "; to go through what http_proxy names, give it as --proxy\n";
    for (name, is_told) in [("http_proxy", true), ("https_proxy", false)] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nanopace"));
        command.args(["run", "--url", "http://host.invalid/"]).stdin(Stdio::null());
        for variable in ["http_proxy", "https_proxy", "all_proxy", "no_proxy"] {
            command.env_remove(variable).env_remove(variable.to_uppercase());
        }
        command.env(name, "http://127.0.0.1:1/");
        let refused = unreachable(command.output().unwrap());
        assert!(refused.contains("cannot resolve \"host.invalid\": "), "{refused}");
        assert_eq!(refused.ends_with(ADVICE), is_told, "{refused}");
    }
}

#[test]
fn a_proxy_of_the_environment_is_not_used_and_told_once() {
    const PROXY: &str = "http://user:secret@127.0.0.1:1/";
    for (host, name, is_told) in [
        ("example.test", "HTTP_PROXY", true),
        ("example.test", "http_proxy", true),
        ("example.test", "ALL_PROXY", true),
        ("example.test", "HTTPS_PROXY", false),
        ("localhost", "HTTP_PROXY", false),
        ("127.0.0.1", "ALL_PROXY", false),
    ] {
        let told = told_with(host, &[(name, PROXY)]);
        let line = format!("{name} is not used: requests go to {host} itself");
        assert_eq!(told.matches(&line).count(), usize::from(is_told), "{host} {name}: {told}");
        assert!(!told.contains("secret"), "{told}");
    }
    for spared in ["example.test", "test", "other,.example.test", "*"] {
        let told = told_with("example.test", &[("HTTP_PROXY", PROXY), ("NO_PROXY", spared)]);
        assert!(!told.contains("is not used"), "{spared}: {told}");
    }
    assert!(!told_with("example.test", &[("HTTP_PROXY", "")]).contains("is not used"));
}
