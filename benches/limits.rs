//! Measures the cost of a decision, for a single limit and by key, and the memory of a key.
//!
//! ```text
//! cargo bench -p nanopace-benches --features rivals --bench limits -- [direct] [keyed] [memory]
//! ```
//!
//! GCRA and a `Limiter` with two limits are compared with a clock reading and a compare-and-swap loop on one word. A
//! `Limiter` with one limit and a `Keyed` are compared with governor. The candidates of each comparison alternate, and
//! every decision is checked.

use crossbeam_utils::CachePadded;
use nanopace::{Clock, ManualClock, TscClock};
use nanopace_benches::crew;
use nanopace_benches::figure::{Figure, Sense, head};
use nanopace_benches::float;
use nanopace_benches::rounds::alternate;
use nanopace_keyed::{ConfigStore, Keyed, MemoryConfig, Scope};
use nanopace_limits::{Atomic, Clocked, Gcra, Limiter, Quota, Rule};
use peak_alloc::PeakAlloc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const SPAN: Duration = Duration::from_millis(100);
const ROUNDS: usize = 7;
/// The maximum cost of an admission by GCRA, as a multiple of the cost of a compare-and-swap loop with a clock reading.
const BOUND: f64 = 1.5;
/// The maximum costs of a `Limiter` with one limit and of a `Keyed` with the hasher of governor's keyed limiter, as
/// multiples of the costs of governor's limiters.
const BOUNDS_BESIDE_GOVERNOR: [f64; 2] = [1.0, 1.05];
const MILLION: u64 = 1 << 20;
/// A burst capacity of one minute at 1 G/s.
const CAPACITY: u64 = 60_000_000_000;

type Candidate<'a> = (String, Box<dyn FnMut() -> f64 + 'a>);

fn main() {
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let parts: [(&str, fn()); 3] = [("direct", direct), ("keyed", keyed), ("memory", memory)];
    for (name, part) in parts {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            part();
        }
    }
}

fn quota(text: &str) -> Quota {
    text.parse().expect("a quota")
}

/// Returns a rule that admits every request, even if the thread was preempted for seconds after its clock reading.
fn generous() -> Gcra {
    Gcra::with_burst(quota("1G/s"), CAPACITY).expect("a burst")
}

/// `hire` returns a function that makes a request and returns whether the decision is the expected one.
fn cost<W: FnMut() -> bool + Send>(threads: usize, hire: impl Fn() -> W + Sync) -> f64 {
    let work = crew::run(threads, SPAN, || {
        let mut ask = hire();
        move || assert!(ask(), "a decision differs from the expected one")
    });
    1e9 / work.per_second()
}

/// Compares all candidates with the first one, and judges the next `bounded` candidates by `bound`.
fn compare(mut candidates: Vec<Candidate<'_>>, bounded: usize, bound: f64) {
    let mut rounds: Vec<&mut dyn FnMut() -> f64> =
        candidates.iter_mut().map(|(_, round)| &mut **round as _).collect();
    let samples = alternate(ROUNDS, &mut rounds);
    for (index, ((name, _), costs)) in candidates.iter().zip(&samples).enumerate() {
        let figure = Figure::of_rounds(name, "ns", costs, &samples[0]);
        let is_bounded = (1..=bounded).contains(&index);
        println!("{}", if is_bounded { figure.bound(Sense::AtMost, bound) } else { figure });
    }
}

fn direct() {
    println!(
        "Direct, ns per decision of all threads together, medians of {ROUNDS} rounds\n\n{}",
        head()
    );
    for threads in [1, 2] {
        let (word, clock) = (CachePadded::new(AtomicU64::new(0)), TscClock::new());
        let candidates = vec![
            candidate("bare compare-and-swap and clock", threads, || bare(&word, &clock)),
            candidate("cooldown", threads, asking(generous())),
            candidate("cooldown, refused", threads, refusing()),
            candidate("Limiter, 2 limits", threads, front_door(", 1G/s in 10")),
        ];
        compare(candidates, 1, BOUND);
        compare(
            vec![
                candidate("governor", threads, rivals::direct()),
                candidate("Limiter", threads, front_door("")),
            ],
            1,
            BOUNDS_BESIDE_GOVERNOR[0],
        );
    }
}

fn candidate<'a>(what: &str, threads: usize, ask: impl Fn() -> bool + Sync + 'a) -> Candidate<'a> {
    (format!("{what}, {threads} threads"), Box::new(move || cost(threads, || &ask)))
}

fn bare(word: &AtomicU64, clock: &TscClock) -> bool {
    let now = clock.now().as_nanos();
    let mut seen = word.load(Relaxed);
    while let Err(newer) = word.compare_exchange_weak(seen, seen.max(now) + 1, Relaxed, Relaxed) {
        seen = newer;
    }
    seen < u64::MAX
}

fn asking(rule: impl Rule<State: From<u64> + Into<u64>>) -> impl Fn() -> bool + Sync {
    let limiter = Clocked::new(Atomic::new(rule), TscClock::new());
    move || limiter.try_acquire().is_ok()
}

fn front_door(more: &str) -> impl Fn() -> bool + Sync {
    let limiter = Limiter::new(generous_text(more).parse().expect("limits"));
    move || limiter.try_acquire().is_ok()
}

fn generous_text(more: &str) -> String {
    format!("1G/s burst {CAPACITY}{more}")
}

