//! A load generator for a gRPC service: one call in ten receives a stream of messages, the others one message.

use clap::Args;
use nanopace_load::{About, Done, Failure, Slot, StreamTimes, Target};
use numbers::{Number, numbers_client::NumbersClient};
use std::convert::Infallible;
use std::process::ExitCode;
use tonic::Status;
use tonic::transport::Channel;

mod numbers {
    tonic::include_proto!("numbers");
}

/// Squares numbers, and requests streams of numbers.
#[derive(Clone, Debug, Args)]
struct Options {
    /// The address of the server
    #[arg(long, default_value = "http://127.0.0.1:50051")]
    server: String,
    /// The number of messages in a stream
    #[arg(long, default_value_t = 100)]
    messages: u64,
}

struct Numbers {
    options: Options,
    streams: StreamTimes,
}

impl Target for Numbers {
    type Session = NumbersClient<Channel>;

    async fn connect(&self, _index: usize) -> Result<Self::Session, Failure> {
        Ok(NumbersClient::connect(self.options.server.clone()).await?)
    }

    async fn call(&self, grpc: &mut Self::Session, slot: Slot) -> Result<Done, Failure> {
        let value = slot.number();
        if value % 10 > 0 {
            grpc.square(Number { value }).await.map_err(by_code)?;
            return Ok(Done::new().label("square"));
        }
        let all = Number { value: self.options.messages };
        let mut seen = self.streams.watch(slot);
        let mut stream = grpc.count(all).await.map_err(by_code)?.into_inner();
        while stream.message().await.map_err(by_code)?.is_some() {
            seen.item();
        }
        Ok(Done::new().label("count").items(seen.items()))
    }

    fn about(&self) -> About<'_> {
        About::new().stream_times(&self.streams)
    }
}

/// Counts failures by status. A session stays usable after a failure, because the channel reconnects automatically.
fn by_code(status: Status) -> Failure {
    Failure::new(status.code())
}

fn main() -> ExitCode {
    nanopace_load::main(|options: &Options| {
        Ok::<_, Infallible>(Numbers { options: options.clone(), streams: StreamTimes::new() })
    })
}
