//! Tests servers with several addresses, some of which do not respond.

use crate::command::{nanopace, object};
use crate::running::{Target, side_by_side, unreachable};
use serde_json::Value;

struct Server {
    target: Target,
    port: u16,
}

impl Server {
    fn start(options: &str) -> Server {
        let target = Target::start(options);
        let authority = target.url.split('/').nth(2).unwrap();
        let port = authority.rsplit(':').next().unwrap().parse().unwrap();
        Server { target, port }
    }

    fn at(&self, addresses: &str) -> String {
        let (scheme, _) = self.target.url.split_once(':').unwrap();
        format!("--url {scheme}://h.invalid:{}/ --resolve {}", self.port, self.resolve(addresses))
    }

    fn resolve(&self, addresses: &str) -> String {
        format!("h.invalid:{}:{addresses}", self.port)
    }
}

fn results(options: &str) -> Value {
    let output = nanopace(&format!("run --rate 1k/s -n 50 --json - {options}")).output().unwrap();
    let results = object(&output);
    let counts = ["completed", "failed"].map(|name| results[name].as_u64().unwrap());
    assert_eq!((output.status.code(), counts), (Some(0), [50, 0]), "{options}: {output:?}");
    results
}

fn names_the_other(results: &Value, port: u16) -> bool {
    let warnings = results["warnings"].as_array().unwrap();
    let told: Vec<_> = warnings
        .iter()
        .filter_map(Value::as_str)
        .filter(|told| told.starts_with("h.invalid:"))
        .collect();
    told.len() == 1 && told[0].contains(&format!("[::1]:{port} accepted no connection ("))
}

/// The server listens on 127.0.0.1. Connections to `::1` are refused, or fail because this machine has no IPv6.
#[test]
fn requests_are_answered_if_one_address_of_several_answers() {
    let plain = Server::start("");
    #[cfg(feature = "target-tls")]
    let with_tls = Server::start("--target-tls");
    side_by_side(
        [
            (&plain, "127.0.0.1,::1", ""),
            (&plain, "::1,127.0.0.1", "--disable-keepalive"),
            (&plain, "::1,127.0.0.1,2001:db8::1", "-c 1 --connection-requests 5"),
            (&plain, "::1,127.0.0.1", "--http2 --streams 4"),
            #[cfg(feature = "target-tls")]
            (&with_tls, "::1,127.0.0.1", "--insecure"),
            #[cfg(feature = "target-tls")]
            (&with_tls, "::1,127.0.0.1,2001:db8::1", "--insecure --http2"),
        ],
        |(server, addresses, options)| {
            let results = results(&format!("{} {options}", server.at(addresses)));
            assert!(names_the_other(&results, server.port), "{addresses} {options}: {results}");
        },
    );
}

#[test]
fn a_proxy_and_a_search_use_the_other_address_too() {
    let server = Server::start("");
    let (port, resolve) = (server.port, server.resolve("127.0.0.1,::1"));
    let proxied =
        format!("--url http://other.invalid/ --proxy h.invalid:{port} --resolve {resolve}");
    assert!(names_the_other(&results(&proxied), port));
    let steps = "search --from 500/s --max-steps 1 --step 200ms --until \"p50 wait < 1h\" --json -";
    let search = format!("{steps} {}", server.at("::1,127.0.0.1"));
    let results = object(&nanopace(&search).output().unwrap());
    assert_eq!(results["steps"][0]["failures"], serde_json::json!({}), "{results}");
    assert!(names_the_other(&results, port), "{results}");
}

#[test]
fn if_no_address_responds_the_run_does_not_start_and_all_are_named() {
    let url = "run --url http://h.invalid:1/ --resolve h.invalid:1:127.0.0.1,::1";
    let told = unreachable(nanopace(url).output().unwrap());
    let begin = "error: no response from http://h.invalid:1/: connection refused (127.0.0.1:1: connection refused, ";
    assert!(told.starts_with(begin) && told.contains("[::1]:1: "), "{told}");
}
