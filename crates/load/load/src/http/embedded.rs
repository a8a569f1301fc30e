//! Defines how a program starts an embedded server, which gets the load if no URL is given.

use clap::Args;
use std::error::Error;
use std::fmt::{self, Debug, Formatter};

/// The options of a server that is part of the program, and how it is started. It gets the load if the command line
/// names no other server.
pub trait EmbeddedTarget: Args + Debug {
    /// Starts the server. It serves until the process ends.
    ///
    /// # Errors
    ///
    /// The server cannot be started: the reason in one line. The run then ends before any request.
    fn start(&self) -> Result<Embedded, Box<dyn Error + Send + Sync>>;
}

/// A server that an [`EmbeddedTarget`] has started.
pub struct Embedded {
    /// The URL that requests go to.
    pub url: String,
    /// The certificate that clients must trust, in PEM, if the server uses TLS.
    pub certificate_pem: Option<String>,
    /// Called when the schedule starts.
    pub schedule_starts: Box<dyn Fn() + Send + Sync>,
}

impl Debug for Embedded {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedded").field("url", &self.url).finish_non_exhaustive()
    }
}

/// The options of a program without an embedded server.
#[derive(Args, Debug)]
pub(crate) struct NoTarget {}

impl EmbeddedTarget for NoTarget {
    fn start(&self) -> Result<Embedded, Box<dyn Error + Send + Sync>> {
        Err("this program has no embedded target: give --url".into())
    }
}
