//! Sends OTLP messages to a metrics collector. Each message uses a new connection.

use crate::net::tls::{Connector, Name};
use crate::net::trust::Trust;
use anyhow::{Context, bail, ensure};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST, USER_AGENT};
use hyper::{Request, Response, Uri};
use hyper_util::rt::TokioIo;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceResponse;
use prost::Message;
use std::future::pending;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::select;
use tokio::time::timeout;

/// The maximum time for sending a message, including name resolution and connecting.
const PATIENCE: Duration = Duration::from_secs(5);

/// The maximum number of bytes of a response that are read.
const LONGEST: usize = 64 * 1024;

#[derive(Debug)]
pub(crate) struct Collector {
    url: Uri,
    host: String,
    port: u16,
    tls: Option<(Name, Connector)>,
}

impl Collector {
    pub(super) fn new(url: Uri) -> anyhow::Result<Collector> {
        let host = url.host().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let is_tls = url.scheme_str() == Some("https");
        let tls = || anyhow::Ok((Name::new(&host)?, Connector::new(Trust::System, None, false)?));
        let tls = is_tls.then(tls).transpose().context("--otlp")?;
        let port = url.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        Ok(Collector { url, host, port, tls })
    }

    pub(super) async fn send(&self, message: Vec<u8>) -> anyhow::Result<()> {
        let sent = timeout(PATIENCE, self.send_at_leisure(message)).await;
        let sent = sent.unwrap_or_else(|_| Err(anyhow::anyhow!("no response within 5 s")));
        // The error does not contain the URL, because its query may contain a key.
        sent.with_context(|| format!("{}:{} did not accept the metrics", self.host, self.port))
    }

    async fn send_at_leisure(&self, message: Vec<u8>) -> anyhow::Result<()> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
        match &self.tls {
            None => self.exchange(stream, message).await,
            Some((name, connector)) => {
                self.exchange(connector.connect(name, stream).await?, message).await
            }
        }
    }

    async fn exchange<S>(&self, stream: S, message: Vec<u8>) -> anyhow::Result<()>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let answered = async { judge(sender.send_request(self.request(message)?).await?).await };
        // The connection makes progress only while it is polled. If it fails, the request reports the error.
        let driven = async {
            let _ = connection.await;
            pending().await
        };
        select! {
            answered = answered => answered,
            never = driven => never,
        }
    }

    fn request(&self, message: Vec<u8>) -> anyhow::Result<Request<Full<Bytes>>> {
        let path = self.url.path_and_query().map_or("/", |path| path.as_str());
        let host = self.url.authority().map_or("", |authority| authority.as_str());
        Ok(Request::post(path)
            .header(HOST, host)
            .header(USER_AGENT, concat!("nanopace/", env!("CARGO_PKG_VERSION")))
            .header(CONTENT_TYPE, "application/x-protobuf")
            .body(Full::from(message))?)
    }
}

/// Returns an error unless the collector accepted the whole message. A response with a success status can still reject
/// a part of the message.
async fn judge(answer: Response<Incoming>) -> anyhow::Result<()> {
    let status = answer.status();
    if !status.is_success() {
        bail!("status {}", status.as_u16());
    }
    let body = Limited::new(answer.into_body(), LONGEST).collect().await;
    let body = body.map_err(|error| anyhow::anyhow!(error))?.to_bytes();
    // A body that cannot be decoded as this type counts as empty.
    let answer = ExportMetricsServiceResponse::decode(body).unwrap_or_default();
    let partial = answer.partial_success.unwrap_or_default();
    let (rejected, why) = (partial.rejected_data_points, partial.error_message);
    ensure!(rejected == 0, "{rejected} metric points were rejected: {}", one_line(&why));
    Ok(())
}

/// Returns the beginning of a text in one line. Control characters become blanks, so that a terminal can show the text.
fn one_line(text: &str) -> String {
    text.chars().take(200).map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}
