//! Tests the HTTP client of the program: headers, TLS, HTTP/2, sockets, and files with requests.

use crate::command::{nanopace, object, scratch};
#[cfg(feature = "target-tls")]
use crate::running::Target;
use crate::running::{file, output, refusal, unreachable};
use crate::server::{Asked, server};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

fn results(options: &str) -> Value {
    let output = output(&format!("run --rate 1k/s --requests 12 --json - {options}"));
    let results = object(&output);
    assert_eq!(results["completed"], 12, "{options}: {output:?}");
    results
}

#[test]
fn a_slot_has_the_same_target_in_every_process() {
    let (address, asked) = server();
    let targets = ["a", "b", "c"].map(|name| format!("GET http://{address}/{name}?x\n\n"));
    let targets = file("of-slots.txt", targets.concat());
    // The probe sends the first target. The three cases send the even slots, the odd slots and all slots. In the last
    // case, the first four slots are the warm-up.
    for (options, expected) in [
        ("--shard 1/2", "aacbacbacbacb"),
        ("--shard 2/2", "abacbacbacbac"),
        ("--warmup 4ms", "aabcabcabcabcabca"),
    ] {
        results(&format!("--targets {targets} -c 1 {options}"));
        let paths: String = asked.try_iter().map(|asked| asked.path()[1..2].to_owned()).collect();
        assert_eq!(paths, expected, "{options}");
    }
}

#[test]
fn targets_are_counted_apart_and_a_single_one_is_not() {
    let (address, _asked) = server();
    let targets = ["a", "b"].map(|name| format!("GET http://{address}/{name}?x\n\n"));
    let (targets, csv) = (file("apart.txt", targets.concat()), file("apart.csv", ""));
    let both = results(&format!("--targets {targets} --csv {csv}"));
    let label = |name: &str| format!("GET http://{address}/{name} 204");
    for name in ["a", "b"] {
        let of = &both["labels"][label(name)];
        assert_eq!((&of["completed"], &of["failed"]), (&6.into(), &0.into()), "{both}");
    }
    let log = fs::read_to_string(&csv).unwrap();
    assert!(log.lines().next().unwrap().ends_with(",label"), "{log}");
    assert!(log.contains(&format!(",\"{}\"\n", label("a"))), "{log}");
    let one = results(&format!("--url http://{address}/ --csv {csv}"));
    assert!(one["labels"].is_null(), "{one}");
    assert!(!fs::read_to_string(&csv).unwrap().contains("label"));
}

#[test]
fn targets_are_sent_in_proportion_to_their_weights() {
    let (address, asked) = server();
    let targets = ["3x GET", "GET", "2x PUT"].map(|what| format!("{what} http://{address}/\n\n"));
    let targets = format!("{}GET http://{address}/last\n", targets.concat());
    let targets = file("weights.txt", targets);
    assert!(output(&format!("run --targets {targets} -n 70 --rate 1k/s -c 1")).status.success());
    let mut sent = BTreeMap::new();
    for Asked { first, .. } in asked.try_iter().skip(1) {
        *sent.entry(first.replace(" HTTP/1.1", "")).or_insert(0) += 1;
    }
    let sent: Vec<_> = sent.iter().map(|(first, count)| (first.as_str(), *count)).collect();
    assert_eq!(sent, [("GET /", 40), ("GET /last", 10), ("PUT /", 20)]);
}

#[test]
fn a_name_and_a_password_are_sent_and_not_shown() {
    let (address, asked) = server();
    let page = scratch("basic.html");
    results(&format!(
        "--url http://{address}/ -a \"Aladdin:open sesame\" --html {}",
        page.display()
    ));
    // This is the example of RFC 7617.
    let credentials = "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==";
    assert!(asked.try_iter().all(|asked| asked.header("authorization") == credentials));
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("basic-auth") && !page.contains("sesame"));
    let refused = refusal(output(&format!("run --url http://{address}/ -a Aladdin")));
    assert!(refused.contains("write USER:PASSWORD"), "{refused}");
}

