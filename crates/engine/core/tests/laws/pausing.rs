//! Tests how a caller waits under each [`Pause`]: which changes reach it, how often it sleeps, and its timers.

use crate::common::{
    HOUR, MICRO, MILLI, PAUSES, SECOND, at, intended_ns, put_off_to, rate, span, strictness,
    wait_ns,
};
use nanopace::driver::Drive;
use nanopace::{Clock, Ended, ManualClock, Nanos, Pacer, PacerBuilder, Parker, Pause, Refused};
use std::collections::VecDeque;
use std::fmt::{self, Debug, Formatter};
use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

type Step = Box<dyn FnOnce() + Send>;

/// A clock for one thread. While a caller waits on this clock, asleep or spinning, another thread runs the next step.
/// Sleeps overrun by 1 us.
#[derive(Default)]
struct Staged {
    now: AtomicU64,
    steps: Mutex<VecDeque<Step>>,
    sleeps: Mutex<Vec<Nanos>>,
}

impl Staged {
    fn pacer(self: &Arc<Staged>, builder: PacerBuilder) -> Pacer {
        let pacer = builder.clock(self.clone()).build();
        pacer.acquire().expect("due at once");
        pacer
    }

    fn set(&self, nanos: u64) {
        self.now.store(nanos, Ordering::Relaxed);
    }

    fn then(&self, step: impl FnOnce() + Send + 'static) {
        self.steps.lock().expect("no panic").push_back(Box::new(step));
    }

    fn wait(&self, until: Nanos) {
        let step = self.steps.lock().expect("no panic").pop_front();
        match step {
            Some(step) => thread::spawn(step).join().expect("no panic"),
            None => self.set(until.as_nanos()),
        }
    }

    fn sleeps(&self) -> Vec<Nanos> {
        std::mem::take(&mut *self.sleeps.lock().expect("no panic"))
    }
}

impl Debug for Staged {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Staged").finish_non_exhaustive()
    }
}

impl Clock for Staged {
    fn now(&self) -> Nanos {
        at(self.now.load(Ordering::Relaxed))
    }

    fn park(&self, _: &Parker, until: Nanos) {
        self.sleeps.lock().expect("no panic").push(until);
        self.wait(until + span(MICRO));
    }

    fn relax(&self, _: Nanos, until: Nanos) {
        self.wait(until);
    }
}

fn in_a_new_thread(work: impl FnOnce() + Send + 'static) {
    if let Err(payload) = thread::spawn(work).join() {
        std::panic::resume_unwind(payload);
    }
}

#[test]
fn callers_of_a_paused_pacer_sleep_whatever_the_strategy() {
    for pause in PAUSES {
        let clock = Arc::new(Staged::default());
        let pacer = clock.pacer(Pacer::builder(rate("1/h")).pause(pause));
        pacer.pause();
        assert_eq!(pacer.acquire_timeout(span(SECOND)), Err(Refused::Paused), "{pause}");
        let closed = pacer.clone();
        clock.then(move || closed.close());
        assert_eq!(pacer.acquire(), Err(Ended::Closed), "{pause}");
        assert_eq!(clock.sleeps(), [at(SECOND), Nanos::MAX], "{pause}");
    }
}

/// The load is 400k/s, so its slots are 2.5 us apart. The slots of each process are 40 us apart with 16 processes, and
/// 5 us apart with two.
#[test]
fn pauses_are_stretched_where_the_slots_of_the_process_are_close_and_not_those_of_the_load() {
    let builders: [fn(PacerBuilder) -> PacerBuilder; 3] = [
        |builder| builder,
        |builder| builder.arrivals("poisson".parse().unwrap()),
        |builder| builder.strictness(strictness(0.5)),
    ];
    for (index, builder) in builders.into_iter().enumerate() {
        for (shard, is_stretched) in [("1/16", false), ("1/2", true)] {
            let builder = builder(Pacer::builder(rate("400k/s"))).clock(ManualClock::jumping());
            let pacer = builder.shard(shard.parse().unwrap()).build();
            pacer.acquire().expect("due soon");
            let due = pacer.next_due().unwrap();
            let wakes = pacer.wake_at(due, pacer.now(), span(MILLI));
            assert_eq!(wakes > due, is_stretched, "{shard}, builder {index}");
        }
    }
}

