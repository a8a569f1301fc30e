//! What a request costs before it is sent, for the benchmark `requests`.

use crate::http::args::HttpRunArgs;
use crate::http::written;
use clap::Parser;

#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct Line {
    #[command(flatten)]
    run: HttpRunArgs,
}

/// Writes the request of a slot, by the slot's number, and returns its length. The options are those of
/// `nanopace run`, with a URL.
///
/// # Errors
///
/// What the program would say about them.
pub fn requests(options: &[&str]) -> Result<impl FnMut(u64) -> usize + use<>, String> {
    let HttpRunArgs { requests, load, .. } =
        Line::try_parse_from(options).map_err(|error| error.to_string())?.run;
    written(&requests, &load).map_err(|error| format!("{error:#}"))
}
