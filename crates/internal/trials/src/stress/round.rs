//! Runs one round: threads call a pacer, and their records are the evidence.

use crate::stress::changer::{self, Change};
use crate::stress::evidence::{Evidence, Totals};
use crate::stress::laws;
use crate::stress::record::{Call, Record};
use crate::stress::scenario::{Begins, Ends, Scenario};
use crate::stress::worker::{RoundShared, Worker};
use nanopace::{Claim, Clock, Nanos, Pacer, Refused};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

const MOST_DRAINED: usize = 20_000;

/// The readings of the clock before and after the call of `close`, or the law that the call broke.
type Closing = Result<(Nanos, Nanos), String>;

pub(crate) fn run(scenario: Scenario) -> Result<u64, String> {
    let evidence = gather(scenario)?;
    laws::check(&evidence)?;
    Ok(evidence.records.iter().filter(|record| record.answer.is_ok()).count() as u64)
}

fn gather(scenario: Scenario) -> Result<Evidence, String> {
    let began = Instant::now();
    let clock = scenario.clock();
    let (pacer, born, origin) = begin(&scenario, &clock)?;
    let (lanes, stop) = (AtomicU64::new(1), AtomicBool::new(false));
    let shared =
        RoundShared { scenario: &scenario, pacer: &pacer, clock: &clock, began, lanes, stop };
    let (mut records, changes, closed_early) = run_threads(&shared);
    let next = if scenario.ends == Ends::AtRest { drain(&shared, &mut records) } else { None };
    let at_rest = totals(&pacer);
    let closed = closed_early.unwrap_or_else(|| close(&pacer))?;
    Ok(Evidence { scenario, born, origin, records, changes, next, at_rest, closed })
}

/// Claims slot 0 to learn its intended start, and gives it back.
fn begin(
    scenario: &Scenario,
    clock: &Arc<dyn Clock>,
) -> Result<(Pacer, (Nanos, Nanos), Nanos), String> {
    let before = clock.now();
    let pacer = scenario.builder(Arc::clone(clock)).build();
    let mut born = (before, pacer.now());
    let claim = pacer.claim().map_err(|closed| closed.to_string())?;
    if scenario.begins == Begins::Paused {
        still_paused(&pacer, &claim)?;
        born.0 = pacer.now();
        pacer.resume();
        born.1 = pacer.now();
    }
    let origin = claim.due().map_err(|closed| closed.to_string())?;
    drop(claim);
    Ok((pacer, born, origin))
}

fn still_paused(pacer: &Pacer, claim: &Claim<'_>) -> Result<(), String> {
    let same = claim.due() == Ok(Nanos::MAX) && pacer.try_acquire() == Err(Refused::Paused);
    if same { Ok(()) } else { Err("a pacer that starts paused".to_owned()) }
}

fn run_threads(shared: &RoundShared) -> (Vec<Record>, Vec<Change>, Option<Closing>) {
    thread::scope(|scope| {
        let worker = |number| scope.spawn(move || Worker::new(shared, number).run());
        let workers: Vec<_> = (0..shared.scenario.workers).map(worker).collect();
        let changer = scope.spawn(|| changer::run(shared.scenario, shared.pacer, &shared.stop));
        thread::sleep(shared.scenario.lasts);
        let closed = (shared.scenario.ends == Ends::Closed).then(|| close(shared.pacer));
        shared.stop.store(true, Ordering::Relaxed);
        (workers.into_iter().flat_map(join).collect(), join(changer), closed)
    })
}

fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().expect("a thread of the round panicked")
}

fn drain(shared: &RoundShared, records: &mut Vec<Record>) -> Option<Nanos> {
    for _ in 0..MOST_DRAINED {
        let before = shared.clock.now();
        let answer = shared.pacer.try_acquire();
        let (after, real) = (shared.pacer.now(), shared.began.elapsed());
        let (call, limit) = (Call::Drain, Nanos::ZERO);
        records.push(Record { call, lane: 0, slots: 1, limit, before, after, real, answer });
        if let Err(Refused::NotUntil(moment)) = answer {
            return Some(moment);
        }
    }
    None
}

fn totals(pacer: &Pacer) -> Totals {
    let before = pacer.now();
    let (ledger, counters) = (pacer.ledger(), pacer.counters());
    Totals { before, ledger, counters, after: pacer.now() }
}

fn close(pacer: &Pacer) -> Closing {
    let (mut lane, claim) = (pacer.lane(), pacer.claim());
    let before = pacer.now();
    pacer.close();
    let closed = (before, pacer.now());
    let mut claim = claim.map_err(|closed| closed.to_string())?;
    let answers = [
        pacer.acquire().map_err(Refused::from),
        pacer.try_acquire(),
        pacer.acquire_many(2),
        pacer.acquire_timeout(Duration::ZERO),
        pacer.acquire_deadline(Nanos::MAX),
        lane.acquire().map_err(Refused::from),
        claim.start(),
    ];
    let all = answers.iter().all(|answer| *answer == Err(Refused::Closed));
    if all && pacer.is_closed() && pacer.claim().is_err() && claim.due().is_err() {
        Ok(closed)
    } else {
        Err(format!("after the close: {answers:?}"))
    }
}
