//! Tests the layer in a server of tonic, with a real client, and in a server of both gRPC and web pages.

use crate::{field, keyed};
use axum::body::Body;
use axum::routing::get;
use http::Request;
use nanopace_nanos::ManualClock;
use nanopace_tower::{LimitLayer, Limiter, Peer};
use std::time::Duration;
use tokio::net::TcpListener;
use tonic::Code;
use tonic::service::Routes;
use tonic::transport::server::{TcpConnectInfo, TcpIncoming};
use tonic::transport::{Endpoint, Server};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tonic_health::server::health_reporter;
use tower::ServiceExt;

#[tokio::test]
async fn a_server_limits_each_peer() {
    let clock = ManualClock::new();
    let peer = Peer::of(TcpConnectInfo::remote_addr);
    let limits = LimitLayer::by_address(peer, keyed("2/min", &clock)).grpc();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = Server::builder().layer(limits).add_service(health_reporter().1);
    tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));

    let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
    let mut client = HealthClient::new(endpoint.connect().await.unwrap());
    let whole = HealthCheckRequest::default();
    let response = client.check(whole.clone()).await.unwrap();
    assert_eq!(response.metadata().get("ratelimit").unwrap(), r#""2/m";r=1;t=30"#);
    client.check(whole.clone()).await.unwrap();

    let status = client.check(whole.clone()).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert_eq!(status.message(), "too many requests: retry in 30 s");
    assert_eq!(status.metadata().get("retry-after").unwrap(), "30");
    assert_eq!(status.metadata().get("ratelimit").unwrap(), r#""2/m";r=0;t=60"#);

    clock.advance(Duration::from_secs(30));
    client.check(whole).await.unwrap();
}

/// In a router of axum, the content type selects the kind of response, if the request came over HTTP/2.
#[tokio::test]
async fn one_server_answers_grpc_and_text() {
    let limiter = Limiter::with_clock("1/min".parse().unwrap(), ManualClock::new());
    let router = Routes::new(health_reporter().1)
        .into_axum_router()
        .route("/page", get(async || "page"))
        .layer(LimitLayer::new(limiter));
    let ask = |path: &str, content_type: &str| {
        let request = Request::post(path).version(http::Version::HTTP_2);
        let request = request.header("content-type", content_type);
        router.clone().oneshot(request.body(Body::empty()).unwrap())
    };
    let path = "/grpc.health.v1.Health/Check";
    let response = ask(path, "application/grpc").await.unwrap();
    assert_eq!(field(&response, "ratelimit"), r#""1/m";r=0;t=60"#);
    let response = ask(path, "application/grpc").await.unwrap();
    assert_eq!((response.status().as_u16(), field(&response, "grpc-status").as_str()), (200, "8"));
    let response = ask("/page", "text/html").await.unwrap();
    assert_eq!(response.status(), 429);
}
