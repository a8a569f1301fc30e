//! How much processor time the load threads had and wanted. This tells a slow target from a
//! generator that is short of it.

use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The load threads, by the numbers that the system gives them.
#[derive(Debug, Default)]
pub(crate) struct LoadThreads(Mutex<Vec<Thread>>);

#[derive(Debug)]
struct Thread {
    id: u32,
    /// What it was when it was looked at last, which is kept when the thread has ended.
    time: ProcessorTime,
}

/// Processor time, summed over threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProcessorTime {
    /// Time in which they ran.
    pub(crate) had: Duration,
    /// Time in which they ran or were ready to run.
    pub(crate) wanted: Duration,
}

impl ProcessorTime {
    /// The time since `earlier`.
    pub(crate) fn since(self, earlier: ProcessorTime) -> ProcessorTime {
        ProcessorTime {
            had: self.had.saturating_sub(earlier.had),
            wanted: self.wanted.saturating_sub(earlier.wanted),
        }
    }
}

impl LoadThreads {
    /// Adds the calling thread, where the system can tell threads apart (Linux).
    pub(crate) fn add_current(&self) {
        #[cfg(target_os = "linux")]
        {
            let id = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
            self.threads().push(Thread { id, time: ProcessorTime::default() });
        }
    }

    /// What all of them had so far. None where the system does not say.
    pub(crate) fn time(&self) -> Option<ProcessorTime> {
        let mut threads = self.threads();
        for thread in threads.iter_mut() {
            thread.time = read(thread.id).unwrap_or(thread.time);
        }
        let times = threads.iter().map(|thread| thread.time);
        times.reduce(|a, b| ProcessorTime { had: a.had + b.had, wanted: a.wanted + b.wanted })
    }

    fn threads(&self) -> MutexGuard<'_, Vec<Thread>> {
        // A thread that panics ends the run with its own message; this must not add another.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(id: u32) -> Option<ProcessorTime> {
    parse_schedstat(&fs::read_to_string(format!("/proc/self/task/{id}/schedstat")).ok()?)
}

/// `ON_CPU IN_QUEUE SLICES`, the first two in nanoseconds.
fn parse_schedstat(text: &str) -> Option<ProcessorTime> {
    let mut fields = text.split_whitespace().map(|field| field.parse().ok());
    let [had, queued] = [fields.next()??, fields.next()??].map(Duration::from_nanos);
    Some(ProcessorTime { had, wanted: had + queued })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_first_two_fields() {
        let time =
            ProcessorTime { had: Duration::from_nanos(1_500), wanted: Duration::from_micros(2) };
        assert_eq!(parse_schedstat("1500 500 7\n"), Some(time));
        for text in ["", "12", "a b c", "-1 2 3"] {
            assert_eq!(parse_schedstat(text), None, "{text:?}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_thread_had_is_kept_when_it_has_ended() {
        let threads = LoadThreads::default();
        assert_eq!(threads.time(), None);
        let before = std::thread::scope(|scope| {
            scope.spawn(|| {
                threads.add_current();
                (0..1_000_000).for_each(|i| assert!(std::hint::black_box(i) >= 0));
                threads.time()
            });
            threads.time()
        });
        let after = threads.time().unwrap();
        assert!(after.had > Duration::ZERO && after.had <= after.wanted, "{before:?} {after:?}");
        assert_eq!(threads.time(), Some(after));
    }
}
