//! Runs an rlt benchmark whose operations only record their start.

use anyhow::Result;
use async_trait::async_trait;
use clap::Parser;
use rlt::cli::BenchCli;
use rlt::{IterInfo, IterReport, StatelessBenchSuite, Status};
use std::time::Duration;

#[derive(Clone)]
struct Stamp;

#[async_trait]
impl StatelessBenchSuite for Stamp {
    async fn bench(&mut self, _: &IterInfo) -> Result<IterReport> {
        stamps::stamp();
        Ok(IterReport { duration: Duration::ZERO, status: Status::success(0), bytes: 0, items: 1 })
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    stamps::prepare();
    rlt::cli::run(BenchCli::parse(), Stamp).await?;
    Ok(stamps::write()?)
}
