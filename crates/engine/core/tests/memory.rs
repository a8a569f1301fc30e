//! Tests the memory of a pacer and of a lane, which must not grow with running time or with lanes that come and go.

#[path = "laws/common/mod.rs"]
mod common;

use common::{build, rate, span, strictness};
use nanopace::{Arrivals, ManualClock, Pacer, Shape};
use peak_alloc::PeakAlloc;
use std::hint::black_box;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

const PACER_BYTES: usize = 4 << 10;
/// The maximum memory of a pacer that stores the random numbers of the slots around the next slot.
const UNEVEN_BYTES: usize = 6 << 10;
/// The maximum memory of a pacer with uneven slots on a shape, after a caller has waited.
const SHAPED_BYTES: usize = 7 << 10;
const LANE_BYTES: usize = 256;
/// The maximum memory of a lane with the intended starts of the unevenly spaced slots that it claims at once.
const UNEVEN_LANE_BYTES: usize = 2 << 10;

fn bytes<T>(make: impl FnOnce() -> T) -> (T, usize) {
    let before = ALLOCATOR.current_usage();
    let value = make();
    (value, ALLOCATOR.current_usage().saturating_sub(before))
}

fn lead_a_long_life(pacer: &Pacer, clock: &ManualClock) {
    for round in 0..1_000_u64 {
        clock.advance(span(250_000_000));
        pacer.set_rate(rate(if round % 2 == 0 { "7/s" } else { "1000/s" }));
        pacer.set_strictness(strictness([0.0, 0.5, 1.0, 1.1][(round % 4) as usize]));
        pacer.pause();
        clock.advance(span(1_000_000));
        pacer.resume();
        black_box(pacer.try_acquire().is_ok());
        let claims = [(); 3].map(|()| pacer.claim().expect("open"));
        claims.into_iter().for_each(drop);
    }
}

/// Returns the smallest growth of five tries, because the test harness has its own thread, which allocates at any time.
fn growth<T>(mut more: impl FnMut() -> T) -> usize {
    (0..5).map(|_| bytes(&mut more).1).min().expect("some tries")
}

fn uneven(arrivals: Arrivals, clock: &ManualClock) -> Pacer {
    let pacer = build("1M/s", clock).arrivals(arrivals).build();
    for step_ns in [1_000_000, 1_000_000_000_000_000, 1_000_000] {
        clock.advance(span(step_ns));
        black_box((0..1_000).filter(|_| pacer.try_acquire().is_ok()).count());
        black_box(pacer.ledger());
    }
    pacer
}

fn shaped(arrivals: Arrivals, clock: &ManualClock) -> Pacer {
    let shape: Shape = "ramp 1k/s..1M/s 1h, hold 1M/s 1h".parse().expect("a shape");
    let pacer = Pacer::shaped(shape).arrivals(arrivals).clock(clock.clone()).build();
    clock.advance(span(1_000_000_000));
    black_box((0..1_000).filter(|_| pacer.try_acquire().is_ok()).count());
    black_box(pacer.acquire_timeout(span(1)).is_ok());
    pacer
}

fn pacers_of_uneven_slots_are_small() {
    let laws: [fn() -> Arrivals; 4] = [
        || Arrivals::poisson(1),
        || Arrivals::gamma(0.25, 1).expect("a law"),
        || Arrivals::exact_poisson(1_000_000, 1).expect("a law"),
        || Arrivals::jitter(0.5, 1).expect("a law"),
    ];
    for law in laws {
        let clock = ManualClock::new();
        let taken = growth(|| uneven(law(), &clock));
        assert!(taken < UNEVEN_BYTES, "{:?}: {taken} bytes", law());
        let clock = ManualClock::new();
        let taken = growth(|| shaped(law(), &clock));
        assert!(taken < SHAPED_BYTES, "{:?} on a shape: {taken} bytes", law());
        let pacer = build("1M/s", &clock).arrivals(law()).build();
        clock.advance(span(1_000_000));
        let taken = growth(|| {
            let mut lane = pacer.lane();
            black_box((0..1_000).filter(|_| lane.try_acquire().is_ok()).count());
            clock.advance(span(1_000_000));
            lane
        });
        assert!(taken < UNEVEN_LANE_BYTES, "a lane of {:?}: {taken} bytes", law());
    }
}

fn pollers_allocate_nothing_for_a_slot() {
    let clock = ManualClock::new();
    let pacer = build("1M/s", &clock).build();
    let mut pollers = [(); 4].map(|()| pacer.poller());
    let mut poll = || {
        for _ in 0..1_000 {
            clock.advance(span(500));
            for poller in &mut pollers {
                black_box(poller.poll().is_ok());
            }
        }
    };
    poll();
    let allocated = |_| {
        let before = ALLOCATOR.current_usage();
        ALLOCATOR.reset_peak_usage();
        poll();
        ALLOCATOR.peak_usage().saturating_sub(before)
    };
    assert_eq!((0..5).map(allocated).min(), Some(0), "bytes that a poll allocates");
}

#[test]
fn a_pacer_and_a_lane_are_small_and_stay_so() {
    pacers_of_uneven_slots_are_small();
    pollers_allocate_nothing_for_a_slot();
    let clock = ManualClock::new();
    let (pacer, built) = bytes(|| build("1M/s", &clock).build());
    assert!(built < PACER_BYTES, "{built} bytes");
    let (lane, made) = bytes(|| pacer.lane());
    assert!(made + size_of_val(&lane) < LANE_BYTES, "{made} bytes");
    drop(lane);

    let young = growth(|| {
        let clock = ManualClock::new();
        let pacer = build("1M/s", &clock).build();
        lead_a_long_life(&pacer, &clock);
        pacer
    });
    assert!(young < PACER_BYTES, "{young} bytes");
    lead_a_long_life(&pacer, &clock);
    let old = growth(|| (0..4).for_each(|_| lead_a_long_life(&pacer, &clock)));
    assert_eq!(old, 0, "bytes that each further round adds");

    // A slot that is held forever does not keep the slots after it in memory.
    let held = pacer.claim().expect("open");
    lead_a_long_life(&pacer, &clock);
    let old = growth(|| (0..4).for_each(|_| lead_a_long_life(&pacer, &clock)));
    assert_eq!(old, 0, "bytes that each further round adds while a slot is held");
    drop(held);

    let replay = Arrivals::replay(|| (0..).map(Duration::from_millis));
    let recorded = build("1/s", &clock).arrivals(replay).build();
    let play = |starts: u32| {
        for _ in 0..starts {
            clock.advance(Duration::from_millis(1));
            black_box(recorded.try_acquire().is_ok());
        }
    };
    play(10_000);
    let ((), more) = bytes(|| play(100_000));
    assert!(more < 4 << 10, "{more} bytes more after a hundred thousand recorded arrivals");

    let lanes = || {
        for _ in 0..1_000 {
            clock.advance(span(1_000_000));
            black_box(pacer.lane().acquire().is_ok());
        }
    };
    pacer.set_strictness(strictness(0.0));
    let granted = pacer.ledger().granted;
    lanes();
    assert_eq!(growth(lanes), 0, "bytes that dropped lanes keep");
    assert_eq!(pacer.ledger().granted - granted, 6 * 1_000);
}
