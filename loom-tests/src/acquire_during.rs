//! Runs a task that requests a slot while another thread changes the pacer.

use loom::sync::atomic::{AtomicBool, Ordering::Relaxed};
use nanopace::driver::Drive as _;
use nanopace::{Grant, Pacer, Refused};
use std::sync::Arc;
use std::task::{Wake, Waker};

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        // Relaxed: the flag is read after the threads have been joined.
        self.0.store(true, Relaxed);
    }
}

/// The observations of a task.
#[derive(Debug)]
pub struct Acquired {
    /// The result of the task's `try_acquire`.
    pub result: Result<Grant, Refused>,
    /// Whether the task was woken before both threads had ended.
    pub woken: bool,
}

/// Runs a task that sets its watch and tries to acquire a slot, while this thread changes the pacer.
///
/// # Panics
/// Panics if the task panics.
pub fn acquire_during(pacer: &Pacer, change: impl FnOnce()) -> Acquired {
    let flag = Arc::new(Flag(AtomicBool::new(false)));
    let waker = Waker::from(Arc::clone(&flag));
    let task = crate::spawn_with(pacer, move |pacer| {
        let watch = pacer.watch();
        watch.set(&waker);
        let result = pacer.try_acquire();
        (watch, result)
    });
    change();
    let (_watch, result) = task.join().unwrap();
    Acquired { result, woken: flag.0.load(Relaxed) }
}