/// Returns the slot's intended start and the time at which the caller continues.
fn spinning_meanwhile(pause: Pause, changes: &[fn(&Pacer)]) -> (Result<u64, Ended>, Nanos) {
    let clock = Arc::new(Staged::default());
    let pacer = clock.pacer(Pacer::builder(rate("1/h")).pause(pause));
    clock.set(HOUR - MICRO);
    for change in changes.iter().copied() {
        let pacer = pacer.clone();
        clock.then(move || change(&pacer));
    }
    (pacer.acquire().map(intended_ns), pacer.now())
}

#[test]
fn a_change_reaches_callers_that_spin() {
    let begun = HOUR - MICRO;
    for pause in [Pause::Hybrid, Pause::Yield, Pause::Spin] {
        let meanwhile = |changes: &[fn(&Pacer)]| spinning_meanwhile(pause, changes);
        assert_eq!(meanwhile(&[Pacer::close]), (Err(Ended::Closed), at(begun)), "{pause}");
        // At the new rate, the remaining microsecond of an interval of an hour becomes less than a nanosecond.
        let faster = begun + 1;
        assert_eq!(
            meanwhile(&[|pacer| pacer.set_rate(rate("1k/s"))]),
            (Ok(faster), at(faster)),
            "{pause}"
        );
        // A pause that took no time makes no caller late.
        assert_eq!(meanwhile(&[Pacer::pause, Pacer::resume]), (Ok(HOUR), at(HOUR)), "{pause}");
    }
}

fn spun_by(starts: usize, clock: &Staged, pacer: &Pacer) -> Duration {
    let before = pacer.counters().spun;
    clock.sleeps();
    (0..starts).for_each(|_| assert!(pacer.acquire().is_ok()));
    assert_eq!(clock.sleeps().len(), starts);
    pacer.counters().spun.saturating_sub(before)
}

fn acquire_with(more: usize, clock: &Arc<Staged>, pacer: &Pacer, then: fn(&Arc<Staged>)) {
    if let Some(rest) = more.checked_sub(1) {
        let (others_clock, other) = (Arc::clone(clock), pacer.clone());
        clock.then(move || acquire_with(rest, &others_clock, &other, then));
    }
    assert!(pacer.acquire().is_ok());
    if more == 0 {
        then(clock);
    }
}

#[test]
fn no_more_threads_spin_at_once_than_there_are_processors() {
    in_a_new_thread(|| {
        let clock = Arc::new(Staged::default());
        let pacer = clock.pacer(Pacer::builder(rate("1M/s")).pause(Pause::Hybrid));
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        // The second round shows that a thread which has spun lets others spin.
        for _ in 0..2 {
            acquire_with(processors - 1, &clock, &pacer, |clock| {
                assert_eq!(clock.sleeps().len(), 0);
            });
        }
        acquire_with(processors, &clock, &pacer, |clock| {
            assert_eq!(clock.sleeps().len(), 1);
            // A thread that was not allowed to spin does not try again for a while, whichever pacer it uses.
            let other = clock.pacer(Pacer::builder(rate("1k/s")).pause(Pause::Hybrid));
            assert!(spun_by(5, clock, &other).is_zero());
        });
    });
}

/// The thread sleeps until 2 us or more before each start. The sleep overruns by 1 us, so the thread spins for 1 us or
/// more.
#[test]
fn a_thread_that_loses_the_processor_while_spinning_sleeps_for_twenty_milliseconds() {
    in_a_new_thread(|| {
        let clock = Arc::new(Staged::default());
        let pacer = clock.pacer(Pacer::builder(rate("1k/s")).pause(Pause::Hybrid));
        assert!(spun_by(99, &clock, &pacer) >= span(99 * MICRO));
        for (lost, crowded) in [(100 * MICRO, false), (300 * MICRO, true)] {
            let next = put_off_to(&pacer);
            clock.set(next - MICRO);
            let away = clock.clone();
            clock.then(move || away.set(next - MICRO + lost));
            assert_eq!(pacer.acquire().map(wait_ns), Ok(lost - MICRO));
            assert_eq!(clock.sleeps(), []);
            assert_eq!(spun_by(20, &clock, &pacer).is_zero(), crowded, "{lost} ns lost");
        }
        // More than 20 ms after the loss, the thread spins again.
        pacer.acquire().expect("open");
        assert!(spun_by(10, &clock, &pacer) >= span(10 * MICRO));
    });
}

