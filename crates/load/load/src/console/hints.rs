//! Suggests replacements for options and commands of other load generators.

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Options and commands of ab, autocannon, bombardier, hey, k6, Locust, oha, vegeta, wrk and wrk2, with advice.
const ADVICE: [(&[&str], &str); 22] = [
    (
        &["--rps", "--qps", "--tps", "--query-per-second", "--throughput", "-q", "-r", "-R"],
        "write --rate 100/s; the rate is the sum over all connections",
    ),
    (
        &["--vus", "--users", "--concurrency", "--clients", "--workers", "-u"],
        "write --connections 50, which is also the maximum number of requests in flight",
    ),
    (&["--time", "--run-time", "--runtime", "--timelimit"], "write --duration 30s"),
    (
        &["--iteration", "--iterations", "--amount", "--number", "--count", "-i"],
        "write --requests 1000",
    ),
    (
        &["--stage", "--stages", "--spawn-rate", "--ramp-up", "--rampup"],
        "write --shape \"ramp 0/s..1k/s 1min, hold 5min\"",
    ),
    (
        &["--output", "--out", "--output-format", "--summary-export", "--format", "-o"],
        "write --json FILE; with --json -, the results go to standard output",
    ),
    (&["-e", "-g"], "write --csv FILE"),
    (&["--post-file", "-p"], "write --body-file FILE"),
    (&["--content-type", "-T"], "write --header \"Content-Type: application/json\""),
    (
        &["--accept", "-A"],
        "write --header \"Accept: text/html\"; for a login, write --basic-auth USER:PASSWORD",
    ),
    (&["--cookie", "-C"], "write --header \"Cookie: NAME=VALUE\""),
    (&["--user-agent"], "write --header \"User-Agent: NAME\""),
    (&["--host"], "write --url URL; for the header field, write --header \"Host: NAME\""),
    (&["-x"], "write --proxy localhost:3128"),
    (
        &["--script", "--locustfile", "-s", "-f"],
        "write --scenario FILE; 'help scenarios' describes the file",
    ),
    (&["--threshold", "--thresholds"], "write --fail-if \"p99 response < 50ms\""),
    (&["--no-verify", "--insecure-skip-tls-verify"], "write --insecure"),
    (&["--headless", "--no-color"], "write --no-tui"),
    (
        &["--latency", "--latencies", "--latency-correction", "--percentiles", "-l"],
        "leave it out; each report has percentiles of response times, which include late starts",
    ),
    (
        &["--keepalive", "--keep-alive", "--redirect", "--redirects", "--disable-redirects"],
        "leave it out; connections are kept open, and redirects are not followed",
    ),
    (
        &["attack", "bench", "benchmark", "load", "start", "test"],
        "write run, or leave the command out",
    ),
    (&["report", "plot", "encode", "dump"], "write run --json FILE or run --html FILE"),
];

const OTLP: [&str; 2] = ["--otlp", "--otlp-interval"];

pub(super) fn about(error: &Error) -> Option<String> {
    let word = |kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.as_str()),
        _ => None,
    };
    let [option, command] = [ContextKind::InvalidArg, ContextKind::InvalidSubcommand].map(word);
    let word = match (error.kind(), command) {
        (ErrorKind::ArgumentConflict, Some(word)) => {
            return Some(format!(
                "unexpected argument '{word}': a command comes first, and a run has one URL"
            ));
        }
        (ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand, command) => {
            option.or(command)?
        }
        _ => return None,
    };
    if OTLP.contains(&word) {
        let install = "cargo install nanopace-cli --features otlp";
        return Some(format!(
            "{word} is not built in: {install}; in your own program, enable the feature otlp of nanopace-load"
        ));
    }
    match ADVICE.iter().find(|(words, _)| words.contains(&word)) {
        Some((_, advice)) => Some(format!("{word} belongs to another load generator: {advice}")),
        None => is_host(error)
            .then(|| format!("'{word}' is not a command; if it is a server, write http://{word}/")),
    }
}

/// Returns whether an unknown command may be the name of a server: it is similar to no command, and a URL is allowed.
fn is_host(error: &Error) -> bool {
    let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
    let is_command = error.get(ContextKind::SuggestedSubcommand).is_some();
    error.kind() == ErrorKind::InvalidSubcommand && !is_command && usage.contains("[URL]")
}
