//! Tests with real threads on one pacer that no slot is handed out twice or lost, and that no caller sleeps forever.
//!
//! At a constant interval of whole nanoseconds, the intended start gives the slot's number.

use crate::common::{
    assert_balanced, at, build, drain, finish, intended_ns, paced, rate, span, strictness,
};
use nanopace::{Clock, Ended, ManualClock, Nanos, Pacer, Parker, Refused};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, OnceLock};
use std::thread::{self, JoinHandle, ThreadId};

struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        // Knuth's linear congruential generator for MMIX. Its low bits have short periods.
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

type Starts = Vec<u64>;

fn crew(
    threads: u64,
    pacer: &Pacer,
    work: impl Fn(&Pacer, &mut Dice) -> Starts + Clone + Send + 'static,
) -> Vec<JoinHandle<Starts>> {
    let worker = |number| {
        let (pacer, work) = (pacer.clone(), work.clone());
        thread::spawn(move || work(&pacer, &mut Dice(number)))
    };
    (0..threads).map(worker).collect()
}

fn assert_each_slot_once(pacer: &Pacer, mut starts: Starts, interval_ns: u64) {
    let taken = starts.len();
    let slots = starts.iter().max().expect("some starts") / interval_ns + 1;
    let missing = usize::try_from(slots).expect("fits") - taken;
    starts.extend((0..missing).map(|_| intended_ns(pacer.acquire().expect("open"))));
    starts.sort_unstable();
    assert!(
        starts.into_iter().eq((0..slots).map(|slot| slot * interval_ns)),
        "{taken} taken of {slots}"
    );
    assert_eq!(pacer.ledger().granted, slots);
    assert_balanced(pacer);
}

fn many_acquires(pacer: &Pacer, _: &mut Dice) -> Starts {
    (0..2_000).map(|_| intended_ns(pacer.acquire().expect("open"))).collect()
}

fn lane_that_comes_and_goes(pacer: &Pacer, dice: &mut Dice) -> Starts {
    let mut starts = Starts::new();
    let mut lane = pacer.lane();
    for _ in 0..2_000 {
        match dice.below(40) {
            0 => lane = pacer.lane(),
            1 => lane.give_back(),
            _ => starts.push(intended_ns(lane.acquire().expect("open"))),
        }
    }
    starts
}

fn claims_started_or_dropped(pacer: &Pacer, dice: &mut Dice) -> Starts {
    let mut starts = Starts::new();
    let mut held = Vec::new();
    for _ in 0..2_000 {
        held.push(pacer.claim().expect("open"));
        if dice.below(3) == 0 {
            held.clear();
        }
        let mut early = Vec::new();
        for mut claim in held.drain(..) {
            match claim.start() {
                Ok(grant) => starts.push(intended_ns(grant)),
                Err(_) => early.push(claim),
            }
        }
        held = early;
    }
    starts
}

fn a_bit_of_everything(pacer: &Pacer, dice: &mut Dice) -> Starts {
    let mut starts = Starts::new();
    let mut lane = pacer.lane();
    for _ in 0..1_000 {
        let grant = match dice.below(5) {
            0 => pacer.acquire().ok().map(intended_ns),
            1 => pacer.try_acquire().ok().map(intended_ns),
            2 => pacer.acquire_timeout(span(dice.below(50))).ok().map(intended_ns),
            3 => pacer.claim().expect("open").start().ok().map(intended_ns),
            _ => lane.acquire().ok().map(intended_ns),
        };
        starts.extend(grant);
    }
    starts
}

#[test]
fn shared_acquires_take_each_slot_once() {
    for text in ["1M/s", "1G/s"] {
        let pacer = build(text, &ManualClock::jumping()).build();
        let starts = finish("crew", crew(8, &pacer, many_acquires), || ()).concat();
        assert_eq!(starts.len(), 16_000);
        assert_each_slot_once(&pacer, starts, if text == "1M/s" { 1_000 } else { 1 });
    }
}

#[test]
fn shared_acquires_that_are_late_take_each_slot_once() {
    let (clock, pacer) = paced("1M/s");
    let starts =
        finish("crew", crew(4, &pacer, many_acquires), || clock.advance(span(1_000_000))).concat();
    assert_each_slot_once(&pacer, starts, 1_000);
}

#[test]
fn lanes_that_come_and_go_lose_no_slot() {
    for text in ["100k/s", "100M/s"] {
        let pacer = build(text, &ManualClock::jumping()).build();
        let starts = finish("crew", crew(4, &pacer, lane_that_comes_and_goes), || ()).concat();
        assert_each_slot_once(&pacer, starts, if text == "100k/s" { 10_000 } else { 10 });
    }
}

#[test]
fn claims_given_back_are_taken_once() {
    let (clock, pacer) = paced("1M/s");
    let crew = crew(4, &pacer, claims_started_or_dropped);
    let starts = finish("crew", crew, || clock.advance(span(777))).concat();
    clock.advance(span(1_000_000_000));
    assert_each_slot_once(&pacer, starts, 1_000);
}

#[test]
fn everything_at_once_takes_each_slot_once() {
    for number in [0.0, 2.0] {
        let clock = ManualClock::new();
        let pacer = build("100M/s", &clock).strictness(strictness(number)).build();
        let crew = crew(6, &pacer, a_bit_of_everything);
        let starts = finish("crew", crew, || clock.advance(span(333))).concat();
        clock.advance(span(1_000_000_000));
        assert_each_slot_once_on_time(&pacer, &clock, starts);
    }
}

