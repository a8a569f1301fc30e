//! Lets load threads run before the threads of other programs: `--realtime`.
//!
//! On a busy machine, a thread that wakes for a slot first waits for the CPU. Under `SCHED_RR`, it runs before all
//! normal threads. Where this is not allowed, a thread gets a nice value of -15. Where that is not allowed either, it
//! stays in the normal class. A thread that used more than 80 % of a core for a second goes back to the normal class,
//! because it would keep other programs from running, such as a server on this machine.

use crate::console::panics::locked;
use crate::results::realtime::{Class, RealtimeResult};
use nanopace::Nanos;
use std::sync::Mutex;
use std::time::Duration;

/// The priority under `SCHED_RR`: low among the real-time users of a machine.
#[cfg(target_os = "linux")]
const PRIORITY: u8 = 10;
#[cfg(target_os = "linux")]
const NICE: i32 = -15;
const WINDOW: Duration = Duration::from_secs(1);
const MOST: f64 = 0.8;

#[derive(Debug)]
pub(crate) struct Realtime(Mutex<RealtimeResult>);

impl Default for Realtime {
    fn default() -> Realtime {
        Realtime(Mutex::new(RealtimeResult { class: Class::RoundRobin, returned: 0 }))
    }
}

impl Realtime {
    pub(super) fn raise(&self) -> RaisedThread<'_> {
        let class = system::raise();
        let mut all = locked(&self.0);
        all.class = all.class.min(class);
        let usage = (class > Class::Normal).then(Usage::default);
        RaisedThread { realtime: self, usage }
    }

    pub(crate) fn result(&self) -> RealtimeResult {
        *locked(&self.0)
    }
}

#[derive(Debug)]
pub(super) struct RaisedThread<'run> {
    realtime: &'run Realtime,
    usage: Option<Usage>,
}

impl RaisedThread<'_> {
    pub(super) fn check(&mut self, now: Nanos, cpu: Duration) {
        if self.usage.as_mut().is_some_and(|usage| usage.is_too_high(now, cpu)) {
            self.usage = None;
            system::lower();
            locked(&self.realtime.0).returned += 1;
        }
    }
}

/// The CPU time of a thread at the beginning of the current window.
#[derive(Debug, Default)]
struct Usage(Option<(Nanos, Duration)>);

impl Usage {
    fn is_too_high(&mut self, now: Nanos, cpu: Duration) -> bool {
        let (from, before) = *self.0.get_or_insert((now, cpu));
        let passed = now - from;
        if passed < WINDOW {
            return false;
        }
        self.0 = Some((now, cpu));
        cpu.saturating_sub(before) > passed.mul_f64(MOST)
    }
}

#[cfg(target_os = "linux")]
mod system {
    use super::{Class, NICE, PRIORITY};
    use rustix::process::setpriority_process;
    use thread_priority::{
        NormalThreadSchedulePolicy, RealtimeThreadSchedulePolicy, ThreadPriority,
        ThreadSchedulePolicy, set_thread_priority_and_policy, thread_native_id,
    };

    /// A priority of the crate `thread_priority`, which maps it to a nice value of 0.
    const NORMAL: u8 = 47;

    pub(super) fn raise() -> Class {
        let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::RoundRobin);
        // On Linux, each thread has its own nice value. `None` means the calling thread.
        match () {
            () if set(PRIORITY, policy) => Class::RoundRobin,
            () if setpriority_process(None, NICE).is_ok() => Class::Nice,
            () => Class::Normal,
        }
    }

    /// Brings the calling thread back to the normal class, which is always allowed. Setting the nice value may fail.
    pub(super) fn lower() {
        set(NORMAL, ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Other));
    }

    fn set(priority: u8, policy: ThreadSchedulePolicy) -> bool {
        ThreadPriority::try_from(priority).is_ok_and(|priority| {
            set_thread_priority_and_policy(thread_native_id(), priority, policy).is_ok()
        })
    }
}

/// Other systems have other classes, so `run_mode::check_workers` rejects `--realtime` there.
#[cfg(not(target_os = "linux"))]
mod system {
    use super::Class;

    pub(super) fn raise() -> Class {
        Class::Normal
    }

    pub(super) fn lower() {}
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_os = "linux")]
    use rustix::process::getpriority_process;

    /// Simulates a thread that uses the two shares of a core in turn, each for a second. Returns when it goes back to
    /// the normal class.
    fn goes_back(shares: [f64; 2]) -> Option<u64> {
        let (mut usage, mut cpu) = (Usage::default(), Duration::ZERO);
        (0..1_000_u64).find(|beat| {
            let share = shares[usize::from(beat / 100 % 2 == 1)];
            cpu += Duration::from_millis(10).mul_f64(share);
            usage.is_too_high(Nanos::from_nanos(beat * 10_000_000), cpu)
        })
    }

    #[test]
    fn a_thread_goes_back_if_it_uses_more_than_four_fifths_of_a_core_for_a_second() {
        for (shares, beat) in [
            ([0.0, 0.0], None),
            ([0.79, 0.79], None),
            ([0.0, 0.8], None),
            ([0.81, 0.81], Some(100)),
            ([0.1, 1.0], Some(200)),
        ] {
            assert_eq!(goes_back(shares), beat, "{shares:?}");
        }
    }

    #[test]
    fn a_thread_gets_the_best_class_that_is_allowed_and_can_go_back() {
        let realtime = Realtime::default();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                #[cfg(target_os = "linux")]
                let before = getpriority_process(None);
                let mut thread = realtime.raise();
                let is_raised = thread.usage.is_some();
                thread.check(Nanos::ZERO, Duration::ZERO);
                thread.check(Nanos::ZERO + WINDOW, WINDOW);
                #[cfg(target_os = "linux")]
                assert!([Ok(0), before].contains(&getpriority_process(None)));
                assert_eq!(realtime.result().returned, usize::from(is_raised));
                thread.check(Nanos::ZERO + 2 * WINDOW, 2 * WINDOW);
                assert_eq!(realtime.result().returned, usize::from(is_raised));
            });
        });
    }
}
