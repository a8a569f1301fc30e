//! Compares one worker and a simulated server, paced by the engine in virtual time, with textbook formulas (Kleinrock,
//! *Queueing Systems*, volume 1, 1975, chapters 3, 5 and 6).
//!
//! A worker that runs one operation at a time is a single server. Late operations are the queue in front of that
//! server. Response times from the *intended* start include the time in this queue. A load generator that measures from
//! the actual start (coordinated omission) leaves that time out.

use crate::common::{MILLI, SECOND, assert_balanced, build, span, strictness};
use nanopace::{Arrivals, Claim, Level, ManualClock, Nanos, Pacer, Rate, Shape, Strictness};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, Exp, Geometric};
use std::collections::VecDeque;
use std::time::Duration;

const SERVICE: Duration = Duration::from_millis(1);
const SERVED_PER_SECOND: f64 = 1e3;

/// The rate of the schedule from which random arrivals are chosen. One service time is as long as a thousand of its
/// slots.
const FINE_PER_SECOND: u32 = 1_000_000;

/// Utilisations of the server, in thousandths, and the number of operations per batch.
///
/// The correlations of the M/M/1 queue decay within 1 / (mu (1 - sqrt rho)^2), its relaxation time, which is 6, 72 and
/// 1 480 arrivals here. A batch is at least 54 times that, and the correlations of the other queues decay sooner. The
/// means of neighbouring batches are therefore correlated by less than 1/54, which makes the intervals at most 2 % too
/// narrow.
const LOADS: [(u32, usize); 3] = [(500, 4_000), (800, 16_000), (950, 80_000)];

/// The number of batches that count. The batch before them is left out, because the queue is empty at its beginning.
const BATCHES: u32 = 20;

/// The two-sided 99.9 % quantile of Student's t with 19 degrees of freedom.
const STUDENT_T: f64 = 3.883;

fn seeded() -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(1)
}