fn assert_each_slot_once_on_time(pacer: &Pacer, clock: &ManualClock, starts: Starts) {
    let pacer = pacer.clone();
    let thread = thread::spawn(move || assert_each_slot_once(&pacer, starts, 10));
    finish("the rest", vec![thread], || clock.advance(span(1_000_000)));
}

#[test]
fn slots_are_counted_right_over_rate_changes() {
    let (clock, pacer) = paced("1M/s");
    let acquires = crew(3, &pacer, many_acquires);
    let lanes = crew(3, &pacer, lane_that_comes_and_goes);
    let mut dice = Dice(7);
    let starts = finish("crew", acquires.into_iter().chain(lanes).collect(), || {
        pacer.set_rate(rate(
            ["10k/s", "1M/s", "100M/s", "10G/s"][usize::try_from(dice.below(4)).expect("fits")],
        ));
        clock.advance(span(dice.below(100_000)));
        if dice.below(10) == 0 {
            pacer.pause();
            clock.advance(span(1_000));
            pacer.resume();
        }
    });
    let starts = starts.concat().len() as u64;
    assert_eq!(pacer.ledger().granted, starts);
    assert_balanced(&pacer);
}

#[test]
fn no_gap_is_forfeited_twice() {
    for (number, skip) in [(0.5, false), (1.0, false), (1.1, false), (0.0, true)] {
        let clock = ManualClock::new();
        let mut builder = build("1M/s", &clock).strictness(strictness(number));
        if skip {
            builder = builder.skip_later_than(span(5_000));
        }
        let pacer = builder.build();
        let mut dice = Dice(11);
        finish("crew", crew(4, &pacer, many_acquires), || clock.advance(span(dice.below(50_000))));
        let ledger = pacer.ledger();
        assert_eq!(ledger.granted, 8_000, "strictness {number}");
        assert_balanced(&pacer);
        // Each granted or skipped slot accounts for 1 us. If time was forfeited twice or a slot skipped twice, the sums
        // differ.
        drain(&pacer);
        let ledger = pacer.ledger();
        let slots = span((ledger.granted + ledger.skipped) * 1_000);
        let available = ledger.elapsed.saturating_sub(ledger.idle + ledger.waiting);
        assert_eq!(ledger.allocated, slots.min(available), "{ledger:?}");
    }
}

#[test]
fn a_close_in_the_middle_ends_all_calls() {
    for round in 0..20_u64 {
        let (clock, pacer) = paced("1M/s");
        let acquirers = crew(4, &pacer, until_closed);
        let lanes = crew(4, &pacer, |pacer, _| {
            let mut lane = pacer.lane();
            std::iter::from_fn(|| lane.acquire().ok().map(intended_ns)).collect()
        });
        for _ in 0..round {
            clock.advance(span(10_000));
            thread::yield_now();
        }
        pacer.close();
        let mut starts =
            finish("crew", acquirers.into_iter().chain(lanes).collect(), || ()).concat();
        assert_eq!(pacer.ledger().granted, starts.len() as u64);
        starts.sort_unstable();
        assert!(starts.windows(2).all(|pair| pair[0] < pair[1]), "a slot twice");
        assert_eq!(pacer.acquire(), Err(Ended::Closed));
    }
}

fn until_closed(pacer: &Pacer, dice: &mut Dice) -> Starts {
    let mut starts = Starts::new();
    loop {
        let start = match dice.below(3) {
            0 => pacer.acquire().map(intended_ns).map_err(Refused::from),
            1 => pacer.acquire_timeout(span(dice.below(100_000))).map(intended_ns),
            _ => pacer.try_acquire().map(intended_ns),
        };
        match start {
            Ok(start) => starts.push(start),
            Err(Refused::Closed) => return starts,
            Err(_) => thread::yield_now(),
        }
    }
}

#[derive(Debug)]
struct Stopping {
    now: AtomicU64,
    stopped: OnceLock<ThreadId>,
    /// The thread waits here when it stops, and again before it continues.
    barrier: Barrier,
}

impl Clock for Stopping {
    fn now(&self) -> Nanos {
        if self.stopped.get() == Some(&thread::current().id()) {
            self.barrier.wait();
            self.barrier.wait();
        }
        at(self.now.load(Ordering::Relaxed))
    }

    fn park(&self, _: &Parker, until: Nanos) {
        self.now.store(until.as_nanos() + 1_000, Ordering::Relaxed);
    }
}

/// Reading the ledger takes the lock, and reads the clock while the lock is held.
#[test]
fn a_thread_that_is_stopped_while_it_holds_the_lock_stops_no_other() {
    let clock = Arc::new(Stopping {
        now: AtomicU64::new(0),
        stopped: OnceLock::new(),
        barrier: Barrier::new(2),
    });
    let pacer = Pacer::builder(rate("1000/s")).clock(clock.clone()).build();
    clock.now.store(10_000_000, Ordering::Relaxed);
    let (reader, at_clock) = (pacer.clone(), clock.clone());
    let reader = thread::spawn(move || {
        at_clock.stopped.set(thread::current().id()).expect("once");
        reader.ledger()
    });
    clock.barrier.wait();
    let worker = thread::spawn(move || {
        pacer.claim().expect("open").start().expect("due");
        let mut lane = pacer.lane();
        // Slots 1 to 10 are due. The worker sleeps for the others, and its lane claims them one by one.
        (0..20).for_each(|_| assert!(pacer.acquire().is_ok() && lane.acquire().is_ok()));
    });
    finish("worker", vec![worker], || ());
    clock.barrier.wait();
    finish("reader", vec![reader], || ());
}
