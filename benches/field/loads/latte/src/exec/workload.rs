//! Defines a workload whose cycles record their start.

use crate::error::Result;
use std::time::Instant;

pub struct Workload;

pub struct WorkloadStats;

pub struct Context;

impl Workload {
    pub fn clone(&self) -> Result<Workload> {
        Ok(Workload)
    }

    pub async fn run(&self, cycle: i64, _scheduled: Instant) -> Result<(i64, Instant)> {
        stamps::stamp();
        Ok((cycle, Instant::now()))
    }

    pub fn context(&self) -> Context {
        Context
    }

    pub fn reset(&self, _start: Instant) {}

    pub fn take_stats(&self, _end: Instant) -> WorkloadStats {
        WorkloadStats
    }
}

impl Context {
    pub fn report_metadata_snapshot(&self) {}

    pub fn metric_orientations_snapshot(&self) {}
}