fn utilisation(thousandths: u32) -> f64 {
    f64::from(thousandths) / 1e3
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Checks the mean response time with a confidence interval of batch means. The means x of b = 20 batches are nearly
/// independent and, as sums over many relaxation times, nearly normal, so that `(mean - theory) / (s / sqrt b)` has
/// Student's distribution with b - 1 degrees of freedom, where `s^2 = sum (x - mean)^2 / (b - 1)`. `bias` is the known
/// error of the simulation.
fn assert_mean_response(responses: &[f64], batch: usize, theory: f64, bias: f64) {
    let means: Vec<f64> = responses.chunks_exact(batch).skip(1).map(mean).collect();
    let measured = mean(&means);
    let squares: f64 = means.iter().map(|x| (x - measured).powi(2)).sum();
    let half_width = STUDENT_T * (squares / f64::from(BATCHES - 1) / f64::from(BATCHES)).sqrt();
    assert!(half_width < 0.15 * theory, "the interval {measured} +- {half_width} s is too wide");
    assert!(
        (measured - theory).abs() <= half_width + bias,
        "{measured} s, should be {theory} +- {half_width} + {bias}"
    );
}

/// Returns the mean response time of M/G/1 in seconds, by Pollaczek and Khinchine: `E[S] + lambda E[S^2] / (2 (1 -
/// rho))`, for a service time S with mean 1/mu and the given `E[S^2] / E[S]^2`. With rho = lambda E[S] that is `E[S]
/// (1 + rho ratio / (2 (1 - rho)))`.
fn pollaczek_khinchine(rho: f64, ratio: f64) -> f64 {
    (1.0 + rho * ratio / (2.0 * (1.0 - rho))) / SERVED_PER_SECOND
}

/// Returns how much shorter responses are when arrivals are not Poisson but come with probability p = lambda d in each
/// slot of length d (Geo/G/1): `lambda (E[S^2] - d E[S]) / (2 (1 - rho))` replaces the second term of
/// [`pollaczek_khinchine`]. The difference is `rho d / (2 (1 - rho))`.
fn bias_of_slots(rho: f64) -> f64 {
    rho / (2.0 * (1.0 - rho)) / f64::from(FINE_PER_SECOND)
}

/// Runs operations on one worker, and returns their response times in seconds. `draw` returns the number of slots that
/// an operation claims and its service time.
///
/// Each grant is also compared with Lindley's recursion. By this recursion, an operation arrives at its slot's time. It
/// begins at that time, or when the operation before it is complete, if that is later. Its response time is completion
/// minus arrival, to the nanosecond.
fn one_worker(
    per_second: u32,
    operations: usize,
    mut draw: impl FnMut() -> (u32, Duration),
) -> Vec<f64> {
    let clock = ManualClock::jumping();
    let rate = Rate::per_second(u64::from(per_second)).expect("a rate");
    let pacer = Pacer::builder(rate).clock(clock.clone()).build();
    let (mut slot, mut complete) = (0, Nanos::ZERO);
    let operation = |_| {
        let (slots, service) = draw();
        let grant = pacer.acquire_many(slots).expect("open");
        clock.advance(service);
        let arrival = crate::common::at((slot * SECOND).div_ceil(u64::from(per_second)));
        complete = complete.max(arrival) + service;
        slot += u64::from(slots);
        assert_eq!(grant.intended_start(), arrival);
        assert_eq!(grant.response_time(pacer.now()), complete - arrival);
        grant.response_time(pacer.now()).as_secs_f64()
    };
    (0..operations).map(operation).collect()
}

fn random_arrivals(
    loads: (u32, usize),
    mut service: impl FnMut(&mut dyn Rng) -> Duration,
) -> Vec<f64> {
    let (thousandths, batch) = loads;
    let mut random = seeded();
    let per_slot = utilisation(thousandths) * SERVED_PER_SECOND / f64::from(FINE_PER_SECOND);
    let misses = Geometric::new(per_slot).expect("a probability");
    one_worker(FINE_PER_SECOND, operations(batch), || {
        let slots = 1 + u32::try_from(misses.sample(&mut random)).expect("some thousands");
        (slots, service(&mut random))
    })
}

fn operations(batch: usize) -> usize {
    (BATCHES as usize + 1) * batch
}

/// The time is rounded to the nearest nanosecond, which is an error of at most 1e-6 of the mean.
fn exponential(random: &mut dyn Rng, per_second: f64) -> Duration {
    Duration::from_secs_f64(Exp::new(per_second).expect("a rate").sample(random))
}

#[test]
fn random_arrivals_and_services_are_m_m_1() {
    for (thousandths, batch) in LOADS {
        let rho = utilisation(thousandths);
        let responses =
            random_arrivals((thousandths, batch), |random| exponential(random, SERVED_PER_SECOND));
        // An exponential S has E[S^2] = 2 E[S]^2, so that the mean is 1 / (mu - lambda).
        assert_mean_response(&responses, batch, pollaczek_khinchine(rho, 2.0), bias_of_slots(rho));
    }
}

#[test]
fn random_arrivals_at_even_services_are_m_d_1() {
    for (thousandths, batch) in LOADS {
        let rho = utilisation(thousandths);
        let responses = random_arrivals((thousandths, batch), |_| SERVICE);
        // A constant S has E[S^2] = E[S]^2.
        assert_mean_response(&responses, batch, pollaczek_khinchine(rho, 1.0), bias_of_slots(rho));
    }
}

/// Slots are evenly spaced and service times are exponential, so the operations of one worker form a D/M/1 queue. Their
/// mean response time is `1 / (mu (1 - sigma))`, where sigma is the root below 1 of `sigma = exp(-mu (1 - sigma) /
/// lambda)`.
#[test]
fn the_even_schedule_at_random_services_is_d_m_1() {
    for (thousandths, batch) in LOADS {
        let mut random = seeded();
        // The worker serves 1 000 operations per second on average, so the rate per second equals the utilisation in
        // thousandths.
        let responses = one_worker(thousandths, operations(batch), || {
            (1, exponential(&mut random, SERVED_PER_SECOND))
        });
        let rho = utilisation(thousandths);
        // The iteration approaches the root from below. Each step multiplies the error by a factor below rho, and
        // 0.95^1000 is negligible.
        let sigma = (0..1_000).fold(0.0_f64, |sigma, _| ((sigma - 1.0) / rho).exp());
        // Intended starts are rounded up to nanoseconds, each by less than 1 ns.
        assert_mean_response(&responses, batch, 1.0 / (SERVED_PER_SECOND * (1.0 - sigma)), 1e-9);
    }
}

/// The engine's own random arrivals can come at any time, so no bias for the slots of a finer schedule applies. The
/// highest load is left out, because it would take too long.
#[test]
fn a_poisson_schedule_at_random_services_is_m_m_1() {
    for (thousandths, batch) in LOADS[..2].iter().copied() {
        let (clock, mut random) = (ManualClock::jumping(), seeded());
        let rate = Rate::per_second(u64::from(thousandths)).expect("a rate");
        let pacer =
            Pacer::builder(rate).arrivals(Arrivals::poisson(1)).clock(clock.clone()).build();
        let operation = |_| {
            let grant = pacer.acquire().expect("open");
            clock.advance(exponential(&mut random, SERVED_PER_SECOND));
            grant.response_time(pacer.now()).as_secs_f64()
        };
        let responses: Vec<f64> = (0..operations(batch)).map(operation).collect();
        let theory = pollaczek_khinchine(utilisation(thousandths), 2.0);
        assert_mean_response(&responses, batch, theory, 1e-9);
    }
}

/// Along a ramp, the counts in windows are independent and have Poisson distributions. The mean and the variance of a
/// count are the integral of the rate over its window. The sum of `(count - mean)^2 / mean` over k windows therefore
/// has the mean k and the variance `2 k + sum 1 / mean`.
#[test]
fn a_poisson_schedule_along_a_ramp_has_the_integral_in_each_window() {
    const WINDOWS: u32 = 200;
    let top = Level::from(Rate::per_second(2_000).expect("a rate"));
    for seed in [1, 2] {
        let time = Duration::from_secs(u64::from(WINDOWS));
        let ramp = Shape::ramp(Level::ZERO, top, time).expect("a ramp");
        let builder = Pacer::shaped(ramp).arrivals(Arrivals::poisson(seed));
        let pacer = builder.clock(ManualClock::jumping()).build();
        let mut counts = [0_u32; WINDOWS as usize];
        while let Ok(grant) = pacer.acquire() {
            let window = (grant.intended_start() - Nanos::ZERO).as_secs();
            counts[usize::try_from(window).expect("hundreds")] += 1;
        }
        // Each window is one second long, and the rate rises by 10/s in that second.
        let windows = (0..WINDOWS).zip(counts);
        let (sum, variance) = windows.fold((0.0, 0.0), |(sum, variance), (window, count)| {
            let mean = 10.0 * (f64::from(window) + 0.5);
            (sum + (f64::from(count) - mean).powi(2) / mean, variance + 2.0 + mean.recip())
        });
        assert!(
            (sum - f64::from(WINDOWS)).abs() < 4.0 * f64::sqrt(variance),
            "seed {seed}: {sum} instead of {WINDOWS}"
        );
    }
}

struct Waiting<'p> {
    clock: ManualClock,
    claims: VecDeque<(Claim<'p>, Nanos)>,
    complete: Nanos,
    responses: Vec<f64>,
}

impl Waiting<'_> {
    fn serve_until(&mut self, moment: Nanos) {
        while let Some((claim, arrival)) = self.claims.front_mut() {
            let due = claim.due().expect("open");
            if due > moment {
                return;
            }
            self.clock.set(due);
            let start = claim.start().expect("due").actual_start();
            assert_eq!(start, self.complete.max(*arrival));
            self.complete = start + SERVICE;
            self.responses.push((self.complete - *arrival).as_secs_f64());
            self.claims.pop_front();
        }
    }
}