/// The load is 10/s with ratio 2, so slots may start every 50 ms while time is owed. Slot 1 started at 10 s. Slots 2
/// and 3 are given back while a caller sleeps for slot 4, and slot 2 is claimed and started at 10.14 s, 90 ms later
/// than it could have started. Slot 4 starts 100 ms after slot 2.
#[test]
fn a_second_stall_while_time_is_owed_holds_back_a_caller_that_sleeps_already() {
    let clock = Arc::new(Staged::default());
    let builder = Pacer::builder(rate("10/s")).strictness(strictness(2.0));
    let pacer = clock.pacer(builder.tolerance(Duration::ZERO));
    clock.set(10 * SECOND);
    pacer.try_acquire().expect("late");
    let claims = [(); 2].map(|()| pacer.claim().expect("open").into_owned());
    clock.then(move || claims.into_iter().for_each(drop));
    let (meanwhile, other) = (clock.clone(), pacer.clone());
    clock.then(move || {
        meanwhile.set(10_140 * MILLI);
        assert!(other.claim().expect("open").start().is_ok());
        meanwhile.set(10_150 * MILLI);
    });
    let row = pacer.acquire_many(2).expect("open");
    assert_eq!(row.actual_start(), at(10_240 * MILLI + MICRO)); // the sleep overran by 1 us
}

#[cfg(target_os = "linux")]
mod linux {
    use super::*;
    use crate::common::{SECOND, assert_started, drain};
    use nanopace::{Rate, Strictness};
    use rustix::thread::{current_timer_slack, set_current_timer_slack};
    use rustix::time::{ClockId, clock_gettime};
    use std::num::NonZeroU64;

    #[derive(Debug, Default)]
    struct SlackNotes(AtomicU64, Mutex<Vec<u64>>);

    impl Clock for SlackNotes {
        fn now(&self) -> Nanos {
            at(self.0.load(Ordering::Relaxed))
        }

        fn park(&self, _: &Parker, until: Nanos) {
            self.1.lock().expect("no panic").push(current_timer_slack().expect("Linux has it"));
            self.0.store(until.as_nanos() + MICRO, Ordering::Relaxed);
        }

        fn relax(&self, _: Nanos, until: Nanos) {
            self.0.store(until.as_nanos(), Ordering::Relaxed);
        }
    }

    /// Sets this thread's own timer slack to 70 us. Returns its slack during each of three sleeps, and after them.
    fn slack(pause: Pause, set: impl FnOnce(PacerBuilder) -> PacerBuilder) -> (Vec<u64>, u64) {
        set_current_timer_slack(NonZeroU64::new(70 * MICRO)).expect("Linux has it");
        let clock = Arc::new(SlackNotes::default());
        let pacer = set(Pacer::builder(rate("1k/s")).pause(pause)).clock(clock.clone()).build();
        (0..4).for_each(|_| assert!(pacer.acquire().is_ok()));
        let slept = std::mem::take(&mut *clock.1.lock().expect("no panic"));
        (slept, current_timer_slack().expect("Linux has it"))
    }

    #[test]
    fn sleeps_have_fine_timers_and_the_thread_has_its_own_afterwards() {
        in_a_new_thread(|| {
            for pause in [Pause::Sleep, Pause::Hybrid] {
                let coarse = 70 * MICRO;
                assert_eq!(slack(pause, |builder| builder), (vec![1; 3], coarse), "{pause}");
                assert_eq!(
                    slack(pause, |builder| builder.fine_timers(true)),
                    (vec![1; 3], coarse),
                    "{pause}"
                );
                let switched_off = slack(pause, |builder| builder.fine_timers(false));
                assert_eq!(switched_off, (vec![coarse; 3], coarse), "{pause}");
            }
        });
    }

    const COST_NS: u64 = 26 * MICRO;

