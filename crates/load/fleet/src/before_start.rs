//! Limits how long a node waits before its run starts.

use crate::error::FleetError;
use crate::start_barrier::Waits;
use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};

const LOOK: Duration = Duration::from_millis(20);

pub(crate) struct Waiting<W> {
    watch: W,
    began: Instant,
    limit: Duration,
}

impl<W: FnMut(Waits) -> ControlFlow<()>> Waiting<W> {
    pub(crate) fn new(watch: W, limit: Duration) -> Waiting<W> {
        Waiting { watch, began: Instant::now(), limit }
    }

    pub(crate) fn goes_on(&mut self, waits: Waits) -> Result<(), FleetError> {
        if (self.watch)(waits).is_break() {
            return Err(FleetError::Waiting(waits));
        }
        if self.began.elapsed() >= self.limit {
            return Err(FleetError::NotStarted(self.limit, waits));
        }
        thread::sleep(LOOK);
        Ok(())
    }
}
