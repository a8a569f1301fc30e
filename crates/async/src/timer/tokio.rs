//! A timer of the operating system in tokio's reactor, because tokio's own timers count whole
//! milliseconds.

use super::alarm::Timer;
use super::thread::ThreadTimer;
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
/// It wakes tasks of any runtime, as long as its own is driven. When that one has ended, the timer
/// goes on in the runtime from which it is set next, or in a thread of its own.
#[derive(Debug)]
pub struct TokioTimer(Mutex<Place>);

#[derive(Debug)]
enum Place {
    Reactor(AsyncFd<OwnedFd>),
    Thread(ThreadTimer),
}

impl TokioTimer {
    /// A timer in the runtime that the caller runs in.
    ///
    /// # Errors
    /// When the caller runs in no tokio runtime, when the runtime does no I/O (`enable_io` was not
    /// called), or when the system has no file descriptor left.
    pub fn new() -> io::Result<TokioTimer> {
        Ok(TokioTimer(Mutex::new(Place::Reactor(timerfd()?))))
    }

    /// Does something in the place where the timer is; and if that has ended, in another.
    fn at_place(&self, waker: &Waker, act: impl Fn(&Place) -> io::Result<()>) {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if act(&place).is_ok() {
            return;
        }
        let moved =
            timerfd().map(Place::Reactor).or_else(|_| ThreadTimer::new().map(Place::Thread));
        let Ok(moved) = moved else { return };
        *place = moved;
        // Whatever it was set to is forgotten: the line sets it again when it rings.
        let soon = Duration::from_millis(1);
        let _ = act(&place).and_then(|()| set(&place, soon, soon, waker));
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
    fn set(&self, delay: Duration, again: Duration, waker: &Waker) {
        self.at_place(waker, |place| set(place, delay, again, waker));
    }

    fn went_off(&self, waker: &Waker) {
        self.at_place(waker, |place| match place {
            Place::Reactor(fd) => {
                listen(fd, waker)?;
                // Having been read it goes off again. An error only says that it has not gone off.
                let _ = rustix::io::read(fd.get_ref(), &mut [0; 8]);
                Ok(())
            }
            Place::Thread(_) => Ok(()),
        });
    }

    fn stop(&self) {
        match &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            // Fails for no timer that exists.
            Place::Reactor(fd) => drop(settime(fd, Duration::ZERO, Duration::ZERO)),
            Place::Thread(timer) => timer.stop(),
        }
    }
}

fn set(place: &Place, delay: Duration, again: Duration, waker: &Waker) -> io::Result<()> {
    match place {
        Place::Reactor(fd) => {
            listen(fd, waker)?;
            // Zero would stop it.
            settime(fd, delay.max(Duration::from_nanos(1)), again)
        }
        Place::Thread(timer) => {
            timer.set(delay, again, waker);
            Ok(())
        }
    }
}

/// Has the reactor wake the waker the next time that the timer goes off.
fn listen(fd: &AsyncFd<OwnedFd>, waker: &Waker) -> io::Result<()> {
    let mut context = Context::from_waker(waker);
    // Ready is what is left of the time before.
    while let Poll::Ready(ready) = fd.poll_read_ready(&mut context) {
        ready?.clear_ready();
    }
    Ok(())
}

fn settime(fd: &AsyncFd<OwnedFd>, delay: Duration, again: Duration) -> io::Result<()> {
    let timespec = |span: Duration| Timespec {
        tv_sec: i64::try_from(span.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: span.subsec_nanos().into(),
    };
    let spec = Itimerspec { it_interval: timespec(again), it_value: timespec(delay) };
    timerfd_settime(fd.get_ref(), TimerfdTimerFlags::empty(), &spec)?;
    Ok(())
}
