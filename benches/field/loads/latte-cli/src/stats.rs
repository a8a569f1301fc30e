//! Defines a recorder that stores nothing, because the stamps contain all starts.

use crate::WorkloadStats;
use std::num::NonZeroUsize;

pub struct BenchmarkStats;

pub struct Recorder;

impl Recorder {
    pub fn start(_rate: Option<f64>, _concurrency: NonZeroUsize, _keep_log: bool) -> Recorder {
        Recorder
    }

    pub fn record(&mut self, _stats: &[WorkloadStats]) -> &'static str {
        ""
    }

    pub fn finish(self) -> BenchmarkStats {
        BenchmarkStats
    }
}
