//! One round: threads are let loose on a pacer; what they wrote down is the evidence.

use crate::changer::{self, Change};
use crate::laws;
use crate::plan::{Begins, Ends, Plan};
use crate::record::{Call, Record};
use crate::worker::{Ground, Worker};
use nanopace::{Claim, Clock, Ledger, Nanos, Pacer, Refused, Stats};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// So many slots are taken at the end of a round, to see whether none is missing.
const MOST_DRAINED: usize = 20_000;

/// What is known of a round when it is over.
pub(crate) struct Evidence {
    pub(crate) plan: Plan,
    /// The readings around the moment at which the schedule began.
    pub(crate) born: (Nanos, Nanos),
    /// When slot 0 was meant to start.
    pub(crate) origin: Nanos,
    pub(crate) records: Vec<Record>,
    pub(crate) changes: Vec<Change>,
    /// Where the first slot lies that has not been taken; none where there were too many to take
    /// all that were due.
    pub(crate) next: Option<Nanos>,
    pub(crate) at_rest: Books,
    /// The readings around the call of `close`.
    pub(crate) closed: (Nanos, Nanos),
}

/// Ledger and statistics, and the readings around them.
pub(crate) struct Books {
    pub(crate) before: Nanos,
    pub(crate) ledger: Ledger,
    pub(crate) stats: Stats,
    pub(crate) after: Nanos,
}

/// The readings around a close, or what was wrong about it.
type Closing = Result<(Nanos, Nanos), String>;

/// Runs the round and checks every law; returns the number of starts.
pub(crate) fn run(plan: Plan) -> Result<u64, String> {
    let evidence = gather(plan)?;
    laws::check(&evidence)?;
    Ok(evidence.records.iter().filter(|record| record.answer.is_ok()).count() as u64)
}

fn gather(plan: Plan) -> Result<Evidence, String> {
    let began = Instant::now();
    let clock = plan.clock();
    let (pacer, born, origin) = begin(&plan, &clock)?;
    let (lanes, stop) = (AtomicU64::new(1), AtomicBool::new(false));
    let ground = Ground { plan: &plan, pacer: &pacer, clock: &clock, began, lanes, stop };
    let (mut records, changes, closed_early) = let_loose(&ground);
    let next = if plan.ends == Ends::AtRest { drain(&ground, &mut records) } else { None };
    let at_rest = books(&pacer);
    let closed = closed_early.unwrap_or_else(|| close(&pacer))?;
    Ok(Evidence { plan, born, origin, records, changes, next, at_rest, closed })
}

/// Makes the pacer. The origin is when slot 0 is due; the slot goes back.
fn begin(plan: &Plan, clock: &Arc<dyn Clock>) -> Result<(Pacer, (Nanos, Nanos), Nanos), String> {
    let before = clock.now();
    let pacer = plan.builder(Arc::clone(clock)).build();
    let mut born = (before, pacer.now());
    let claim = pacer.claim().map_err(|closed| closed.to_string())?;
    if plan.begins == Begins::Paused {
        still_paused(&pacer, &claim)?;
        born.0 = pacer.now();
        pacer.resume();
        born.1 = pacer.now();
    }
    let origin = claim.due().map_err(|closed| closed.to_string())?;
    Ok((pacer, born, origin))
}

fn still_paused(pacer: &Pacer, claim: &Claim) -> Result<(), String> {
    let same = claim.due() == Ok(Nanos::MAX) && pacer.try_acquire() == Err(Refused::Paused);
    if same { Ok(()) } else { Err("a pacer that starts paused".to_owned()) }
}

/// All threads of the round, until they are through.
fn let_loose(ground: &Ground) -> (Vec<Record>, Vec<Change>, Option<Closing>) {
    thread::scope(|scope| {
        let worker = |number| scope.spawn(move || Worker::new(ground, number).run());
        let workers: Vec<_> = (0..ground.plan.workers).map(worker).collect();
        let changer = scope.spawn(|| changer::run(ground.plan, ground.pacer, &ground.stop));
        thread::sleep(ground.plan.lasts);
        let closed = (ground.plan.ends == Ends::Closed).then(|| close(ground.pacer));
        ground.stop.store(true, Ordering::Relaxed);
        (workers.into_iter().flat_map(join).collect(), join(changer), closed)
    })
}

fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().expect("a thread of the round panicked")
}

/// Takes what is due; the moment from which on there is more.
fn drain(ground: &Ground, records: &mut Vec<Record>) -> Option<Nanos> {
    for _ in 0..MOST_DRAINED {
        let before = ground.clock.now();
        let answer = ground.pacer.try_acquire();
        let (after, real) = (ground.pacer.now(), ground.began.elapsed());
        let (call, limit) = (Call::Drain, Nanos::ZERO);
        records.push(Record { call, lane: 0, slots: 1, limit, before, after, real, answer });
        if let Err(Refused::NotUntil(moment)) = answer {
            return Some(moment);
        }
    }
    None
}

fn books(pacer: &Pacer) -> Books {
    let before = pacer.now();
    let (ledger, stats) = (pacer.ledger(), pacer.stats());
    Books { before, ledger, stats, after: pacer.now() }
}

/// Closes the pacer; from then on every call has to say so.
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
