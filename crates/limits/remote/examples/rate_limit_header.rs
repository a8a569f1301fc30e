//! An HTTP server whose responses describe the client's limits in the header fields `RateLimit` and `RateLimit-Policy`.
//! All processes of the server share one limit for each client.
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

/// If the store is lost, this process, which is one of four, admits a quarter of the requests that the limits allow.
fn limiter(store: &Remote) -> Result<RemoteKeyed, RemoteError> {
    store.limits("5/m, 100/day fixed-window").on_loss(OnLoss::LocalShare(4)).build()
}

fn serve(listener: &TcpListener, clients: &RemoteKeyed) {
    for stream in listener.incoming().flatten() {
        let clients = clients.clone();
        thread::spawn(move || answer(&stream, &clients));
    }
}

/// The client is identified by the address of the connection.
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
