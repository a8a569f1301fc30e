//! Defines the options of `nanopace witness`. Their doc comments are its `--help` page.

use crate::console::human::positive_duration;
use crate::results::evenness::ExpectedLoad;
use crate::running::control::args::address;
use clap::{Args, value_parser};
use nanopace::{Rate, RateError};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) const HELP: &str = "\
Examples:
  nanopace witness --expect 10k/s
  nanopace witness --expect 10k/s --arrivals poisson -z 30s --svg gaps.svg
  nanopace witness --listen 127.0.0.1:9000 --expect 2k/s -n 20000 --json -

Send a load to the address of --listen. The measurement ends with Ctrl-C, after --requests, or
after --duration, even if no request arrives. The exit status is 4 if there were too few requests.

The report has, from top to bottom:
  requests  number and rate of the requests that arrived
  gaps      share of gaps between requests within 25 % of the nominal gap, and the gaps'
            standard deviation divided by their mean: 0 for even arrivals, 1 for Poisson
  distance  largest difference between the distribution of the gaps and the expected one
            (Kolmogorov-Smirnov), from 0 to 1; for even arrivals, a gap within 25 % of nominal
            counts as nominal
  lateness  percentiles of the lateness of requests, measured from the latest even schedule for
            which no request is early (even arrivals)
  bursts    largest number of requests in any 1 ms and in any 10 ms, and the share of requests in
            windows with more than 2 requests and more than twice the expected number
  check     whether the arrivals were as expected (Poisson: from 101 requests on), or a caution
  stamps    source of the arrival times: the kernel, or this program when it read the request";

/// The options of `nanopace witness`.
#[derive(Debug, Args)]
pub(crate) struct WitnessArgs {
    /// Serve HTTP/1.1 at this address; port 0 chooses a free port
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9000", value_parser = address)]
    pub(crate) listen: SocketAddr,

    /// Compare the load with this rate, as in 10k/s
    #[arg(long, value_name = "RATE", value_parser = positive_rate)]
    expect: Rate,

    /// Compare the load with these arrivals
    #[arg(long, value_name = "PROCESS", default_value = "even", value_parser = ["even", "poisson"])]
    arrivals: String,

    /// Leave out the requests that arrive less than this time after the first request
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = humantime::parse_duration)]
    pub(crate) warmup: Duration,

    /// Measure for this time after the warm-up; the warm-up begins with the first request
    #[arg(long, short = 'z', value_name = "TIME", value_parser = positive_duration)]
    pub(crate) duration: Option<Duration>,

    /// Stop once this number of requests has arrived after the warm-up; each takes 8 bytes of memory, about 45 at the
    /// end
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 10_000_000, value_parser = value_parser!(u64).range(1..))]
    pub(crate) requests: u64,

    /// Write the results as JSON; with -, write them to standard output and the report to standard error
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) json: Option<PathBuf>,

    /// Draw the gaps as SVG, with the lateness over time (even) or the distribution of gaps (poisson); - is
    /// standard output
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) svg: Option<PathBuf>,
}

fn positive_rate(text: &str) -> Result<Rate, String> {
    text.parse().map_err(|error| match error {
        RateError::Zero => "write a positive rate such as 1/h".to_owned(),
        error => error.to_string(),
    })
}

impl WitnessArgs {
    pub(crate) fn expected(&self) -> ExpectedLoad {
        ExpectedLoad { rate: self.expect.as_hz(), is_poisson: self.arrivals == "poisson" }
    }
}
