//! Runs a balter scenario whose transactions only record their start.

use balter::prelude::*;
use std::error::Error;
use std::time::Duration;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [rate, seconds] = &arguments[..] else { return Err("usage: load-balter RATE SECONDS".into()) };
    stamps::prepare();
    start_operations().tps(rate.parse()?).duration(Duration::from_secs(seconds.parse()?)).await;
    Ok(stamps::write()?)
}

#[scenario]
async fn start_operations() {
    let _ = start_operation().await;
}

#[transaction]
async fn start_operation() -> Result<(), std::io::Error> {
    stamps::stamp();
    Ok(())
}
