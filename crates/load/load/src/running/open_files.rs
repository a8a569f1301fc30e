//! Raises the limit of open files before a run at least to the number that the run needs.

use super::workers::any_backend::AnyBackend;
use super::workers::threads;
use crate::console::human::count;
use anyhow::bail;
use std::io;
use std::sync::Arc;

/// An allowance for the files of results, logs, signals, the control server, a fleet's store, metrics, and the embedded
/// target's listener.
const OTHERS: u64 = 50;

/// An allowance for the files of each thread: an event queue, a waker and timers.
const EACH_THREAD: u64 = 8;

pub(super) fn needed(target: &Arc<dyn AnyBackend>, sessions: u32, threads: Option<u16>) -> u64 {
    // The number of threads is computed without a rate, because a search changes the rate.
    let threads = threads::sessions(target, sessions, threads, None);
    let runtimes = if Arc::clone(target).blocking().is_some() { 1 } else { threads.len() };
    target.open_files(&threads) + OTHERS + EACH_THREAD * runtimes as u64
}

pub(super) fn allow(
    target: &Arc<dyn AnyBackend>,
    sessions: u32,
    threads: Option<u16>,
) -> anyhow::Result<()> {
    let needs = needed(target, sessions, threads);
    let Some(most) = limit_below(needs)? else { return Ok(()) };
    let fits = most_sessions(sessions, |sessions| needed(target, sessions, threads) <= most);
    let fewer = match fits {
        0 => String::new(),
        fits => format!(", or use {} at most", count(fits, "connection")),
    };
    let sessions = count(sessions, "connection");
    bail!(
        "{sessions} would need {needs} open files, and the hard limit is {most}: raise it (as root: ulimit -n {needs}){fewer}"
    )
}

pub(super) fn allow_together(needs: u64) -> anyhow::Result<()> {
    let Some(most) = limit_below(needs)? else { return Ok(()) };
    bail!(
        "the loads need {needs} open files, and the hard limit is {most}: raise it (as root: ulimit -n {needs})"
    )
}

/// Raises the soft limit to twice `needs`, but at most to the hard limit, because attempts to connect can overlap, and
/// so can the steps of a search. If the hard limit is below `needs`, returns the hard limit instead.
#[cfg(unix)]
fn limit_below(needs: u64) -> io::Result<Option<u64>> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(2 * needs, |most| most.min(2 * needs));
    if wanted < needs {
        return Ok(Some(wanted));
    }
    if limit.current.is_some_and(|current| current < wanted) {
        setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..limit })?;
    }
    Ok(None)
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the version for Unix can fail")]
fn limit_below(_: u64) -> io::Result<Option<u64>> {
    Ok(None)
}

/// Returns the maximum number of sessions below `sessions` for which `fits` holds, or 0.
fn most_sessions(sessions: u32, fits: impl Fn(u32) -> bool) -> u32 {
    let (mut most, mut too_many) = (0, sessions);
    while too_many - most > 1 {
        let middle = most + (too_many - most) / 2;
        if fits(middle) { most = middle } else { too_many = middle }
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::backend::Backend;
    use crate::load::target::{Done, Failure, Slot};

    struct Opens(u64);

    impl Backend for Opens {
        type Session = ();

        async fn connect(&self, _index: usize) -> Result<(), Failure> {
            Ok(())
        }

        async fn call(&self, _session: &mut (), _slot: Slot) -> Result<Done, Failure> {
            Ok(Done::new())
        }

        fn name(&self) -> String {
            "test".to_owned()
        }

        fn open_files(&self, sessions: &[usize]) -> u64 {
            self.0 * sessions.iter().sum::<usize>() as u64
        }
    }

    #[test]
    fn what_a_run_needs_grows_with_its_sessions_and_threads() {
        let needs = |each, sessions, threads| {
            let target: Arc<dyn AnyBackend> = Arc::new(Opens(each));
            needed(&target, sessions, Some(threads))
        };
        assert_eq!(needs(1, 100, 2), 100 + OTHERS + 2 * EACH_THREAD);
        assert_eq!(needs(3, 100, 2), 300 + OTHERS + 2 * EACH_THREAD);
        // Each thread has at least one session.
        assert_eq!(needs(1, 3, 8), 3 + OTHERS + 3 * EACH_THREAD);
        let blocks: Arc<dyn AnyBackend> =
            Arc::new(|_: Slot| -> Result<Done, Failure> { Ok(Done::new()) });
        assert_eq!(needed(&blocks, 100, Some(2)), 100 + OTHERS + EACH_THREAD);
    }

    #[test]
    fn the_highest_number_that_fits_is_found() {
        for most in [0, 1, 2, 322, 498, 499] {
            assert_eq!(most_sessions(500, |sessions| sessions <= most), most);
        }
        assert_eq!(most_sessions(1, |_| false), 0);
    }
}
