//! Compares all limiters at a limit of 10/s, in virtual time. Prints how many requests each limiter admits at several
//! rates from 1/s to 20/s, and the time in which a caller that retries after rejections gets 100 requests admitted.
//!
//! `cargo run -p nanopace-limits --features pools --example compare`

use nanopace_limits::pools::{ManagedPool, RefilledBucket};
use nanopace_limits::{
    AggregatedWindow, FixedWindow, Gcra, LeakyQueue, Quota, QuotaError, Rejected, Rule,
    SlidingCounter, SlidingLog, SlottedRing, TokenBucket, TryAcquire,
};
use nanopace_nanos::{ManualClock, Nanos};
use std::collections::VecDeque;
use std::fmt::Write;
use std::num::NonZeroU16;
use std::time::Duration;

const PERIOD: Duration = Duration::from_secs(1);
const COUNT: u64 = 10;
const SLOTS: NonZeroU16 = NonZeroU16::new(10).unwrap();
/// The moment of the first request: half a period after a boundary between windows.
const START: Nanos = Nanos::from_nanos(1_500_000_000);
/// The requests per second in each phase. 0 is a pause.
const PHASES: [u64; 7] = [1, 2, 5, 10, 20, 0, 20];
/// The length of a phase, in periods.
const PHASE: u32 = 10;
const REQUESTS: u64 = 100;
const RETRY: Duration = Duration::from_millis(10);

/// A limiter with its name. `decide` takes the moment of a request, and returns the moment at which the admitted
/// request goes through. Only a queue returns a later moment than it was given.
pub(crate) struct Limiter {
    pub(crate) name: &'static str,
    decide: Box<dyn FnMut(Nanos) -> Result<Nanos, Rejected>>,
}

impl Limiter {
    fn new<R: Rule + 'static>(name: &'static str, rule: R) -> Limiter {
        let mut state = rule.fresh();
        let decide = move |now| rule.try_acquire(&mut state, now, 1).map(|()| now);
        Limiter { name, decide: Box::new(decide) }
    }

    fn shared(name: &'static str, limiter: impl TryAcquire + 'static) -> Limiter {
        Limiter { name, decide: Box::new(move |now| limiter.try_acquire_at(now).map(|()| now)) }
    }

    fn queue(name: &'static str, queue: LeakyQueue) -> Limiter {
        let mut state = queue.fresh();
        let decide = move |now| {
            let departure = queue.departure(state, now);
            queue.try_acquire(&mut state, now, 1).map(|()| departure)
        };
        Limiter { name, decide: Box::new(decide) }
    }
}

pub(crate) fn limiters() -> Result<Vec<Limiter>, QuotaError> {
    let quota = Quota::new(COUNT, PERIOD)?;
    let refilled = RefilledBucket::unattended(quota, COUNT, COUNT, 1, ManualClock::new())?;
    // A new pool is empty. This pool begins to fill one period before the first request.
    let filling = ManualClock::new();
    filling.advance(PERIOD / 2);
    let pool = ManagedPool::unattended(quota, COUNT, 1.25, PERIOD / 100, filling)?;
    Ok(vec![
        Limiter::new("gcra", Gcra::cooldown(quota)),
        Limiter::new("leaky meter", TokenBucket::leaky_meter(quota, COUNT)?),
        Limiter::queue("leaky queue", LeakyQueue::new(quota, COUNT)?),
        Limiter::new("token bucket", TokenBucket::new(quota, COUNT)?),
        Limiter::shared("refilled bucket", refilled),
        Limiter::shared("pool", pool),
        Limiter::new("fixed window", FixedWindow::new(quota)),
        Limiter::new("sliding log", SlidingLog::new(quota)),
        Limiter::new("sliding log, all", SlidingLog::counting_rejected(quota)),
        Limiter::new("sliding counter", SlidingCounter::new(quota)),
        Limiter::new("rolling ring", SlottedRing::<10>::new(quota)),
        Limiter::new("guarding ring", SlottedRing::<11>::guarding(quota)),
        Limiter::new("aggregated window", AggregatedWindow::new(quota, SLOTS)),
    ])
}

#[derive(Clone, Copy, Default)]
struct Phase {
    admitted: u64,
    rejected: u64,
    longest_retry: Duration,
}

#[derive(Default)]
pub(crate) struct Trial {
    phases: [Phase; PHASES.len()],
    pub(crate) most: usize,
    pub(crate) in_a_row: u64,
}

impl Trial {
    pub(crate) fn of(mut limiter: Limiter) -> Trial {
        let (mut trial, mut recent, mut in_a_row) = (Trial::default(), VecDeque::new(), 0);
        for (phase, now) in requests() {
            match (limiter.decide)(now) {
                Ok(through) => {
                    in_a_row = 0;
                    trial.phases[phase].admitted += 1;
                    recent.push_back(through);
                    recent.retain(|&then| through - then < PERIOD);
                }
                Err(rejected) => {
                    in_a_row += 1;
                    trial.phases[phase].reject(now, rejected);
                }
            }
            trial.most = trial.most.max(recent.len());
            trial.in_a_row = trial.in_a_row.max(in_a_row);
        }
        trial
    }
}

