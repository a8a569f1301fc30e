//! `nanopace limit`: tries limiters on a sequence of requests, in virtual time. Nothing here sleeps or
//! listens to signals.

mod args;
mod candidate;
mod chart;
mod chosen;
mod columns;
mod error;
mod input;
mod json;
mod kind;
mod limiter;
mod load;
mod plot;
mod report;
pub(crate) mod request;
mod results;
mod retry;
mod table;
mod time_series;
mod times;
mod trial;
mod watch;

pub(crate) use args::{EXAMPLES, LimitArgs};
pub(crate) use error::Error;

use retry::Retries;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use trial::Trial;

/// Tries the limiters and writes the report. When `interrupted` is set, the trial ends early and
/// reports what it has.
///
/// # Errors
///
/// If the options or the requests are wrong, or the results cannot be written.
pub(crate) fn run(args: LimitArgs, interrupted: Arc<AtomicBool>) -> Result<(), Error> {
    match args.retry {
        Some(retry) => Retries::new(&args, retry, interrupted).map_err(Error::Input)?.run(),
        None => Trial::new(args, interrupted).map_err(Error::Input)?.run(),
    }
}
