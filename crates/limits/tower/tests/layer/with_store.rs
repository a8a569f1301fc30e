//! Tests a layer with limits in a store, which several axum servers share, each in a process of its own.

use crate::with_axum::{client, client_of};
use crate::{API_KEY, field};
use axum::{Router, routing::get};
use http::{Request, Response, StatusCode};
use http_body_util::Empty;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::SendRequest;
use nanopace_remote::{OnLoss, Remote, Settings};
use nanopace_services::{Product, Server};
use nanopace_tower::{AsyncRemoteKeyed, Keyed, LimitLayer};
use std::env;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;

const URL: &str = "NANOPACE_TEST_STORE_URL";
const LIMITS: &str = "10/day, 20/day burst 12";

fn patient() -> Settings {
    Settings::default().timeout(Duration::from_secs(20)).connect_timeout(Duration::from_secs(20))
}

fn users(url: &str, settings: Settings, on_loss: OnLoss) -> AsyncRemoteKeyed {
    let store = Remote::lazy_with(url, settings).unwrap();
    AsyncRemoteKeyed::new(store.limits(LIMITS).on_loss(on_loss).build().unwrap())
}

fn served<L>(limits: L) -> Router
where
    L: nanopace_tower::LimitsByKey<String>
        + nanopace_tower::DecideKey<str, Later: Send>
        + Clone
        + Send
        + Sync
        + 'static,
{
    Router::new().route("/", get(async || "hello")).layer(LimitLayer::by_header(API_KEY, limits))
}

struct Process {
    child: Child,
    address: SocketAddr,
}

impl Process {
    fn start(url: &str) -> Process {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "with_store::a_server", "--include-ignored", "--nocapture"])
            .env(URL, url)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines
            .map_while(Result::ok)
            .find_map(|line| line.split_once("listens at ")?.1.parse().ok());
        Process { child, address: address.expect("the example prints its address") }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Runs the server in the child processes of the other tests. It tests nothing itself.
#[tokio::test]
#[ignore = "needs Redis and Valkey"]
async fn a_server() {
    let Ok(url) = env::var(URL) else { return };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("listens at {}", listener.local_addr().unwrap());
    axum::serve(listener, served(users(&url, patient(), OnLoss::Deny))).await.unwrap();
}

async fn ask(client: &mut SendRequest<Empty<Bytes>>, key: Option<&str>) -> Response<Incoming> {
    let mut request = Request::get("/").header("host", "localhost");
    if let Some(key) = key {
        request = request.header(API_KEY, key);
    }
    client.ready().await.unwrap();
    client.send_request(request.body(Empty::new()).unwrap()).await.unwrap()
}

/// Returns the status and the header fields of a response without the seconds, which may differ by one.
fn seen<B>(response: &Response<B>) -> (StatusCode, Vec<String>) {
    let without_time = |text: String| text.split(";t=").next().map(str::to_owned).unwrap();
    let fields = ["ratelimit", "ratelimit-policy"].map(|name| without_time(field(response, name)));
    let has_retry = response.headers().contains_key("retry-after").to_string();
    let kind = field(response, "content-type");
    (response.status(), [&fields[..], &[has_retry, kind]].concat())
}

#[tokio::test]
#[ignore = "needs Redis and Valkey"]
async fn two_processes_decide_like_one() {
    for product in Product::ALL {
        let server = Server::start(product).unwrap();
        let processes = [Process::start(&server.url()), Process::start(&server.url())];
        let mut clients = [client(processes[0].address).await, client(processes[1].address).await];
        let mut local = client_of(served(Keyed::new(LIMITS.parse().unwrap()))).await;
        for turn in 0..30 {
            for key in [Some("alice"), Some("bob"), None] {
                let remote = seen(&ask(&mut clients[turn % 2], key).await);
                assert_eq!(remote, seen(&ask(&mut local, key).await), "{product}, turn {turn}");
                let let_in = key.is_some() && turn < 10;
                assert_eq!(remote.0 == StatusCode::OK, let_in, "{product}, turn {turn}");
            }
        }
    }
}

#[tokio::test]
#[ignore = "needs Redis and Valkey"]
async fn requests_at_once_are_counted_once_each() {
    for product in Product::ALL {
        let server = Server::start(product).unwrap();
        let processes = [Process::start(&server.url()), Process::start(&server.url())];
        let tasks: Vec<_> = (0..8)
            .map(|number| {
                let address = processes[number % 2].address;
                tokio::spawn(async move {
                    let mut client = client(address).await;
                    let mut let_in = 0;
                    for _ in 0..5 {
                        let response = ask(&mut client, Some("alice")).await;
                        let_in += u32::from(response.status() == StatusCode::OK);
                    }
                    let_in
                })
            })
            .collect();
        let mut let_in = 0;
        for task in tasks {
            let_in += task.await.unwrap();
        }
        assert_eq!(let_in, 10, "{product}");
    }
}

#[tokio::test]
#[ignore = "needs Redis and Valkey"]
async fn a_lost_store_is_not_the_clients_fault() {
    for product in Product::ALL {
        let mut server = Server::start(product).unwrap();
        let routers = [OnLoss::Deny, OnLoss::Allow]
            .map(|on_loss| served(users(&server.url(), Settings::default(), on_loss)));
        let [deny, allow] = routers;
        let [mut deny, mut allow] = [client_of(deny).await, client_of(allow).await];
        server.kill();
        let end = Instant::now() + Duration::from_secs(20);
        loop {
            let response = ask(&mut deny, Some("alice")).await;
            assert_eq!(ask(&mut allow, Some("alice")).await.status(), StatusCode::OK, "{product}");
            if response.status() == StatusCode::SERVICE_UNAVAILABLE {
                assert_eq!(field(&response, "ratelimit"), "");
                break;
            }
            assert!(Instant::now() < end, "{product}: {:?}", response.status());
        }
        server.restart().unwrap();
        while ask(&mut deny, Some("alice")).await.status() != StatusCode::OK {
            assert!(Instant::now() < end, "{product}: the store is never called again");
        }
    }
}
