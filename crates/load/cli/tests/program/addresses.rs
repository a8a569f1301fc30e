//! Servers with several addresses, some of which do not answer.

use crate::beside::side_by_side;
use crate::refusal::unreachable;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

fn nanopace(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nanopace"));
    command.args(args).stdin(Stdio::null());
    command
}

fn object(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// The embedded target of another process. It listens on 127.0.0.1 alone.
struct Server {
    process: Child,
    port: u16,
}

impl Server {
    fn start(options: &[&str]) -> Server {
        let mut process = nanopace(&["run", "--rate", "1", "--duration", "1h"]);
        let mut process = process.args(options).stderr(Stdio::piped()).spawn().unwrap();
        let mut title = String::new();
        BufReader::new(process.stderr.take().unwrap()).read_line(&mut title).unwrap();
        let authority = title.split('/').nth(2).unwrap();
        let port = authority.rsplit(':').next().unwrap().parse().unwrap();
        Server { process, port }
    }

    /// The options of requests to a host with these addresses.
    fn at(&self, scheme: &str, addresses: &str) -> Vec<String> {
        let port = self.port;
        let url = format!("{scheme}://h.invalid:{port}/");
        vec!["--url".to_owned(), url, "--resolve".to_owned(), self.resolve(addresses)]
    }

    fn resolve(&self, addresses: &str) -> String {
        format!("h.invalid:{}:{addresses}", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The results of 50 requests that must all succeed.
fn results(args: &[String], options: &[&str]) -> Value {
    let few = ["run", "--rate", "1k/s", "-n", "50", "--json", "-"];
    let output = nanopace(&[&few, options].concat()).args(args).output().unwrap();
    let results = object(&output);
    let counts = ["completed", "failed"].map(|name| results[name].as_u64().unwrap());
    assert_eq!((output.status.code(), counts), (Some(0), [50, 0]), "{args:?}: {output:?}");
    results
}

/// Whether the only warning names this address as one that never answered.
fn names(results: &Value, address: &str) -> bool {
    let warnings = results["warnings"].as_array().unwrap();
    let named =
        warnings.iter().filter_map(Value::as_str).filter(|told| told.starts_with("h.invalid:"));
    let told: Vec<_> = named.collect();
    told.len() == 1 && told[0].contains(&format!("{address} never answered ("))
}

/// The other one refuses connections, or this machine has no IPv6.
#[test]
fn requests_are_answered_if_one_address_of_several_answers() {
    let plain = Server::start(&[]);
    #[cfg(feature = "target-tls")]
    let with_tls = Server::start(&["--target-tls"]);
    side_by_side(["127.0.0.1,::1", "::1,127.0.0.1", "::1,127.0.0.1,2001:db8::1"], |addresses| {
        for (server, scheme, options) in [
            (&plain, "http", &[][..]),
            (&plain, "http", &["--disable-keepalive"]),
            (&plain, "http", &["-c", "1", "--connection-requests", "5"]),
            (&plain, "http", &["--http2", "--streams", "4"]),
            #[cfg(feature = "target-tls")]
            (&with_tls, "https", &["--insecure"]),
            #[cfg(feature = "target-tls")]
            (&with_tls, "https", &["--insecure", "--http2"]),
        ] {
            let results = results(&server.at(scheme, addresses), options);
            let address = format!("[::1]:{}", server.port);
            assert!(names(&results, &address), "{addresses} {options:?}: {results}");
        }
    });
}

#[test]
fn a_proxy_and_a_search_use_the_other_address_too() {
    let server = Server::start(&[]);
    let proxy = format!("h.invalid:{}", server.port);
    let args = ["--url", "http://other.invalid/", "--proxy", &proxy, "--resolve"];
    let mut args = args.map(str::to_owned).to_vec();
    args.push(server.resolve("127.0.0.1,::1"));
    let address = format!("[::1]:{}", server.port);
    assert!(names(&results(&args, &[]), &address));
    let steps = ["search", "--from", "50/s", "--max-steps", "1", "--step", "200ms", "--json", "-"];
    let search = nanopace(&steps).args(server.at("http", "::1,127.0.0.1")).output().unwrap();
    let results = object(&search);
    assert_eq!(results["steps"][0]["failures"], serde_json::json!({}), "{results}");
    assert!(names(&results, &address), "{results}");
}

/// Attempts to connect to it get no reply.
#[cfg(target_os = "linux")]
#[test]
fn an_address_may_be_silent() {
    let server = Server::start(&[]);
    let silent = silence::at("127.0.0.2", server.port);
    for options in [&[][..], &["--disable-keepalive", "-c", "2"]] {
        let results = results(&server.at("http", "127.0.0.2,127.0.0.1"), options);
        assert!(names(&results, &format!("127.0.0.2:{}", server.port)), "{options:?}: {results}");
    }
    drop(silent);
}

#[test]
fn if_no_address_answers_the_run_does_not_start_and_all_are_named() {
    // Nothing listens on port 1.
    let url = ["run", "--url", "http://h.invalid:1/", "--resolve", "h.invalid:1:127.0.0.1,::1"];
    let told = unreachable(nanopace(&url).output().unwrap());
    let begin = "error: no answer from http://h.invalid:1/: connection refused (127.0.0.1:1: connection refused, ";
    assert!(told.starts_with(begin) && told.contains("[::1]:1: "), "{told}");
}

/// A listener whose queue is full: the kernel drops the SYN of each further connection.
#[cfg(target_os = "linux")]
mod silence {
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::time::Duration;

    pub(super) struct Silent {
        _listener: TcpListener,
        _waiting: Vec<TcpStream>,
    }

    pub(super) fn at(address: &str, port: u16) -> Silent {
        let listener = TcpListener::bind((address, port)).unwrap();
        rustix::net::listen(&listener, 0).unwrap();
        let address = listener.local_addr().unwrap();
        let waiting = std::iter::from_fn(|| connect(address)).collect();
        Silent { _listener: listener, _waiting: waiting }
    }

    /// None if there is no reply in a time that is long on one machine.
    fn connect(address: SocketAddr) -> Option<TcpStream> {
        TcpStream::connect_timeout(&address, Duration::from_secs(1)).ok()
    }
}
