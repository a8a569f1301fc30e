//! A load generator for WebSocket servers that send each message back: one call is a message and its echo.

use clap::Args;
use futures_util::{SinkExt, StreamExt};
use nanopace_load::{Done, Failure, Slot, Target};
use std::convert::Infallible;
use std::process::ExitCode;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, frame::coding::CloseCode};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

/// Sends messages, and awaits their echoes.
#[derive(Clone, Debug, Args)]
struct Options {
    /// The URL of the server
    #[arg(long, default_value = "ws://127.0.0.1:9001/")]
    server: String,
    /// The size of a message in bytes, at least 8
    #[arg(long, default_value_t = 256)]
    bytes: usize,
}

impl Target for Options {
    type Session = WebSocketStream<MaybeTlsStream<TcpStream>>;

    async fn connect(&self, _index: usize) -> Result<Self::Session, Failure> {
        Ok(connect_async(&self.server).await?.0)
    }

    async fn call(&self, socket: &mut Self::Session, slot: Slot) -> Result<Done, Failure> {
        let mut sent = slot.number().to_le_bytes().to_vec();
        sent.resize(self.bytes.max(8), 0);
        socket.send(Message::from(sent.clone())).await?;
        while let Some(message) = socket.next().await.transpose()? {
            if message.is_binary() || message.is_text() {
                let bytes = sent.len() as u64;
                let is_echo = message.into_data() == sent;
                let other = || Failure::new("another message").broken();
                return is_echo.then(|| Done::new().bytes(bytes, bytes)).ok_or_else(other);
            }
        }
        Err(Failure::new("closed by the server").broken())
    }

    async fn teardown(&self, session: Option<Self::Session>) -> Result<(), Failure> {
        let frame = CloseFrame { code: CloseCode::Normal, reason: "".into() };
        if let Some(mut socket) = session {
            socket.close(Some(frame)).await?;
        }
        Ok(())
    }
}

fn main() -> ExitCode {
    nanopace_load::main(|options: &Options| Ok::<_, Infallible>(options.clone()))
}
