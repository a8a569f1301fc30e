//! An HTTP server whose answers say how the client's limits stand, by the header fields `RateLimit`
//! and `RateLimit-Policy`. However many processes of it run, a client has one limit.
//!
//! ```text
//! cargo run -p nanopace-remote --example rate_limit_header -- redis://127.0.0.1/ 127.0.0.1:8080
//! curl -i http://127.0.0.1:8080/
//! ```

use nanopace_remote::{OnLoss, Remote, RemoteError, RemoteKeyed};
use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::{env, thread};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = env::args().skip(1);
    let url = arguments.next().unwrap_or_else(|| "redis://127.0.0.1/".to_owned());
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let clients = limiter(&Remote::connect(&url)?)?;
    serve(&TcpListener::bind(address)?, &clients);
    Ok(())
}

/// If the store is lost, this process lets in a fourth: there are four of them, say.
fn limiter(store: &Remote) -> Result<RemoteKeyed, RemoteError> {
    store.limits("5/m, 100/day fixed-window").on_loss(OnLoss::LocalShare(4)).build()
}

fn serve(listener: &TcpListener, clients: &RemoteKeyed) {
    for stream in listener.incoming().flatten() {
        let clients = clients.clone();
        thread::spawn(move || answer(&stream, &clients));
    }
}

/// Answers one request. The client is who connects.
fn answer(mut stream: &TcpStream, clients: &RemoteKeyed) -> io::Result<()> {
    let client = stream.peer_addr()?.ip().to_string();
    for line in BufReader::new(stream).lines() {
        if line?.is_empty() {
            break;
        }
    }
    stream.write_all(response(&client, clients).as_bytes())
}

fn response(client: &str, clients: &RemoteKeyed) -> String {
    let Ok(decision) = clients.decide(client) else {
        return "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n".to_owned();
    };
    let status = if decision.is_allowed() { "200 OK" } else { "429 Too Many Requests" };
    let retry = decision.retry_after().map(|seconds| format!("Retry-After: {seconds}\r\n"));
    format!(
        "HTTP/1.1 {status}\r\nRateLimit: {}\r\nRateLimit-Policy: {}\r\n{}Connection: close\r\nContent-Length: 0\r\n\r\n",
        decision.rate_limit("client"),
        decision.rate_limit_policy("client"),
        retry.unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use nanopace_remote::Settings;
    use nanopace_services::{Engine, Server};
    use std::time::Duration;

    #[test]
    #[ignore = "needs Redis and Valkey"]
    fn answers_say_what_is_left_and_when_to_come_back() {
        for engine in Engine::ALL {
            let server = Server::start(engine).unwrap();
            let settings = Settings::default().timeout(Duration::from_secs(20));
            let store = Remote::lazy_with(&server.url(), settings).unwrap();
            let clients = limiter(&store).unwrap();
            for left in (0..5).rev() {
                let response = response("::1", &clients);
                assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
                let field = format!("RateLimit: \"client\";r={left};t=");
                assert!(response.contains(&field), "{response}");
            }
            let response = response("::1", &clients);
            assert!(response.starts_with("HTTP/1.1 429 "), "{response}");
            assert!(response.contains("\r\nRetry-After: 12\r\n"), "{response}");
        }
    }
}