    /// A clock for one thread that advances only during sleeps, which end on time and take [`COST_NS`] of CPU time.
    #[derive(Debug, Default)]
    struct DearSleeps {
        now: AtomicU64,
        sleeps: AtomicU64,
    }

    impl Clock for DearSleeps {
        fn now(&self) -> Nanos {
            at(self.now.load(Ordering::Relaxed))
        }

        fn park(&self, _: &Parker, until: Nanos) {
            let begun = processor_ns();
            while processor_ns() < begun + COST_NS {}
            self.sleeps.fetch_add(1, Ordering::Relaxed);
            self.now.store(until.as_nanos(), Ordering::Relaxed);
        }
    }

    fn processor_ns() -> u64 {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        u64::try_from(time.tv_sec).expect("after 0") * SECOND
            + u64::try_from(time.tv_nsec).expect("after 0")
    }

    impl DearSleeps {
        fn pacer(
            starts_per_s: u64,
            set: impl FnOnce(PacerBuilder) -> PacerBuilder,
        ) -> (Arc<DearSleeps>, Pacer) {
            let clock = Arc::new(DearSleeps::default());
            let builder = Pacer::builder(Rate::per_second(starts_per_s).expect("a rate"));
            let pacer = set(builder).clock(clock.clone()).build();
            (clock, pacer)
        }

        fn sleeps_in(&self, nanos: u64, pacer: &Pacer) -> u64 {
            let (end, before) =
                (self.now().as_nanos() + nanos, self.sleeps.load(Ordering::Relaxed));
            while self.now().as_nanos() < end {
                assert_started(pacer, pacer.acquire().expect("open"));
            }
            self.sleeps.load(Ordering::Relaxed) - before
        }
    }

    fn assert_exact(starts_per_s: u64, pacer: &Pacer) {
        drain(pacer);
        let due =
            u128::from(pacer.now().as_nanos()) * u128::from(starts_per_s) / u128::from(SECOND);
        assert_eq!(u128::from(pacer.ledger().granted), due + 1, "{starts_per_s}/s");
    }

    fn keeps_to_its_share(
        starts_per_s: u64,
        percent: u64,
        set: impl FnOnce(PacerBuilder) -> PacerBuilder,
    ) {
        let (clock, pacer) = DearSleeps::pacer(starts_per_s, set);
        // In the first 20 ms, the thread measures the cost of a sleep. After that, its estimate varies by a sixteenth.
        clock.sleeps_in(20 * MILLI, &pacer);
        let sleeps = clock.sleeps_in(80 * MILLI, &pacer);
        let most = (80 * MILLI + 5 * MILLI) * percent / 100 / COST_NS + 1;
        assert!((1..=most).contains(&sleeps), "{starts_per_s}/s: {sleeps} sleeps, {most} allowed");
        assert_exact(starts_per_s, &pacer);
    }

    #[test]
    fn sleeping_keeps_to_its_share_of_a_core_and_the_rate_stays_exact() {
        in_a_new_thread(|| {
            for starts_per_s in [100_000, 1_000_000, 10_000_000] {
                keeps_to_its_share(starts_per_s, 10, |builder| builder);
            }
            // At 10 k/s sleeps are stretched only because the share is set.
            for (starts_per_s, percent) in [(10_000, 10), (1_000_000, 40)] {
                let share = f64::from(u32::try_from(percent).expect("to 100")) / 100.0;
                keeps_to_its_share(starts_per_s, percent, |builder| builder.sleep_share(share));
            }
        });
    }

    #[test]
    fn strict_starts_and_starts_far_apart_have_a_sleep_each() {
        in_a_new_thread(|| {
            for (starts_per_s, strictness) in
                [(100_000, Strictness::STRICT), (10_000, Strictness::AVERAGE)]
            {
                let (clock, pacer) =
                    DearSleeps::pacer(starts_per_s, |builder| builder.strictness(strictness));
                let sleeps = clock.sleeps_in(20 * MILLI, &pacer);
                assert_eq!(sleeps, starts_per_s * 20 / 1_000, "{starts_per_s}/s");
                assert_exact(starts_per_s, &pacer);
            }
        });
    }
}
