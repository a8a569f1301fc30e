//! Reads the CPU time of threads from the operating system.

use crate::console::panics::locked;
use crate::results::cpu_time::CpuTime;
use std::fs::File;
use std::io::Read as _;
use std::sync::Mutex;
use std::time::Duration;

pub(crate) fn of_this_thread() -> CpuTime {
    read("/proc/thread-self/schedstat").unwrap_or_default()
}

#[derive(Debug, Default)]
pub(crate) struct LoadThreads(Mutex<Vec<Thread>>);

#[derive(Debug)]
struct Thread {
    id: u32,
    /// The CPU time at the last reading. It is kept after the thread has ended.
    time: CpuTime,
}

impl LoadThreads {
    pub(crate) fn add_current(&self) {
        #[cfg(target_os = "linux")]
        {
            let id = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
            locked(&self.0).push(Thread { id, time: CpuTime::default() });
        }
    }

    /// Records the CPU time of the calling thread, which must call this method before it ends. The system does not
    /// report the CPU time of an ended thread.
    pub(crate) fn end_current(&self) {
        #[cfg(target_os = "linux")]
        {
            let id = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
            let time = of_this_thread();
            locked(&self.0).iter_mut().filter(|thread| thread.id == id).for_each(|thread| {
                thread.time = time;
            });
        }
    }

    /// Returns the CPU times of all threads. The list is empty on systems other than Linux.
    pub(crate) fn times(&self) -> Vec<CpuTime> {
        let mut threads = locked(&self.0);
        for thread in threads.iter_mut() {
            let time = read(&format!("/proc/self/task/{}/schedstat", thread.id));
            thread.time = time.unwrap_or(thread.time);
        }
        threads.iter().map(|thread| thread.time).collect()
    }
}

/// Reads the CPU time from a file. Allocates no memory, because load threads read their CPU time about every 10 ms.
fn read(path: &str) -> Option<CpuTime> {
    let mut text = [0; 64];
    let length = File::open(path).ok()?.read(&mut text).ok()?;
    parse_schedstat(str::from_utf8(&text[..length]).ok()?)
}

/// Parses `ON_CPU IN_QUEUE SLICES`. The first two numbers are times in nanoseconds.
fn parse_schedstat(text: &str) -> Option<CpuTime> {
    let mut fields = text.split_whitespace().map(|field| field.parse().ok());
    let [had, queued] = [fields.next()??, fields.next()??].map(Duration::from_nanos);
    Some(CpuTime { had, wanted: had + queued })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::cpu_time::sum;

    #[test]
    fn reads_the_first_two_fields() {
        let time = CpuTime { had: Duration::from_nanos(1_500), wanted: Duration::from_micros(2) };
        assert_eq!(parse_schedstat("1500 500 7\n"), Some(time));
        for text in ["", "12", "a b c", "-1 2 3"] {
            assert_eq!(parse_schedstat(text), None, "{text:?}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_cpu_time_of_a_thread_is_kept_when_it_has_ended() {
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
        // The thread may exist for some more time after its work has ended.
        let path = format!("/proc/self/task/{}", locked(&threads.0)[0].id);
        while std::fs::exists(&path).unwrap() {
            std::thread::yield_now();
        }
        let after = sum(threads.times()).unwrap();
        assert!(after.had > Duration::ZERO && after.had <= after.wanted, "{before:?} {after:?}");
        assert_eq!(threads.times(), [after]);
    }
}