/// A strict pacer starts at most one slot per interval, and forfeits the time of an unused slot. It acts as a server
/// with a constant service time, so callers that claim slots at Poisson times form an M/D/1 queue. In this test,
/// callers can arrive at any time, and not only in the slots of a finer schedule.
#[test]
fn random_claims_from_a_strict_pacer_are_m_d_1() {
    for (thousandths, batch) in LOADS {
        let rho = utilisation(thousandths);
        let clock = ManualClock::new();
        let pacer = build("1000/s", &clock).strictness(Strictness::STRICT).build();
        let (mut random, mut arrival) = (seeded(), Nanos::ZERO);
        let mut waiting = Waiting {
            clock: clock.clone(),
            claims: VecDeque::new(),
            complete: Nanos::ZERO,
            responses: Vec::new(),
        };
        while waiting.responses.len() < operations(batch) {
            arrival = arrival + exponential(&mut random, rho * SERVED_PER_SECOND);
            waiting.serve_until(arrival);
            clock.set(arrival);
            waiting.claims.push_back((pacer.claim().expect("open"), arrival));
        }
        waiting.responses.truncate(operations(batch));
        assert_mean_response(&waiting.responses, batch, pollaczek_khinchine(rho, 1.0), 0.0);
        assert_balanced(&pacer);
    }
}