fn refusing() -> impl Fn() -> bool + Sync {
    let limiter = Clocked::new(Atomic::new(Gcra::new(quota("1/day"))), TscClock::new());
    assert!(limiter.try_acquire().is_ok(), "the first request is admitted");
    move || limiter.try_acquire().is_err()
}

/// Returns numbers below `count`, a power of two, in a pseudorandom order, so that prefetching does not hide cache
/// misses.
fn shuffled(count: u64) -> impl FnMut() -> u64 + Send {
    static SEED: AtomicU64 = AtomicU64::new(0);
    let mut number = SEED.fetch_add(0x9E37_79B9_7F4A_7C15, Relaxed);
    move || {
        number =
            number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (number >> 33) & (count - 1)
    }
}

fn keyed() {
    println!(
        "\nKeyed, ns per decision of all threads together, medians of {ROUNDS} rounds\n\n{}",
        head()
    );
    for (threads, keys) in [(1, 1 << 10), (2, 1 << 10), (1, MILLION), (2, MILLION)] {
        let (front_door, governor) = (full_keyed(keys, TscClock::new()), rivals::full(keys));
        let crowd = Crowd { threads, keys };
        compare(
            vec![
                crowd.candidate("governor", |key| governor.check_key(&key).is_ok()),
                crowd.candidate("Keyed", |key| front_door.try_acquire(&key).is_ok()),
            ],
            1,
            BOUNDS_BESIDE_GOVERNOR[1],
        );
    }
}

#[derive(Clone, Copy)]
struct Crowd {
    threads: usize,
    keys: u64,
}

impl Crowd {
    fn candidate<'a>(self, what: &str, ask: impl Fn(u64) -> bool + Sync + 'a) -> Candidate<'a> {
        let Crowd { threads, keys } = self;
        let round = move || {
            cost(threads, || {
                let mut next = shuffled(keys);
                let ask = &ask;
                move || ask(next())
            })
        };
        (format!("{what}, {keys} keys, {threads} threads"), Box::new(round))
    }
}

fn index(key: u64) -> usize {
    usize::try_from(key).expect("a key of the benchmark's")
}

fn key_name(key: u64) -> String {
    format!("user:{key:07}")
}

/// Returns a limiter whose keys are kept for 30 s, so that no key is removed before all have been added.
fn full_keyed(keys: u64, clock: impl Clock + 'static) -> Keyed<u64> {
    let burst = Keyed::per_second(1_000_000_000).burst(CAPACITY);
    let keyed = burst.max_keys(index(keys)).clock(clock).build().expect("limits");
    (0..keys).for_each(|key| keyed.try_acquire_costs(&key, CAPACITY / 2).expect("room"));
    keyed
}

fn full_configured(keys: u64, limits: &str, clock: &ManualClock) -> Keyed<String, MemoryConfig> {
    let config = MemoryConfig::new();
    config.set(Scope::Prefix("user:"), limits.parse().expect("limits")).expect("memory");
    let keyed = Keyed::builder(config).max_keys(index(keys)).clock(clock.clone());
    let keyed = keyed.build().expect("limits");
    (0..keys).for_each(|key| keyed.try_acquire(&key_name(key)).expect("room"));
    keyed
}

fn memory() {
    println!("\nMemory of {MILLION} keys, before and after their removal\n");
    println!("| {:<32} | bytes/key | bytes/key left |", "");
    let clock = ManualClock::new();
    let two_hours = Duration::from_secs(2 * 3600);
    weigh(
        "Keyed, u64",
        || full_keyed(MILLION, clock.clone()),
        |keyed| {
            clock.advance(two_hours);
            keyed.sweep(usize::MAX)
        },
    );
    for (name, limits) in [("1 limit", "1G/s"), ("2 limits", "1G/s, 1000/h in 60")] {
        let fill = || full_configured(MILLION, limits, &clock);
        weigh(&format!("Keyed, 12 letters, {name}"), fill, |keyed| {
            clock.advance(two_hours);
            keyed.sweep(usize::MAX)
        });
    }
    weigh("governor, u64", || rivals::full(MILLION), rivals::clean);
}

/// Prints the memory per key of a store with about a million keys, before and after `tidy`. `tidy` returns the number
/// of removed keys.
fn weigh<T>(name: &str, build: impl FnOnce() -> T, tidy: impl FnOnce(&T) -> usize) {
    let before = MEMORY.current_usage();
    let held = || float(MEMORY.current_usage().saturating_sub(before) as u64) / float(MILLION);
    let store = build();
    let full = held();
    assert_eq!(tidy(&store), index(MILLION), "{name}: keys are missing");
    println!("| {name:<32} | {full:>9.1} | {:>14.1} |", held());
}

mod rivals {
    use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
    use std::num::NonZeroU32;

    pub(super) fn direct() -> impl Fn() -> bool + Sync {
        let limiter = RateLimiter::direct(Quota::per_second(NonZeroU32::MAX));
        move || limiter.check().is_ok()
    }

    pub(super) fn full(keys: u64) -> DefaultKeyedRateLimiter<u64> {
        let limiter = RateLimiter::keyed(Quota::per_second(NonZeroU32::MAX));
        (0..keys).for_each(|key| limiter.check_key(&key).expect("the first request is admitted"));
        limiter
    }

    pub(super) fn clean(limiter: &DefaultKeyedRateLimiter<u64>) -> usize {
        let keys = limiter.len();
        limiter.retain_recent();
        limiter.shrink_to_fit();
        keys - limiter.len()
    }
}
