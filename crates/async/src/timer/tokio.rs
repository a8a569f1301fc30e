//! A timer of the operating system in tokio's reactor, because tokio's own timers count whole
//! milliseconds.

use super::alarm::Timer;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::io;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::runtime::Handle;

/// A timerfd in the reactor of the tokio runtime that it was made in.
///
/// It wakes tasks of any runtime, as long as its own goes on. When that has ended it moves to the
/// runtime from which it is set next.
#[derive(Debug)]
pub struct TokioTimer(Mutex<AsyncFd<OwnedFd>>);

impl TokioTimer {
    /// A timer in the runtime that the caller runs in.
    ///
    /// # Errors
    /// When the caller runs in no tokio runtime, when the runtime does no I/O (`enable_io` was not
    /// called), or when the system has no file descriptor left.
    pub fn new() -> io::Result<TokioTimer> {
        Ok(TokioTimer(Mutex::new(timerfd()?)))
    }
}

fn timerfd() -> io::Result<AsyncFd<OwnedFd>> {
    Handle::try_current().map_err(io::Error::other)?;
    let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
    let fd = timerfd_create(TimerfdClockId::Monotonic, flags)?;
    #[expect(deprecated, reason = "its successor is unsafe, for types that are no OwnedFd")]
    let register = || AsyncFd::new(fd);
    // Panics where the runtime was built without I/O, and there is no way to ask for that.
    let registered = catch_unwind(AssertUnwindSafe(register));
    registered.unwrap_or_else(|_| Err(io::Error::other("the runtime does no I/O: enable_io()")))
}

impl Timer for TokioTimer {
    fn set(&self, delay: Duration, waker: &Waker) {
        let mut fd = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if arm(&fd, delay, waker).is_err() {
            // Its runtime has ended.
            let moved = timerfd().and_then(|new| {
                *fd = new;
                arm(&fd, delay, waker)
            });
            if moved.is_err() {
                // Nothing is left to wake it but itself, and that must not be forgotten.
                waker.wake_by_ref();
            }
        }
    }

    fn wake_another(&self, waker: &Waker) {
        let fd = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // An error, because the runtime has ended, is the next `set`'s business.
        if fd.poll_read_ready(&mut Context::from_waker(waker)).is_ready() {
            waker.wake_by_ref();
        }
    }
}

fn arm(fd: &AsyncFd<OwnedFd>, delay: Duration, waker: &Waker) -> io::Result<()> {
    let mut context = Context::from_waker(waker);
    // What is left of the alarm before. Cleared first: an alarm that comes from here on stays.
    if let Poll::Ready(ready) = fd.poll_read_ready(&mut context) {
        ready?.clear_ready();
    }
    timerfd_settime(fd.get_ref(), TimerfdTimerFlags::empty(), &once(delay))?;
    if fd.poll_read_ready(&mut context).map_ok(|mut ready| ready.retain_ready())?.is_ready() {
        waker.wake_by_ref();
    }
    Ok(())
}

/// Zero would disarm it.
fn once(delay: Duration) -> Itimerspec {
    let delay = delay.max(Duration::from_nanos(1));
    let it_value = Timespec {
        tv_sec: i64::try_from(delay.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: delay.subsec_nanos().into(),
    };
    Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value }
}
