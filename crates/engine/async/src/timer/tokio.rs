//! Implements a timer with timerfds in tokio's reactor, because tokio's own timers count whole milliseconds.

use super::alarms::Timer;
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
use std::time::{Duration, Instant};
use tokio::io::unix::AsyncFd;
use tokio::runtime::Handle;

/// A timer in the reactor of the tokio runtime in which it was created.
///
/// The timer wakes tasks of any runtime, as long as its own runtime is driven. After its runtime has ended, the timer
/// moves to the runtime of its next caller, or to its own thread.
#[derive(Debug)]
pub struct TokioTimer(Mutex<Place>);

#[derive(Debug)]
enum Place {
    Reactor(Reactor),
    Thread(ThreadTimer),
}

/// The timers in a reactor. `alarm` goes off for the next start. `again` goes off repeatedly, in case the woken task is
/// not polled. Setting a timer costs more than any other step of a start. `again` is therefore set so far ahead that it
/// rarely has to be set again.
#[derive(Debug)]
struct Reactor {
    alarm: AsyncFd<OwnedFd>,
    again: AsyncFd<OwnedFd>,
    again_at: Option<Instant>,
}

impl TokioTimer {
    /// Creates a timer in the runtime of the caller.
    ///
    /// # Errors
    /// Returns an error if the caller does not run in a tokio runtime or if the system has no file descriptor left.
    /// Returns [`Unsupported`](io::ErrorKind::Unsupported) if the runtime does no I/O: `enable_io` was not called.
    pub fn new() -> io::Result<TokioTimer> {
        Ok(TokioTimer(Mutex::new(Place::Reactor(Reactor::new()?))))
    }

    /// If `act` fails, for example because the runtime has ended, moves the timer to the caller's reactor or to a
    /// thread, and runs `act` again.
    fn at_place(&self, waker: &Waker, act: impl Fn(&mut Place) -> io::Result<()>) {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if act(&mut place).is_ok() {
            return;
        }
        let moved =
            Reactor::new().map(Place::Reactor).or_else(|_| ThreadTimer::new().map(Place::Thread));
        let Ok(moved) = moved else { return };
        *place = moved;
        // The move loses the time for which the timer was set. The timer therefore rings soon, and the queue then sets
        // it again.
        let soon = Duration::from_millis(1);
        let _ = act(&mut place).and_then(|()| place.set(soon, soon, waker));
    }
}

impl Timer for TokioTimer {
    fn set(&self, delay: Duration, again: Duration, waker: &Waker) {
        self.at_place(waker, |place| place.set(delay, again, waker));
    }

    fn went_off(&self, waker: &Waker) {
        self.at_place(waker, |place| match place {
            Place::Reactor(reactor) => reactor.listen(waker),
            Place::Thread(_) => Ok(()),
        });
    }

    fn stop(&self) {
        match &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Place::Reactor(reactor) => reactor.stop(),
            Place::Thread(timer) => timer.stop(),
        }
    }
}

impl Place {
    fn set(&mut self, delay: Duration, again: Duration, waker: &Waker) -> io::Result<()> {
        match self {
            Place::Reactor(reactor) => reactor.set(delay, again, waker),
            Place::Thread(timer) => {
                timer.set(delay, again, waker);
                Ok(())
            }
        }
    }
}

impl Reactor {
    fn new() -> io::Result<Reactor> {
        Ok(Reactor { alarm: timerfd()?, again: timerfd()?, again_at: None })
    }

    fn set(&mut self, delay: Duration, again: Duration, waker: &Waker) -> io::Result<()> {
        self.listen(waker)?;
        // Zero would stop the timer.
        settime(&self.alarm, delay.max(Duration::from_nanos(1)), Duration::ZERO)?;
        let least = delay.saturating_add(again);
        let most = least.saturating_add(again);
        let now = Instant::now();
        let serves = |at: Instant| (least..=most).contains(&at.saturating_duration_since(now));
        if !self.again_at.is_some_and(serves) {
            settime(&self.again, most, again)?;
            self.again_at = now.checked_add(most);
        }
        Ok(())
    }

    /// Registers the waker with the reactor, which wakes it the next time that a timer goes off.
    fn listen(&mut self, waker: &Waker) -> io::Result<()> {
        let mut context = Context::from_waker(waker);
        while let Poll::Ready(ready) = self.alarm.poll_read_ready(&mut context) {
            ready?.clear_ready();
        }
        while let Poll::Ready(ready) = self.again.poll_read_ready(&mut context) {
            ready?.clear_ready();
            // A periodic timerfd goes off again only after it was read. An error means that it has not gone off.
            let _ = rustix::io::read(self.again.get_ref(), &mut [0; 8]);
            self.again_at = None;
        }
        Ok(())
    }

    fn stop(&mut self) {
        self.again_at = None;
        for timer in [&self.alarm, &self.again] {
            // Cannot fail for a timer that exists.
            let _ = settime(timer, Duration::ZERO, Duration::ZERO);
        }
    }
}

fn timerfd() -> io::Result<AsyncFd<OwnedFd>> {
    Handle::try_current().map_err(io::Error::other)?;
    let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
    let fd = timerfd_create(TimerfdClockId::Monotonic, flags)?;
    #[expect(deprecated, reason = "`register` is unsafe, and `new` is sound for an OwnedFd")]
    let register = || AsyncFd::new(fd);
    // Panics if the runtime was built without I/O, which cannot be checked beforehand.
    let registered = catch_unwind(AssertUnwindSafe(register));
    let no_io = || {
        io::Error::new(
            io::ErrorKind::Unsupported,
            "the Tokio runtime does no I/O: call enable_io() on its builder",
        )
    };
    registered.unwrap_or_else(|_| Err(no_io()))
}

fn settime(timer: &AsyncFd<OwnedFd>, delay: Duration, again: Duration) -> io::Result<()> {
    let timespec = |span: Duration| Timespec {
        tv_sec: i64::try_from(span.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: span.subsec_nanos().into(),
    };
    let spec = Itimerspec { it_interval: timespec(again), it_value: timespec(delay) };
    timerfd_settime(timer.get_ref(), TimerfdTimerFlags::empty(), &spec)?;
    Ok(())
}
