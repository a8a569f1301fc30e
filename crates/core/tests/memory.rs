//! What a pacer and a lane take in memory, their histograms apart, and that nothing grows with running time.

mod common;

use common::{build, rate, span, strictness};
use hdrhistogram::Histogram;
use nanopace::{ManualClock, Pacer};
use std::hint::black_box;

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

const PACER_BYTES: usize = 8 << 10;
const LANE_BYTES: usize = 512;

/// What `make` leaves allocated as long as its value lives, and the value itself.
fn bytes<T>(make: impl FnOnce() -> T) -> (T, usize) {
    let before = dhat::HeapStats::get().curr_bytes;
    let value = make();
    (value, dhat::HeapStats::get().curr_bytes.saturating_sub(before))
}

/// Three histograms, as a tally has them, before anything is recorded.
fn histogram_bytes() -> usize {
    let (histograms, counts) = bytes(|| [(); 3].map(|()| Histogram::<u64>::new(3).expect("three digits")));
    counts + size_of_val(&histograms)
}

/// Everything that is remembered: rates and pauses by the hundred, forfeited gaps, slots given back, samples of the rate.
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

#[test]
fn a_pacer_and_a_lane_are_small_and_stay_so() {
    let _profiler = dhat::Profiler::builder().testing().build();
    let histograms = histogram_bytes();
    let clock = ManualClock::new();
    let (pacer, built) = bytes(|| build("1M/s", &clock).build());
    assert!(built - histograms < PACER_BYTES, "{built} bytes, {histograms} of them histograms");
    let (lane, made) = bytes(|| pacer.lane());
    let lane_bytes = made - histograms + size_of_val(&lane);
    assert!(lane_bytes < LANE_BYTES, "{lane_bytes} bytes");
    let ((), young) = bytes(|| lead_a_long_life(&pacer, &clock));
    assert!(built - histograms + young < PACER_BYTES, "{young} bytes more");
    // The test harness has a thread of its own, which allocates once and whenever it gets to it.
    let old = (0..5).map(|_| bytes(|| (0..4).for_each(|_| lead_a_long_life(&pacer, &clock))).1).min();
    assert_eq!(old, Some(0), "bytes more each time after more of the same");
}
