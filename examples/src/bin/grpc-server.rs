//! A server for the example `grpc`. It prints its address and responds to requests.

use futures_util::stream::{self, BoxStream, StreamExt};
use numbers::Number;
use numbers::numbers_server::{Numbers, NumbersServer};
use std::error::Error;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

mod numbers {
    tonic::include_proto!("numbers");
}

struct Service;

#[tonic::async_trait]
impl Numbers for Service {
    type CountStream = BoxStream<'static, Result<Number, Status>>;

    async fn square(&self, request: Request<Number>) -> Result<Response<Number>, Status> {
        let value = request.into_inner().value;
        let value = value.checked_mul(value).ok_or_else(|| Status::out_of_range("too large"))?;
        Ok(Response::new(Number { value }))
    }

    async fn count(&self, request: Request<Number>) -> Result<Response<Self::CountStream>, Status> {
        let numbers = (0..request.into_inner().value).map(|value| Ok(Number { value }));
        Ok(Response::new(stream::iter(numbers).boxed()))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let incoming = TcpIncoming::bind("127.0.0.1:0".parse()?)?.with_nodelay(Some(true));
    println!("http://{}", incoming.local_addr()?);
    let server = Server::builder().add_service(NumbersServer::new(Service));
    Ok(server.serve_with_incoming(incoming).await?)
}
