//! A slot for an event loop: a file descriptor that is readable when there is something to do.

use crate::errors::refused;
use crate::grant::Grant;
use nanopace::driver::{Drive, Watch};
use nanopace::{Nanos, Poller, Refused};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

/// Starts one slot after the other for an event loop: `poll` until it returns a grant, and whenever it
/// returns None wait until `fileno` is readable, which it is when the slot is due or the load changes.
///
/// It keeps its slot meanwhile. One caller at a time uses it.
#[pyclass(frozen, module = "nanopace")]
#[derive(Debug)]
pub(crate) struct Timer {
    poller: Mutex<Poller>,
    watch: Watch,
    alarm: Arc<Alarm>,
}

#[pymethods]
impl Timer {
    #[new]
    fn new(pacer: &crate::pacer::Pacer) -> PyResult<Timer> {
        let alarm = Arc::new(Alarm::new()?);
        Ok(Timer { poller: Mutex::new(pacer.0.poller()), watch: pacer.0.watch(), alarm })
    }

    /// What to wait for: readable, in `select`, `asyncio`, `gevent` and the like. Don't read it.
    fn fileno(&self) -> i32 {
        self.alarm.timer.as_raw_fd()
    }

    /// Starts the slot if it is due. Otherwise returns None, keeps the slot and sets the timer.
    fn poll(&self) -> PyResult<Option<Grant>> {
        let mut poller = self.poller()?;
        if let Ok(grant) = poller.poll() {
            self.alarm.rest()?;
            return Ok(Some(Grant(grant)));
        }
        self.alarm.listen();
        self.watch.set(&Waker::from(self.alarm.clone()));
        let refusal = match poller.poll() {
            Ok(grant) => Ok(Some(Grant(grant))),
            Err(Refused::NotUntil(due)) => return self.alarm.set(Some(due)).map(|()| None),
            Err(Refused::Paused) => return self.alarm.set(None).map(|()| None),
            Err(ended) => Err(refused(ended)),
        };
        self.alarm.rest()?;
        refusal
    }

    /// Gives back the slot that it has, if any.
    fn give_back(&self) -> PyResult<()> {
        self.poller()?.give_back();
        self.watch.clear();
        self.alarm.rest()
    }
}

impl Timer {
    fn poller(&self) -> PyResult<MutexGuard<'_, Poller>> {
        let poller = self.poller.try_lock();
        poller.map_err(|_| PyRuntimeError::new_err("a timer is for one caller at a time"))
    }
}

/// A timer of the system's, which a change of the schedule sets off at once.
#[derive(Debug)]
struct Alarm {
    timer: OwnedFd,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// Not set: nobody wants to know.
    Resting,
    /// Somebody has begun to look at the schedule, or the timer is set for what was seen there.
    Listening,
    /// The schedule has changed since: the timer is set off, and is not to be set for what was seen.
    Changed,
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        let mut state = self.state();
        if *state == State::Listening {
            *state = State::Changed;
            // Without an error: the descriptor is a timer, and the time is in range.
            let _ = self.set_time(1);
        }
    }
}

impl Alarm {
    fn new() -> io::Result<Alarm> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Alarm { timer, state: Mutex::new(State::Resting) })
    }

    /// From now on a change is heard.
    fn listen(&self) {
        *self.state() = State::Listening;
    }

    /// Sets it for what was seen since `listen`, unless that has changed.
    fn set(&self, due: Option<Nanos>) -> PyResult<()> {
        let state = self.state();
        if *state == State::Listening {
            self.set_time(due.map_or(0, |due| due.as_nanos().max(1)))?;
        }
        Ok(())
    }

    /// Takes back what was set, and what is readable.
    fn rest(&self) -> PyResult<()> {
        let mut state = self.state();
        if *state != State::Resting {
            self.set_time(0)?;
            *state = State::Resting;
        }
        Ok(())
    }

    /// At this moment of `CLOCK_MONOTONIC`; 0 stands for never.
    fn set_time(&self, at_ns: u64) -> io::Result<()> {
        let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let at = Timespec {
            tv_sec: whole(at_ns / 1_000_000_000),
            tv_nsec: whole(at_ns % 1_000_000_000),
        };
        let never = Timespec { tv_sec: 0, tv_nsec: 0 };
        let time = Itimerspec { it_interval: never, it_value: at };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &time)?;
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
