//! A load generator for NATS: each call sends a message through the broker, and waits until it has arrived.

use async_nats::{Client, Subscriber};
use clap::Args;
use futures_util::StreamExt;
use nanopace_load::{Done, Failure, Slot, Target};
use std::convert::Infallible;
use std::process::ExitCode;

/// Sends messages, and receives them.
#[derive(Clone, Debug, Args)]
struct Options {
    /// The address of the broker
    #[arg(long, default_value = "nats://127.0.0.1:4222")]
    server: String,
    /// The size of a message in bytes, at least 8
    #[arg(long, default_value_t = 256)]
    bytes: usize,
}

struct Session {
    client: Client,
    subject: String,
    received: Subscriber,
}

impl Target for Options {
    type Session = Session;

    async fn connect(&self, _index: usize) -> Result<Session, Failure> {
        let client = async_nats::connect(&self.server).await?;
        let subject = client.new_inbox();
        let received = client.subscribe(subject.clone()).await?;
        Ok(Session { client, subject, received })
    }

    async fn call(&self, session: &mut Session, slot: Slot) -> Result<Done, Failure> {
        let mut sent = slot.number().to_le_bytes().to_vec();
        sent.resize(self.bytes.max(8), 0);
        session.client.publish(session.subject.clone(), sent.into()).await?;
        let message = session.received.next().await;
        let payload = message.ok_or_else(|| Failure::new("no more messages").broken())?.payload;
        if payload[..8] != slot.number().to_le_bytes() {
            return Err(Failure::new("another message").broken());
        }
        let bytes = payload.len() as u64;
        Ok(Done::new().bytes(bytes, bytes))
    }
}

fn main() -> ExitCode {
    nanopace_load::main(|options: &Options| Ok::<_, Infallible>(options.clone()))
}