/// The parameters of the single stall. At 1 000/s, slots are I = 1 ms apart. Each operation takes s = 0.2 ms, but
/// operation number 1 000 takes S = 1 s longer.
const INTERVAL_NS: u64 = MILLI;
const QUICK_NS: u64 = MILLI / 5;
const STALL_NS: u64 = SECOND;
const STALLED: u64 = 1_000;

fn one_stall(number: f64, operations: u64) -> (Pacer, Vec<u64>) {
    let clock = ManualClock::jumping();
    let pacer = build("1000/s", &clock).strictness(strictness(number)).build();
    let operation = |slot| {
        let grant = pacer.acquire().expect("open");
        clock.advance(span(QUICK_NS + if slot == STALLED { STALL_NS } else { 0 }));
        grant.response_time(pacer.now())
    };
    let nanos = |response: Duration| u64::try_from(response.as_nanos()).expect("some seconds");
    let responses = (0..operations).map(operation).map(nanos).collect();
    (pacer, responses)
}

fn percentile(responses: &[u64], percent: usize) -> u64 {
    let mut sorted = responses.to_vec();
    sorted.sort_unstable();
    sorted[(sorted.len() * percent).div_ceil(100) - 1]
}

fn percentiles(responses: &[u64]) -> [u64; 4] {
    [50, 90, 99, 100].map(|percent| percentile(responses, percent))
}

#[test]
fn a_stall_under_average_is_uniform_until_the_server_has_caught_up() {
    let (_, responses) = one_stall(0.0, 10_000);
    // The operation k slots after the stalled operation is intended k I after it, and is complete S + (k + 1) s after
    // the stalled operation began. Its response time is therefore S + s - k (I - s), until that falls to s. The excess
    // over s falls from S to 0 in even steps of I - s = 0.8 ms, which are 1 s / 0.8 ms = 1 250 steps.
    let catching_up = |k: u64| (STALL_NS + QUICK_NS).saturating_sub(k * (INTERVAL_NS - QUICK_NS));
    for (slot, &response) in (0..).zip(&responses) {
        let expected =
            if slot < STALLED { QUICK_NS } else { catching_up(slot - STALLED).max(QUICK_NS) };
        assert_eq!(response, expected, "slot {slot}");
    }
    assert_eq!(responses.iter().filter(|&&response| response > QUICK_NS).count(), 1_250);
    // These 1 250 are 12.5 % of 10 000 responses. 1 000 responses are above the 90th percentile, which is therefore
    // that of k = 1 000: 1 000.2 - 1 000 x 0.8 ms. 100 responses are above the 99th percentile, which is 1 000.2 - 100
    // x 0.8 ms. The longest response is that of k = 0.
    assert_eq!(
        percentiles(&responses),
        [2, 2_002, 9_202, 10_002].map(|tenths| tenths * MILLI / 10)
    );
}

