//! Defines [`EmbeddedTarget`]: the server that a program starts itself if its options name no other target.

use clap::Args;
use std::error::Error;
use std::fmt::{self, Debug, Formatter};

/// A server that the program starts itself, together with its command-line options. It receives the load if the options
/// name no other target.
pub trait EmbeddedTarget: Args + Debug {
    /// Starts the server. It serves until the process ends.
    ///
    /// # Errors
    ///
    /// Returns the reason in one line if the server cannot be started. The run then ends before it sends a request.
    fn start(&self) -> Result<Embedded, Box<dyn Error + Send + Sync>>;
}

/// A running server that [`EmbeddedTarget::start`] has started.
pub struct Embedded {
    /// The URL to which requests are sent.
    pub url: String,
    /// The certificate in PEM format that clients must trust, or `None` if the server does not use TLS.
    pub certificate_pem: Option<String>,
    /// A function that is called when the schedule starts.
    pub schedule_starts: Box<dyn Fn() + Send + Sync>,
}

impl Debug for Embedded {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedded").field("url", &self.url).finish_non_exhaustive()
    }
}

#[derive(Args, Debug)]
pub(crate) struct NoTarget {}

impl EmbeddedTarget for NoTarget {
    fn start(&self) -> Result<Embedded, Box<dyn Error + Send + Sync>> {
        Err("this program has no embedded target: give --url".into())
    }
}
