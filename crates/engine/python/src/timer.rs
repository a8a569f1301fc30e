//! Provides slots for an event loop: a file descriptor becomes readable when a slot is due or the schedule changes.

use crate::errors::ended;
use crate::grant::Grant;
use crate::waiting;
use nanopace::driver::{Drive, Watch};
use nanopace::{Clock, Ended, MonotonicClock, Nanos, Poller, Refused};
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

/// Starts one slot at a time for an event loop. Call `poll` until it returns a grant. Whenever it returns None, wait
/// until `fileno` is readable. The descriptor becomes readable when the slot is due or the schedule changes.
///
/// The timer keeps its slot between polls. One caller at a time polls it; other callers queue after that one.
/// Deadlines are times of `time.monotonic_ns()`.
#[pyclass(frozen, module = "nanopace")]
#[derive(Debug)]
pub(crate) struct Timer {
    pacer: nanopace::Pacer,
    poller: Mutex<Poller>,
    watch: Watch,
    alarm: Arc<Alarm>,
}

#[pymethods]
impl Timer {
    #[new]
    fn new(pacer: &crate::pacer::Pacer) -> PyResult<Timer> {
        let alarm = Arc::new(Alarm::new()?);
        let (pacer, watch) = (pacer.0.clone(), pacer.0.watch());
        Ok(Timer { poller: Mutex::new(pacer.poller()), pacer, watch, alarm })
    }

    /// Returns the file descriptor that becomes readable when `poll` has to be called again. Wait for it with, for
    /// example, `select`, `asyncio` or `gevent`. Don't read from it.
    fn fileno(&self) -> i32 {
        self.alarm.timer.as_raw_fd()
    }

    /// Returns the deadline of a timeout that starts now, or None if there is no timeout. The timeout is in seconds or
    /// a `timedelta`.
    #[staticmethod]
    #[pyo3(signature = (timeout))]
    fn deadline_ns(timeout: Option<&Bound<'_, PyAny>>) -> PyResult<Option<u64>> {
        Ok(waiting::deadline(timeout)?.map(Nanos::as_nanos))
    }

    /// Starts the timer's slot if it is due. Otherwise returns None, keeps the slot and sets the timer. Raises the
    /// same errors as `Pacer.acquire`. After an error the timer has no slot.
    #[pyo3(signature = (deadline_ns = None))]
    fn poll(&self, deadline_ns: Option<u64>) -> PyResult<Option<Grant>> {
        let mut poller = self.poller()?;
        if let Ok(grant) = poller.poll() {
            self.alarm.disarm()?;
            return Ok(Some(Grant(grant)));
        }
        self.alarm.listen();
        self.watch.set(&Waker::from(self.alarm.clone()));
        let deadline = deadline_ns.map(Nanos::from_nanos);
        let outcome = match poller.poll() {
            Ok(grant) => Ok(Some(Grant(grant))),
            Err(refusal) => match waiting::goes_on(refusal, deadline) {
                Ok(()) => return self.alarm.set(look_again(refusal, deadline)).map(|()| None),
                Err(error) => Err(error),
            },
        };
        poller.give_back();
        self.alarm.disarm()?;
        outcome
    }

    /// Checks the deadline of a caller that queues after the caller of `poll`. Before the deadline, returns None. After
    /// the deadline, starts the next free slot if it is due. Raises the same errors as `Pacer.acquire`.
    fn poll_behind(&self, deadline_ns: u64) -> PyResult<Option<Grant>> {
        let deadline = Nanos::from_nanos(deadline_ns);
        let tried = if MonotonicClock.now() < deadline {
            Err(self.why_not_next().map_err(ended)?)
        } else {
            self.pacer.try_acquire()
        };
        match tried {
            Ok(grant) => Ok(Some(Grant(grant))),
            Err(refusal) => waiting::goes_on(refusal, Some(deadline)).map(|()| None),
        }
    }

    /// Gives back the timer's slot, if it has one.
    fn give_back(&self) -> PyResult<()> {
        self.poller()?.give_back();
        self.watch.clear();
        self.alarm.disarm()
    }
}

impl Timer {
    fn poller(&self) -> PyResult<MutexGuard<'_, Poller>> {
        let poller = self.poller.try_lock();
        poller.map_err(|_| PyRuntimeError::new_err("a timer is for one caller at a time"))
    }

    fn why_not_next(&self) -> Result<Refused, Ended> {
        let due = self.pacer.next_due()?;
        Ok(if due == Nanos::MAX { Refused::Paused } else { Refused::NotUntil(due) })
    }
}

fn look_again(refusal: Refused, deadline: Option<Nanos>) -> Option<Nanos> {
    match refusal {
        Refused::NotUntil(due) => Some(due),
        _ => deadline,
    }
}

/// A timerfd that is set to the due time of a slot, and goes off at once when the schedule changes.
#[derive(Debug)]
struct Alarm {
    timer: OwnedFd,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// The timer is not set, because no caller waits.
    Resting,
    /// A caller has begun to read the schedule, or the timer is set to the time that the caller read.
    Listening,
    /// The schedule changed after a caller began to read it. The timer fires, and must not be set to a time that was
    /// read before the change.
    Changed,
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        let mut state = self.state();
        if *state == State::Listening {
            *state = State::Changed;
            // This cannot fail, because the descriptor is a timer and the time is in range.
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

    fn listen(&self) {
        *self.state() = State::Listening;
    }

    /// Sets the timer to `due`, which was read after `listen`, unless the schedule has changed.
    fn set(&self, due: Option<Nanos>) -> PyResult<()> {
        let state = self.state();
        if *state == State::Listening {
            self.set_time(due.map_or(0, |due| due.as_nanos().max(1)))?;
        }
        Ok(())
    }

    fn disarm(&self) -> PyResult<()> {
        let mut state = self.state();
        if *state != State::Resting {
            self.set_time(0)?;
            *state = State::Resting;
        }
        Ok(())
    }

    /// `at_ns` is a time of `CLOCK_MONOTONIC`; 0 disarms the timer.
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
