//! Writes the logs of a run in progress. If a log cannot be written, that log ends, but the run continues.

use super::csv_log::{CsvLog, Second};
use super::hdr_log::HdrLog;
use std::time::{Duration, SystemTime};

#[derive(Debug, Default)]
pub(crate) struct Logs {
    hdr: Option<HdrLog>,
    csv: Option<CsvLog>,
    lost: Option<anyhow::Error>,
    /// The end of the warm-up, measured from the start of the schedule.
    recorded_from: Duration,
}

impl Logs {
    pub(crate) fn new(hdr: Option<HdrLog>, csv: Option<CsvLog>, warmup: Duration) -> Logs {
        Logs { hdr, csv, lost: None, recorded_from: warmup }
    }

    pub(crate) fn begin(&mut self, start: SystemTime) {
        let written = self.hdr.as_mut().map_or(Ok(()), |hdr| hdr.begin(start));
        self.keep_hdr(written);
        let written = self.csv.as_mut().map_or(Ok(()), CsvLog::begin);
        self.keep_csv(written);
    }

    pub(crate) fn write(&mut self, second: &Second<'_>) {
        let length = second.to.saturating_sub(second.from);
        let hdr = self.hdr.as_mut();
        let written = hdr.map_or(Ok(()), |hdr| hdr.write(second.from, length, second.stats));
        self.keep_hdr(written);
        if second.to > self.recorded_from {
            let second = second.after(self.recorded_from);
            let written = self.csv.as_mut().map_or(Ok(()), |csv| csv.write(&second));
            self.keep_csv(written);
        }
    }

    fn keep_hdr(&mut self, written: anyhow::Result<()>) {
        if let Err(error) = written {
            (self.hdr, self.lost) = (None, Some(error));
        }
    }

    fn keep_csv(&mut self, written: anyhow::Result<()>) {
        if let Err(error) = written {
            (self.csv, self.lost) = (None, Some(error));
        }
    }

    pub(crate) fn end(self) -> anyhow::Result<()> {
        self.lost.map_or(Ok(()), Err)
    }
}
