//! A load generator for HTTP/3: one call is a GET request, and each session has a QUIC connection.

use clap::Args;
use http::{Request, Uri};
use nanopace_load::{Done, Failure, Slot, Target};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::rustls::pki_types::{CertificateDer, pem::PemObject};
use quinn::{ClientConfig, Endpoint, rustls};
use std::{error::Error, future::poll_fn, io, path::PathBuf, process::ExitCode, sync::Arc};

/// Requests a page.
#[derive(Debug, Args)]
struct Options {
    /// The URL of the page
    #[arg(long, default_value = "https://localhost:8443/")]
    server: Uri,
    /// The certificate of the server's CA, as a PEM file
    #[arg(long)]
    cacert: PathBuf,
}

struct Page(Uri, ClientConfig);

impl Target for Page {
    type Session = h3::client::SendRequest<h3_quinn::OpenStreams, bytes::Bytes>;

    async fn connect(&self, _index: usize) -> Result<Self::Session, Failure> {
        let (host, port) = (self.0.host().unwrap_or_default(), self.0.port_u16().unwrap_or(443));
        let address = tokio::net::lookup_host((host, port)).await?.find(|it| it.is_ipv4());
        let address = address.ok_or_else(|| Failure::new("no IPv4 address"))?;
        let socket = Endpoint::client(([0, 0, 0, 0], 0).into())?;
        let connection = socket.connect_with(self.1.clone(), address, host)?.await?;
        let (mut driver, requests) = h3::client::new(h3_quinn::Connection::new(connection)).await?;
        tokio::spawn(async move { poll_fn(|cx| driver.poll_close(cx)).await });
        Ok(requests)
    }

    async fn call(&self, session: &mut Self::Session, _slot: Slot) -> Result<Done, Failure> {
        let mut stream = session.send_request(Request::get(&self.0).body(())?).await?;
        stream.finish().await?;
        let status = stream.recv_response().await?.status();
        while stream.recv_data().await?.is_some() {}
        let done = Done::new().status(status.as_u16());
        status.is_success().then_some(done).ok_or_else(|| Failure::new(status).with(done))
    }
}

fn page(options: &Options) -> Result<Page, Box<dyn Error + Send + Sync>> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&options.cacert)?)?;
    let tls = rustls::ClientConfig::builder().with_root_certificates(roots);
    let mut tls = tls.with_no_client_auth();
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let quic = Arc::new(QuicClientConfig::try_from(tls)?);
    Ok(Page(options.server.clone(), ClientConfig::new(quic)))
}

fn main() -> ExitCode {
    nanopace_load::main(|options: &Options| page(options).map_err(io::Error::other))
}
