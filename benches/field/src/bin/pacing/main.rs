//! The way in which a tool paces, by itself: as it is, or with nanopace in its place.
//!
//! For tools that need a cluster and whose sources do not come with cargo. Nothing here is theirs: each file
//! says in words what the tool does, and does the same. An operation records that it starts.

mod cql_stress;
mod nb_rs;

use anyhow::{Context, Result, bail};
use nanopace::{Pacer, Rate};
use nanopace_async::AsyncPacer;
use std::str::FromStr;
use std::time::Duration;
use tokio::time::Instant;

const USAGE: &str = "usage: pacing cql-stress|nb-rs before|after RATE SECONDS [ONE_IN]";
const TASKS: usize = 32;

/// What is asked of a tool.
#[derive(Clone, Copy)]
struct Asked {
    is_after: bool,
    rate: f64,
    end: Instant,
    /// One operation in so many fails at its first try; 0 for none.
    one_in: u64,
}

#[tokio::main]
async fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [tool, state, rate, seconds, rest @ ..] = &words[..] else { bail!(USAGE) };
    let asked = Asked {
        is_after: state == "after",
        rate: rate.parse()?,
        end: Instant::now() + Duration::from_secs(seconds.parse()?),
        one_in: rest.first().map_or(Ok(0), |word| u64::from_str(word))?,
    };
    stamps::prepare();
    let times = match tool.as_str() {
        "cql-stress" => cql_stress::run(asked).await?,
        "nb-rs" => nb_rs::run(asked).await?,
        _ => bail!(USAGE),
    };
    print(times)?;
    Ok(stamps::write()?)
}

impl Asked {
    fn pacer(&self) -> Result<AsyncPacer> {
        let pacer = Pacer::builder(Rate::from_hz(self.rate)?).start_on_first_use().build();
        Ok(AsyncPacer::new(pacer)?)
    }
}

/// The response times that the tool would report.
fn print(mut times: Vec<Duration>) -> Result<()> {
    times.sort_unstable();
    let longest = *times.last().context("no operation")?;
    let [p50, p99] = [50, 99].map(|percent| times[times.len() * percent / 100]);
    println!("{} operations; response time p50 {p50:?}, p99 {p99:?}, max {longest:?}", times.len());
    Ok(())
}
