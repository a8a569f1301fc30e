//! Defines how a program starts a server of its own, which is loaded when no URL is given.

use clap::Args;
use std::error::Error;
use std::fmt::{self, Debug, Formatter};

/// The options of a server that the program brings, and how it is started. It is loaded when the command line names no
/// other one.
pub trait EmbeddedTarget: Args + Debug {
    /// Starts the server. It serves until the process ends.
    ///
    /// # Errors
    ///
    /// Why it cannot be started, in one line. Then nothing is run.
    fn start(&self) -> Result<Embedded, Box<dyn Error + Send + Sync>>;
}

/// A server that an [`EmbeddedTarget`] has started.
pub struct Embedded {
    /// The URL that requests go to.
    pub url: String,
    /// The certificate that clients have to trust, in PEM, if the server speaks TLS.
    pub certificate_pem: Option<String>,
    /// Is called when the schedule starts.
    pub schedule_starts: Box<dyn Fn() + Send + Sync>,
}

impl Debug for Embedded {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedded").field("url", &self.url).finish_non_exhaustive()
    }
}

/// A program without a server of its own.
#[derive(Args, Debug)]
pub(crate) struct NoTarget {}

impl EmbeddedTarget for NoTarget {
    fn start(&self) -> Result<Embedded, Box<dyn Error + Send + Sync>> {
        Err("there is none: give --url".into())
    }
}
