//! A load generator for Redis and Valkey: one call in ten writes, the others read.

use clap::Args;
use nanopace_load::{Done, Failure, Slot, Target};
use redis::aio::MultiplexedConnection;
use redis::{AsyncCommands, Client, RedisError};
use std::process::ExitCode;

/// Reads and writes keys.
#[derive(Debug, Args)]
struct Options {
    /// The address of the server
    #[arg(long, default_value = "redis://127.0.0.1/")]
    server: String,
    /// The number of keys
    #[arg(long, default_value_t = 10_000)]
    keys: u64,
}

struct Keys {
    client: Client,
    count: u64,
}

impl Target for Keys {
    type Session = MultiplexedConnection;

    async fn connect(&self, _index: usize) -> Result<MultiplexedConnection, Failure> {
        Ok(self.client.get_multiplexed_async_connection().await?)
    }

    async fn call(&self, redis: &mut MultiplexedConnection, slot: Slot) -> Result<Done, Failure> {
        // Slots with the same number make the same call, in each process and each run.
        let key = slot.number().wrapping_mul(0x9e37_79b9_7f4a_7c15) % self.count;
        if slot.number() % 10 == 0 {
            let () = redis.set(key, slot.number()).await?;
            return Ok(Done::new().label("write"));
        }
        let found: Option<u64> = redis.get(key).await?;
        Ok(Done::new().label(if found.is_some() { "read" } else { "read, not there" }))
    }
}

fn main() -> ExitCode {
    nanopace_load::main(|options: &Options| {
        let client = Client::open(options.server.as_str())?;
        Ok::<_, RedisError>(Keys { client, count: options.keys.max(1) })
    })
}
