//! Tests the layer in a server of axum, with a real client.

use crate::{field, keyed};
use axum::extract::ConnectInfo;
use axum::{Router, routing::get};
use http::{Request, Response};
use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use nanopace_nanos::ManualClock;
use nanopace_tower::{Forwarded, LimitLayer, Peer};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};

pub(crate) async fn client_of(router: Router) -> SendRequest<Empty<Bytes>> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(axum::serve(listener, service).into_future());
    client(address).await
}

pub(crate) async fn client(address: SocketAddr) -> SendRequest<Empty<Bytes>> {
    let stream = TcpStream::connect(address).await.unwrap();
    let (sender, connection) = handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    sender
}

async fn ask(client: &mut SendRequest<Empty<Bytes>>, forwarded: &str) -> Response<Incoming> {
    let request =
        Request::get("/").header("host", "localhost").header("x-forwarded-for", forwarded);
    client.send_request(request.body(Empty::new()).unwrap()).await.unwrap()
}

async fn text(response: Response<Incoming>) -> String {
    let body = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(body.to_vec()).unwrap()
}

#[tokio::test]
async fn a_server_limits_each_peer() {
    let clock = ManualClock::new();
    let peer = Peer::of(|info: &ConnectInfo<SocketAddr>| info.0);
    let limits = LimitLayer::by_address(peer, keyed("2/min", &clock));
    let mut client = client_of(Router::new().route("/", get(async || "hello")).layer(limits)).await;

    let response = ask(&mut client, "").await;
    assert_eq!(field(&response, "ratelimit"), r#""2/m";r=1;t=30"#);
    assert_eq!(text(response).await, "hello");
    assert_eq!(text(ask(&mut client, "").await).await, "hello");

    let response = ask(&mut client, "10.6.6.6").await;
    assert_eq!(response.status(), 429);
    assert_eq!(field(&response, "retry-after"), "30");
    assert_eq!(field(&response, "ratelimit-policy"), r#""2/m";q=2;w=60"#);
    assert_eq!(text(response).await, "too many requests: retry in 30 s\n");

    clock.advance(Duration::from_secs(30));
    assert_eq!(text(ask(&mut client, "").await).await, "hello");
}

#[tokio::test]
async fn a_server_behind_a_proxy_limits_each_client() {
    let limits = LimitLayer::by_address(Forwarded::behind(1), keyed("1/min", &ManualClock::new()));
    let mut client = client_of(Router::new().route("/", get(async || "hello")).layer(limits)).await;
    let mut statuses = Vec::new();
    for forwarded in ["192.0.2.1", "10.6.6.6, 192.0.2.1", "192.0.2.2", "unknown"] {
        let response = ask(&mut client, forwarded).await;
        statuses.push(response.status().as_u16());
        text(response).await;
    }
    assert_eq!(statuses, [200, 429, 200, 500]);
}
