//! Defines the options of the control server. Their doc comments are `--help` texts.

use super::guard::Token;
use anyhow::{Context, ensure};
use clap::Args;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
#[command(next_help_heading = "While it runs")]
pub(crate) struct ControlArgs {
    /// Serve status, metrics and commands over HTTP at this address, as in 127.0.0.1:9100; port 0 chooses a free port
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    pub(crate) control: Option<SocketAddr>,

    /// Require the bearer token in the first line of this file; without a token, --control must be a
    /// loopback address
    #[arg(long, value_name = "FILE", requires = "control")]
    pub(crate) control_token_file: Option<PathBuf>,
}

impl ControlArgs {
    /// Returns `None` only if no other machine can connect.
    pub(super) fn token(&self) -> anyhow::Result<Option<Token>> {
        let token = self.control_token_file.as_deref().map(Token::read).transpose()?;
        let is_inside = self.control.is_none_or(|at| at.ip().to_canonical().is_loopback());
        ensure!(
            is_inside || token.is_some(),
            "--control {}: other machines can connect to this address: give --control-token-file FILE",
            self.control.map(|at| at.to_string()).unwrap_or_default()
        );
        Ok(token)
    }
}

pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    let here = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    let address = here.as_deref().unwrap_or(text);
    address.parse().map_err(|_| "write an address and a port, as in 127.0.0.1:9100".to_owned())
}

const LONGEST_TOKEN: u64 = 4096;

impl Token {
    fn read(file: &Path) -> anyhow::Result<Token> {
        let name = || format!("--control-token-file {}", file.display());
        let mut line = String::new();
        // A token is short, but the file may be infinite.
        let read = File::open(file)
            .and_then(|file| BufReader::new(file.take(LONGEST_TOKEN)).read_line(&mut line));
        read.with_context(|| format!("{}: cannot be read", name()))?;
        Token::new(line.trim()).with_context(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(address: &str) -> anyhow::Result<Option<Token>> {
        ControlArgs { control: Some(address.parse().unwrap()), control_token_file: None }.token()
    }

    #[test]
    fn only_the_loopback_needs_no_token() {
        for inside in ["127.0.0.1:0", "127.9.9.9:1", "[::1]:80", "[::ffff:127.0.0.1]:80"] {
            assert!(token(inside).unwrap().is_none(), "{inside}");
        }
        for outside in ["0.0.0.0:0", "[::]:0", "10.0.0.1:1", "[::ffff:10.0.0.1]:1", "[fe80::1]:1"] {
            let told = token(outside).unwrap_err().to_string();
            assert!(told.contains("--control-token-file"), "{told}");
        }
    }

    #[test]
    fn an_address_has_a_port() {
        assert_eq!(address("localhost:7"), Ok(([127, 0, 0, 1], 7).into()));
        for text in ["", "localhost", "127.0.0.1", ":80", "9100", "example.com:80", "[::1]"] {
            assert!(address(text).is_err(), "{text}");
        }
    }
}
