//! A server with three limits: one for all requests together, one for each address, and one for each API key on
//! `/search`, where a write costs five.
//!
//! ```text
//! cargo run -p nanopace-tower --example axum
//! curl -i http://127.0.0.1:3000/
//! curl -i -H 'x-api-key: alice' http://127.0.0.1:3000/search
//! curl -i -H 'x-api-key: alice' -X POST http://127.0.0.1:3000/search
//! ```

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{HeaderName, Method, Request};
use axum::{Router, routing::get};
use nanopace_tower::{Keyed, LimitLayer, Limiter, Peer};
use std::error::Error;
use std::net::SocketAddr;
use tokio::net::TcpListener;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let all = LimitLayer::new(Limiter::per_second(1_000).build()?);

    let peer = Peer::of(|info: &ConnectInfo<SocketAddr>| info.0);
    let by_address = LimitLayer::by_address(peer, Keyed::per_second(1).burst(3).build()?);

    let key = HeaderName::from_static("x-api-key");
    let cost = |request: &Request<Body>| if request.method() == Method::GET { 1 } else { 5 };
    let by_key = LimitLayer::by_header(key, Keyed::new("10/min burst 6".parse()?)).cost(cost);

    // The layer that is added last decides first.
    let router = Router::new()
        .route("/search", get(async || "found\n").post(async || "written\n"))
        .layer(by_key)
        .route("/", get(async || "hello\n"))
        .layer(by_address)
        .layer(all);
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    println!("http://{}", listener.local_addr()?);
    axum::serve(listener, router.into_make_service_with_connect_info::<SocketAddr>()).await?;
    Ok(())
}