#[test]
fn the_number_of_requests_on_a_connection_is_limited() {
    let (address, asked) = server();
    let results = results(&format!("--url http://{address}/ -c 1 --connection-requests 5"));
    assert_eq!(results["set_up_time_ns"]["count"], 3, "{results}");
    let mut carried = BTreeMap::new();
    for Asked { connection, .. } in asked.try_iter() {
        *carried.entry(connection).or_insert(0) += 1;
    }
    // The first connection is the probe's.
    assert_eq!(carried.into_values().collect::<Vec<_>>(), [1, 5, 5, 2]);
}

#[test]
fn cookies_that_are_set_are_sent_back_by_their_connection() {
    let cookies = "Set-Cookie: a=1; Path=/x\r\nSet-Cookie: b=2; Max-Age=0\r\n";
    let (address, asked) =
        crate::server::answering(move |_| format!("HTTP/1.1 204 No Content\r\n{cookies}\r\n"));
    for requests in [1, 100] {
        let options = format!("--cookies -c 3 --connection-requests {requests}");
        results(&format!("--url http://{address}/ {options}"));
        let sent: Vec<_> = asked.try_iter().map(|it| it.header("cookie").to_owned()).collect();
        let count = |value: &str| sent.iter().filter(|its| *its == value).count();
        let first = count("");
        assert!((2..=4).contains(&first) && first + count("a=1") == 13, "{sent:?}");
    }
    let told = refusal(output("run --url http://127.0.0.1:1/ --cookies -H \"Cookie: c=3\""));
    assert!(
        told.contains("--cookies and a header cookie are both given: leave one of them out"),
        "{told}"
    );
}

#[test]
fn requests_in_flight_share_connections_of_http2() {
    let opened = |options: &str| {
        let results = results(&format!("--http2 --target-latency 20ms -c 8 {options}"));
        let bytes = ["bytes_read", "bytes_written"].map(|name| results[name].as_u64().unwrap());
        (results["set_up_time_ns"]["count"].as_u64().unwrap(), bytes)
    };
    let (alone, bytes_alone) = opened("--threads 1 --streams 1");
    let (shared, bytes_shared) = opened("--threads 1 --streams 4");
    let threads = opened("--threads 2 --streams 8").0;
    assert_eq!((alone, shared, opened("--threads 1 --streams 100").0, threads), (8, 2, 1, 2));
    assert!(bytes_shared[0] < bytes_alone[0] && bytes_shared[1] < bytes_alone[1]);
    // Each response contains the date. If it changes between two responses, the new date takes about a tenth more
    // bytes.
    assert!(bytes_shared[0] * 5 > bytes_alone[0] * 2, "{bytes_shared:?} {bytes_alone:?}");
}

#[test]
fn a_connection_is_replaced_at_its_maximum_age() {
    for http2 in ["", "--http2"] {
        for (age, opened) in [("1ns", 13), ("1h", 1)] {
            let results = results(&format!("-c 1 {http2} --connection-age {age}"));
            assert_eq!(results["set_up_time_ns"]["count"], opened, "{http2} {age}: {results}");
        }
    }
}

#[test]
fn a_file_of_targets_is_sent_round_and_round() {
    let ((one, first), (two, second)) = (server(), server());
    let body = file("body.txt", "from a file");
    let targets = format!(
        "GET http://{one}/x\nX-Own: yes\n\nPOST http://{two}/y\n@{body}\n\nGET http://{one}/z\n"
    );
    results(&format!("--targets {} -H \"X-All: yes\"", file("targets.txt", targets)));
    let of = |asked: Asked| {
        let headers = ["x-own", "x-all"].map(|name| asked.header(name).to_owned());
        (asked.path().to_owned(), headers.concat(), asked.text().to_owned())
    };
    let (mut first, second): (Vec<_>, Vec<_>) =
        (first.try_iter().map(of).collect(), second.try_iter().map(of).collect());
    first.sort();
    let expected =
        |path: &str, headers: &str, body: &str| (path.into(), headers.into(), body.into());
    let expected_first =
        [vec![expected("/x", "yesyes", ""); 5], vec![expected("/z", "yes", ""); 4]].concat();
    assert_eq!(first, expected_first);
    assert_eq!(second, vec![expected("/y", "yes", "from a file"); 4]);
}

