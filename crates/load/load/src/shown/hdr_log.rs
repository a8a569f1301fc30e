//! Writes a log of HDR histograms for each interval, in a format that other tools can read.

use crate::console::LogFile;
use crate::results::stats::OperationStats;
use anyhow::Context;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The log reader of the original HDR library requires this line, and the line `LEGEND` after it.
const FORMAT: &str = "[Histogram log format version 1.3]";
const LEGEND: &str =
    r#""StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram""#;

/// Log readers expect the largest value of an interval in milliseconds, so that value is divided by this number.
const NANOS_PER_MILLI: f64 = 1e6;

const CANNOT_WRITE: &str = "cannot write --hdr";

/// A log with the histograms of each second. The lines of a second are written at its end, so the lines so far are kept
/// if the run ends unexpectedly.
#[derive(Debug)]
pub(crate) struct HdrLog(LogFile);

impl HdrLog {
    pub(crate) fn create(path: &Path) -> anyhow::Result<HdrLog> {
        LogFile::create("--hdr", path).map(HdrLog)
    }

    pub(crate) fn begin(&mut self, start: SystemTime) -> anyhow::Result<()> {
        self.0.begin().context(CANNOT_WRITE)?;
        let mut lines = Vec::new();
        IntervalLogWriterBuilder::new()
            .add_comment(FORMAT)
            .add_comment(
                "Times in nanoseconds, Interval_Max in milliseconds; tags: wait, service (uncorrected), \
                 response (corrected)",
            )
            .with_start_time(start)
            .with_base_time(start)
            .with_max_value_divisor(NANOS_PER_MILLI)
            .begin_log_with(&mut lines, &mut V2DeflateSerializer::new())
            .map(drop)
            .and_then(|()| writeln!(lines, "{LEGEND}"))
            .and_then(|()| self.0.append(&lines))
            .context(CANNOT_WRITE)
    }

    /// Writes the histograms of an interval. `start` is the beginning of the interval, measured from the start of the
    /// schedule.
    pub(crate) fn write(
        &mut self,
        start: Duration,
        duration: Duration,
        stats: &OperationStats,
    ) -> anyhow::Result<()> {
        let mut serializer = V2DeflateSerializer::new();
        let mut lines = Vec::new();
        // The log needs only one head, so the writer of this interval writes none.
        let mut log = IntervalLogWriterBuilder::new()
            .with_max_value_divisor(NANOS_PER_MILLI)
            .begin_log_with(&mut lines, &mut serializer)
            .context(CANNOT_WRITE)?;
        for (tag, times) in
            [("wait", &stats.wait), ("service", &stats.service), ("response", &stats.response)]
        {
            log.write_histogram(times, start, duration, Tag::new(tag)).context(CANNOT_WRITE)?;
        }
        self.0.append(&lines).context(CANNOT_WRITE)
    }
}
