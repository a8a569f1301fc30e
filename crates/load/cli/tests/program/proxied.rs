//! Tests requests through a proxy. The proxy opens tunnels to servers, and responds to plain requests itself.

use crate::command::{nanopace, object, scratch};
#[cfg(feature = "target-tls")]
use crate::running::unreachable;
use crate::server::serving;
use serde_json::Value;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Shutdown, TcpStream};
use std::process::Output;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

/// The user and the password in the example of RFC 7617.
const USER: &str = "Aladdin:open%20sesame";
const LOGGED_IN: &str = "proxy-authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n";

const WARNING: &str = "requests went through a proxy: times include its delays";

fn proxy() -> (String, Receiver<String>) {
    let (sender, heads) = mpsc::channel();
    let address = serving(move |stream, _| serve(stream, &sender));
    (address, heads)
}

fn serve(mut client: TcpStream, heads: &Sender<String>) -> io::Result<()> {
    let mut requests = BufReader::new(client.try_clone()?);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if requests.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        let head = head.replace("Proxy-Authorization", "proxy-authorization");
        let _ = heads.send(head.clone());
        let place = head.strip_prefix("CONNECT ").and_then(|rest| rest.split(' ').next());
        match place {
            None => client.write_all(b"HTTP/1.1 204 No Content\r\n\r\n")?,
            Some(_) if !head.contains(LOGGED_IN) => {
                client.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")?;
                return client.shutdown(Shutdown::Both);
            }
            Some(place) => {
                let server = TcpStream::connect(place)?;
                client.write_all(b"HTTP/1.1 200 Connection established\r\nvia: us\r\n\r\n")?;
                return both_ways(client, server);
            }
        }
    }
}

fn both_ways(client: TcpStream, server: TcpStream) -> io::Result<()> {
    let (mut to_client, mut from_server) = (client.try_clone()?, server.try_clone()?);
    thread::spawn(move || {
        let _ = io::copy(&mut from_server, &mut to_client);
        let _ = to_client.shutdown(Shutdown::Write);
    });
    let (mut from_client, mut to_server) = (client, server);
    io::copy(&mut from_client, &mut to_server)?;
    to_server.shutdown(Shutdown::Write)
}

fn run(options: &str) -> Output {
    let few = "run --rate 1k/s --requests 12 -c 2 --json -";
    nanopace(&format!("{few} {options}")).output().unwrap()
}

fn results(options: &str) -> Value {
    let results = object(&run(options));
    assert_eq!(results["completed"], 12, "{options}: {results}");
    assert!(results["warnings"].as_array().unwrap().contains(&WARNING.into()), "{results}");
    assert!(!results.to_string().contains("sesame"), "{results}");
    results
}

#[test]
fn a_proxy_gets_the_whole_url() {
    let (address, heads) = proxy();
    let page = scratch("proxied.html");
    let options = format!("--proxy http://{USER}@{address} --html {}", page.display());
    let urls = ["http://example.invalid:81/a?b=c", "http://example.invalid:81/a?b={{slot}}"];
    for (url, is_filled) in urls.into_iter().zip([false, true]) {
        results(&format!("--url {url} {options}"));
        let heads: Vec<_> = heads.try_iter().collect();
        assert_eq!(heads.len(), 13);
        for head in heads {
            assert!(head.starts_with("GET http://example.invalid:81/a?b="), "{head}");
            assert!(is_filled || head.contains("?b=c HTTP/1.1\r\n"), "{head}");
            assert!(head.contains("\r\nhost: example.invalid:81\r\n"), "{head}");
            assert_eq!(head.matches(LOGGED_IN).count(), 1, "{head}");
        }
    }
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains(WARNING) && !page.contains("sesame"));
}

#[test]
fn the_report_of_a_search_warns_of_the_proxy() {
    let (address, _heads) = proxy();
    let steps = "search --from 500/s --max-steps 1 --step 200ms --until \"p50 wait < 1h\" --json -";
    let search = format!("{steps} --url http://example.invalid/ --proxy {address}");
    let output = nanopace(&search).output().unwrap();
    let results = object(&output);
    assert_eq!(results["warnings"], serde_json::json!([WARNING]));
    let report = String::from_utf8_lossy(&output.stderr);
    assert!(report.contains(&format!("\nwarning   {WARNING}\n")), "{report}");
}

#[cfg(feature = "target-tls")]
#[test]
fn servers_with_tls_are_reached_through_a_tunnel() {
    let (address, heads) = proxy();
    for options in ["", "--http2", "--http2 --streams 2"] {
        let results = results(&format!("--target-tls --proxy http://{USER}@{address}/ {options}"));
        assert_eq!(results["statuses"]["200"], 12, "{results}");
        assert!(results["tls_time_ns"]["count"].as_u64() > Some(0), "{results}");
        for head in heads.try_iter() {
            let (first, _) = head.split_once("\r\n").unwrap();
            assert!(
                first.starts_with("CONNECT localhost:") || first.starts_with("CONNECT 127.0.0.1:"),
                "{head}"
            );
            assert_eq!(head.matches(LOGGED_IN).count(), 1, "{head}");
        }
    }
    let stderr = unreachable(run(&format!("--target-tls --proxy {address}")));
    assert!(stderr.contains("the proxy opens no way to the server: status 407"), "{stderr}");
}
