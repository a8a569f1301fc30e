//! Defines a recorder that stores nothing, because the stamps contain all starts.

use crate::WorkloadStats;
use std::num::NonZeroUsize;

pub struct BenchmarkStats;

pub struct Recorder;

pub mod histogram {
    pub trait HistogramWriter {}
}

impl Recorder {
    pub fn start(
        _rate: Option<f64>,
        _concurrency: NonZeroUsize,
        _keep_log: bool,
        _writer: &mut Option<Box<dyn histogram::HistogramWriter>>,
    ) -> Recorder {
        Recorder
    }

    pub fn record(&mut self, _stats: &[WorkloadStats]) -> &'static str {
        ""
    }

    pub fn finish(self, _metadata: (), _orientations: ()) -> BenchmarkStats {
        BenchmarkStats
    }
}