#[test]
fn the_embedded_target_speaks_everything() {
    for options in [
        "--http2",
        #[cfg(feature = "target-tls")]
        "--target-tls",
        #[cfg(feature = "target-tls")]
        "--target-tls --http2",
        #[cfg(feature = "target-tls")]
        "--target-tls --insecure --disable-keepalive",
    ] {
        let results = results(options);
        let tls = results["tls_time_ns"]["count"].as_u64().unwrap();
        assert_eq!(tls > 0, options.contains("--target-tls"), "{results}");
        assert_eq!(results["statuses"]["200"], 12, "{results}");
        assert!(results["bytes_read"].as_u64().unwrap() > 12 * 3, "{results}");
    }
}

#[cfg(feature = "target-tls")]
#[test]
fn an_untrusted_certificate_is_rejected() {
    let target = Target::start("--target-tls");
    let told = unreachable(output(&format!("run --url {} --requests 1", target.url)));
    assert!(told.contains("--cacert") || told.contains("no trusted certificates"), "{told}");
    results(&format!("--url {} --insecure", target.url));
}

#[cfg(unix)]
#[test]
fn a_unix_socket_replaces_the_address() {
    use std::io::{BufReader, Write};
    use std::os::unix::net::UnixListener;
    let path = std::env::temp_dir().join(format!("nanopace-{}.sock", std::process::id()));
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut requests = BufReader::new(stream.try_clone().unwrap());
                while let Some(asked) = Asked::read(&mut requests, 0) {
                    assert_eq!(asked.header("host"), "here");
                    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
                }
            });
        }
    });
    results(&format!("--url http://here/ --unix-socket {}", path.display()));
    fs::remove_file(path).unwrap();
}

fn with(line: &str, environment: &[(&str, &str)]) -> std::process::Output {
    let mut command = nanopace(line);
    for name in ["http_proxy", "https_proxy", "all_proxy", "no_proxy"] {
        command.env_remove(name).env_remove(name.to_uppercase());
    }
    command.envs(environment.iter().copied()).output().unwrap()
}

/// On a machine behind a proxy, names may not be resolvable.
#[test]
fn the_error_for_an_unresolved_name_mentions_the_proxy_of_the_environment() {
    const ADVICE: &str = "; to use the proxy that http_proxy names, give it as --proxy\n";
    for (name, is_told) in [("http_proxy", true), ("https_proxy", false)] {
        let environment = [(name, "http://127.0.0.1:1/")];
        let refused = unreachable(with("run --url http://host.invalid/", &environment));
        assert!(refused.contains("cannot resolve \"host.invalid\": "), "{refused}");
        assert_eq!(refused.ends_with(ADVICE), is_told, "{refused}");
    }
}

#[test]
fn a_proxy_of_the_environment_is_not_used_and_causes_one_warning() {
    const PROXY: &str = "http://user:secret@127.0.0.1:1/";
    let (address, _asked) = server();
    let port = address.rsplit(':').next().unwrap();
    for (host, name, value, no_proxy, is_told) in [
        ("example.test", "HTTP_PROXY", PROXY, "", true),
        ("example.test", "http_proxy", PROXY, "other.test", true),
        ("example.test", "ALL_PROXY", PROXY, "", true),
        ("example.test", "HTTPS_PROXY", PROXY, "", false),
        ("localhost", "HTTP_PROXY", PROXY, "", false),
        ("127.0.0.1", "ALL_PROXY", PROXY, "", false),
        ("example.test", "HTTP_PROXY", PROXY, "example.test", false),
        ("example.test", "HTTP_PROXY", PROXY, "test", false),
        ("example.test", "HTTP_PROXY", PROXY, "other,.example.test", false),
        ("example.test", "HTTP_PROXY", PROXY, "*", false),
        ("example.test", "HTTP_PROXY", "", "", false),
    ] {
        let url = format!("--url http://{host}:{port}/ --resolve {host}:{port}:127.0.0.1");
        let output = with(&format!("run -n 3 {url}"), &[(name, value), ("NO_PROXY", no_proxy)]);
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && !told.contains("secret"), "{told}");
        let line = format!("{name} is not used: requests go to {host} directly");
        assert_eq!(told.matches(&line).count(), usize::from(is_told), "{name} {no_proxy}: {told}");
    }
}
