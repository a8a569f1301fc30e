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

/// Processor time of a thread, or a sum of such.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProcessorTime {
    /// Time in which it ran.
    pub(crate) had: Duration,
    /// Time in which it ran or was ready to run.
    pub(crate) wanted: Duration,
}

impl ProcessorTime {
    /// That of the calling thread so far. Nothing where the system does not say.
    pub(crate) fn of_this_thread() -> ProcessorTime {
        read("thread-self").unwrap_or_default()
    }

    /// Time in which it was ready to run, and did not.
    pub(crate) fn queued(self) -> Duration {
        self.wanted.saturating_sub(self.had)
    }

    /// The time since `earlier`.
    pub(crate) fn since(self, earlier: ProcessorTime) -> ProcessorTime {
        ProcessorTime {
            had: self.had.saturating_sub(earlier.had),
            wanted: self.wanted.saturating_sub(earlier.wanted),
        }
    }
}

/// The time of each thread since `then`.
pub(crate) fn since(now: &[ProcessorTime], then: &[ProcessorTime]) -> Vec<ProcessorTime> {
    now.iter().zip(then).map(|(now, then)| now.since(*then)).collect()
}

/// The time of all threads together. None if it is not known.
pub(crate) fn sum(times: Vec<ProcessorTime>) -> Option<ProcessorTime> {
    let add = |a: ProcessorTime, b: ProcessorTime| ProcessorTime {
        had: a.had + b.had,
        wanted: a.wanted + b.wanted,
    };
    times.into_iter().reduce(add)
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

    /// Notes what the calling thread has had. To be done before it ends: then the system forgets it.
    pub(crate) fn end_current(&self) {
        #[cfg(target_os = "linux")]
        {
            let id = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
            let time = ProcessorTime::of_this_thread();
            self.threads().iter_mut().filter(|thread| thread.id == id).for_each(|thread| {
                thread.time = time;
            });
        }
    }

    /// What each of them had so far. Nothing where the system does not say.
    pub(crate) fn times(&self) -> Vec<ProcessorTime> {
        let mut threads = self.threads();
        for thread in threads.iter_mut() {
            let time = read(&format!("self/task/{}", thread.id));
            thread.time = time.unwrap_or(thread.time);
        }
        threads.iter().map(|thread| thread.time).collect()
    }

    fn threads(&self) -> MutexGuard<'_, Vec<Thread>> {
        // A thread that panics ends the run with its own message; this must not add another.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The time of the thread with this path in `/proc`.
fn read(thread: &str) -> Option<ProcessorTime> {
    parse_schedstat(&fs::read_to_string(format!("/proc/{thread}/schedstat")).ok()?)
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
        assert_eq!(sum(threads.times()), None);
        let before = std::thread::scope(|scope| {
            scope.spawn(|| {
                threads.add_current();
                (0..1_000_000).for_each(|i| assert!(std::hint::black_box(i) >= 0));
                threads.times()
            });
            threads.times()
        });
        let after = sum(threads.times()).unwrap();
        assert!(after.had > Duration::ZERO && after.had <= after.wanted, "{before:?} {after:?}");
        assert_eq!(threads.times(), [after]);
    }
}
