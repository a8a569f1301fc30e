//! Writes the intended starts to a file, one per line.

use crate::console::interrupt::Interrupt;
use crate::console::{Progress, human};
use crate::load::schedule::recording::rows::HEADER;
use std::io::{self, BufWriter, Write};
use std::time::{Duration, Instant};

const TICK: Duration = Duration::from_secs(1);
/// The number of starts between two checks of the clock and the interrupt.
const BATCH: usize = 4_096;

/// Writes the starts until an interrupt. Returns whether all were written.
pub(crate) fn write(
    mut starts: impl Iterator<Item = Duration>,
    to: impl Write,
    interrupt: &Interrupt,
) -> io::Result<bool> {
    let mut to = BufWriter::new(to);
    writeln!(to, "{HEADER}")?;
    let mut watch = Watch { progress: Progress::of_a_job(), shown: Instant::now(), written: 0 };
    let is_complete = loop {
        let mut last = None;
        for start in starts.by_ref().take(BATCH) {
            writeln!(to, "{}.{:09}", start.as_secs(), start.subsec_nanos())?;
            watch.written += 1;
            last = Some(start);
        }
        let Some(last) = last else { break true };
        if interrupt.is_triggered() {
            watch.progress.add_line(&format!(
                "interrupted after {}; the list is incomplete",
                human::count(watch.written, "start")
            ));
            break false;
        }
        watch.show(last);
    };
    to.flush()?;
    Ok(is_complete)
}

struct Watch {
    progress: Progress,
    shown: Instant,
    written: u64,
}

impl Watch {
    fn show(&mut self, last: Duration) {
        if self.shown.elapsed() >= TICK {
            self.shown = Instant::now();
            let (written, time) = (human::count(self.written, "start"), human::long_time(last));
            self.progress.show(&format_args!("{written} written, up to {time}"));
        }
    }
}
