//! A load generator for a gRPC service: one call in ten gets a stream of messages, the others one message.

use clap::Args;
use nanopace_load::{Done, Failure, Slot, Target};
use numbers::{Number, numbers_client::NumbersClient};
use std::convert::Infallible;
use std::process::ExitCode;
use tonic::Status;
use tonic::transport::Channel;

mod numbers {
    tonic::include_proto!("numbers");
}

/// Squares numbers, and has others counted.
#[derive(Clone, Debug, Args)]
struct Options {
    /// Where the server is
    #[arg(long, default_value = "http://127.0.0.1:50051")]
    server: String,
    /// How many messages a stream has
    #[arg(long, default_value_t = 100)]
    messages: u64,
}

impl Target for Options {
    type Session = NumbersClient<Channel>;

    async fn connect(&self, _index: usize) -> Result<Self::Session, Failure> {
        Ok(NumbersClient::connect(self.server.clone()).await?)
    }

    async fn call(&self, grpc: &mut Self::Session, slot: Slot) -> Result<Done, Failure> {
        let value = slot.number();
        if value % 10 > 0 {
            grpc.square(Number { value }).await.map_err(by_code)?;
            return Ok(Done::new().label("square"));
        }
        let all = Number { value: self.messages };
        let mut stream = grpc.count(all).await.map_err(by_code)?.into_inner();
        let mut received = 0;
        while stream.message().await.map_err(by_code)?.is_some() {
            received += 1;
        }
        Ok(Done::new().label("count").items(received))
    }
}

/// Failures are counted by the status. The channel opens its connection again by itself.
fn by_code(status: Status) -> Failure {
    Failure::new(status.code())
}

fn main() -> ExitCode {
    nanopace_load::main(|options: &Options| Ok::<_, Infallible>(options.clone()))
}