#[test]
fn a_stall_under_burst_is_uniform_until_the_pacer_has_caught_up() {
    let (_, responses) = one_stall(1.1, 100_000);
    // Slot 1 after the stalled slot starts S + s after the stall began. The later slots follow at 1.1 times the rate,
    // although the server would be faster. Slot k therefore starts S + s + (k - 1) I / 1.1 after the stall began, and
    // its response time is S + 2 s - k I + (k - 1) I / 1.1, until that falls to s.
    let catching_up = |k: u64| {
        let released = STALL_NS + QUICK_NS + (k.saturating_sub(1) * INTERVAL_NS * 10).div_ceil(11);
        (released + QUICK_NS).saturating_sub(k * INTERVAL_NS)
    };
    for (slot, &response) in (0..).zip(&responses) {
        let expected = match slot {
            0..STALLED => QUICK_NS,
            STALLED => STALL_NS + QUICK_NS,
            _ => catching_up(slot - STALLED).max(QUICK_NS),
        };
        // The ratio is a multiple of 2^-32, so its relative error is less than 2^-32 / 1.1. In the 11 s of the
        // catch-up, the error is at most 2.3 ns. Rounding adds another nanosecond.
        assert!(
            response.abs_diff(expected) <= 4,
            "slot {slot}: {response} ns, should be {expected}"
        );
    }
    // The response time falls by I - I / 1.1 = 1/11 ms from one operation to the next. Operation k is late while k I /
    // 11 < S + s - I / 1.1 = 999.290909 ms, so the last late operation is k = 10 992. With the stalled operation, 10
    // 993 operations are late, which are 11 % of 100 000.
    assert_eq!(responses.iter().filter(|&&response| response > QUICK_NS + 4).count(), 10_993);
    // 10 000 responses are above the 90th percentile, which is S + 2 s - I / 1.1 - 10 000 I / 11 = 1 000.4 - 0.909091 -
    // 909.090909 ms. 1 000 responses are above the 99th percentile, which is 1 000.4 - 0.909091 - 90.909091 ms. The
    // longest response is that of the stalled operation.
    for (percentile, expected) in
        percentiles(&responses).into_iter().zip([200_000, 90_400_000, 908_581_818, 1_000_200_000])
    {
        assert!(percentile.abs_diff(expected) <= 4, "{percentile} ns, should be {expected}");
    }
}

#[test]
fn a_stall_under_strict_makes_two_late_and_the_rest_wait_their_turn() {
    let (pacer, mut responses) = one_stall(1.0, 10_000);
    // The stalled operation takes S + s. The next operation starts S + s after the stalled one and was intended I after
    // it, so its response time is S + s - I + s. The lateness of the next operation becomes idle time, and every other
    // operation is on time.
    assert_eq!(responses[1_000], STALL_NS + QUICK_NS);
    assert_eq!(responses[1_001], STALL_NS + 2 * QUICK_NS - INTERVAL_NS);
    assert_eq!(pacer.ledger().idle, span(STALL_NS + QUICK_NS - INTERVAL_NS));
    // Only 2 of 10 000 responses are longer, so the 99th percentile is not affected.
    assert_eq!(percentiles(&responses), [QUICK_NS, QUICK_NS, QUICK_NS, STALL_NS + QUICK_NS]);
    responses.drain(1_000..=1_001);
    assert!(responses.iter().all(|&response| response == QUICK_NS));
}