impl Phase {
    fn reject(&mut self, now: Nanos, rejected: Rejected) {
        self.rejected += 1;
        if let Rejected::NotUntil(then) = rejected {
            self.longest_retry = self.longest_retry.max(then - now);
        }
    }
}

fn requests() -> impl Iterator<Item = (usize, Nanos)> {
    let moments = |(phase, rate): (usize, u64)| {
        let begin = START + PERIOD * PHASE * u32::try_from(phase).expect("a few phases");
        let number = rate * u64::from(PHASE);
        (0..number)
            .map(move |nth| (phase, begin + Duration::from_nanos(nth * 1_000_000_000 / rate)))
    };
    PHASES.into_iter().enumerate().flat_map(moments)
}

/// The result of a caller that makes one request after the other, and retries each until it is admitted.
pub(crate) struct Retried {
    pub(crate) admitted: u64,
    pub(crate) tries: u64,
    /// The time from the first try until the last request went through. `None` if a request never went through.
    pub(crate) took: Option<Duration>,
}

impl Retried {
    /// Runs the caller with a limiter. Gives up after two periods without an admission. After that time, the limiter
    /// remembers only the caller's own tries, which go on in the same way, so the request is never admitted.
    pub(crate) fn of(mut limiter: Limiter) -> Retried {
        let (mut now, mut admitted_at, mut last) = (START, START, START);
        let mut retried = Retried { admitted: 0, tries: 0, took: None };
        while retried.admitted < REQUESTS && now - admitted_at < 2 * PERIOD {
            retried.tries += 1;
            match (limiter.decide)(now) {
                Ok(through) => {
                    retried.admitted += 1;
                    (admitted_at, last) = (now, through);
                }
                Err(_) => now = now + RETRY,
            }
        }
        retried.took = (retried.admitted == REQUESTS).then(|| last - START);
        retried
    }
}

fn write_phases(text: &mut String, limiter: Limiter) {
    let _ = writeln!(text, "{}, phase by phase", limiter.name);
    let _ = writeln!(text, "phase  requests  admitted  rejected  longest retry");
    for (rate, phase) in PHASES.iter().zip(Trial::of(limiter).phases) {
        let Phase { admitted, rejected, longest_retry } = phase;
        let name = phase_name(*rate);
        let requests = admitted + rejected;
        let retry = if rejected == 0 { "-".to_owned() } else { format!("{longest_retry:?}") };
        let _ =
            writeln!(text, "{name:<5}  {requests:>8}  {admitted:>8}  {rejected:>8}  {retry:>13}");
    }
}

fn phase_name(rate: u64) -> String {
    if rate == 0 { "pause".to_owned() } else { format!("{rate}/s") }
}

fn write_comparison(text: &mut String, limiters: Vec<Limiter>) {
    let row = |text: &mut String, name: &str, cells: &[String]| {
        let cells: Vec<_> = cells.iter().map(|cell| format!(" {cell:>5}")).collect();
        let _ = writeln!(text, "{name:<17}{}", cells.concat());
    };
    let names = PHASES.into_iter().map(phase_name).chain(["all", "most", "row"].map(str::to_owned));
    row(text, "", &names.collect::<Vec<_>>());
    for limiter in limiters {
        let name = limiter.name;
        let Trial { phases, most, in_a_row } = Trial::of(limiter);
        let admitted = phases.iter().map(|phase| phase.admitted);
        let numbers = admitted.clone().chain([admitted.sum(), most as u64, in_a_row]);
        row(text, name, &numbers.map(|number| number.to_string()).collect::<Vec<_>>());
    }
}

fn write_retries(text: &mut String, limiters: Vec<Limiter>) {
    let _ = writeln!(text, "                   admitted        took  tries  rejected");
    for limiter in limiters {
        let name = limiter.name;
        let Retried { admitted, tries, took } = Retried::of(limiter);
        let [took, tries, rejected] = match took {
            Some(took) => {
                [format!("{took:.2?}"), tries.to_string(), (tries - admitted).to_string()]
            }
            None => ["never ends", "-", "-"].map(str::to_owned),
        };
        let _ = writeln!(text, "{name:<17}  {admitted:>8}  {took:>10}  {tries:>5}  {rejected:>8}");
    }
}

pub(crate) fn report() -> Result<String, QuotaError> {
    let mut text =
        "limit 10/s; phases of 10 s, the first from 1.5 s on; evenly spaced requests\n\n"
            .to_owned();
    let bucket = TokenBucket::new(Quota::new(COUNT, PERIOD)?, COUNT)?;
    write_phases(&mut text, Limiter::new("token bucket", bucket));
    text += "\nadmitted in each phase and in all; the most that went through in any second; \
             the most rejected in a row\n";
    write_comparison(&mut text, limiters()?);
    text += "\n100 requests, one after the other, each retried 10 ms after a rejection\n";
    write_retries(&mut text, limiters()?);
    Ok(text)
}

fn main() -> Result<(), QuotaError> {
    print!("{}", report()?);
    Ok(())
}
