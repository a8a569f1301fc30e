//! Tests tasks that await claims.

use crate::world::{Run, Task, World, ms, poll_once, rate};
use nanopace::driver::Drive as _;
use nanopace::{Ended, Grant, Nanos, Refused};
use nanopace_async::AsyncClaim;
use std::time::Duration;

fn waiting(world: &World, tasks: usize) -> Vec<Task<AsyncClaim>> {
    (0..tasks).map(|_| Task::new(world.queue.claim().unwrap())).collect()
}

fn world(text: &str) -> World {
    let world = World::new(text, |builder| builder);
    world.pacer.acquire().unwrap();
    world
}

fn all(tasks: &mut [Task<AsyncClaim>]) -> Vec<&mut dyn Run> {
    tasks.iter_mut().map(|task| task as &mut dyn Run).collect()
}

fn intended(task: &Task<AsyncClaim>) -> Option<Nanos> {
    task.done.and_then(Result::ok).map(Grant::intended_start)
}

#[test]
fn a_claim_completes_when_it_is_due_and_not_before() {
    let world = world("10/s");
    let mut task = Task::new(world.queue.claim().unwrap());
    world.run_to(ms(100) - Duration::from_nanos(1), &mut [&mut task]);
    assert!(task.done.is_none());
    world.run_to(ms(100), &mut [&mut task]);
    let grant = task.done.unwrap().unwrap();
    assert_eq!((grant.intended_start(), grant.actual_start()), (ms(100), ms(100)));
    assert_eq!(world.pacer.ledger().granted, 2);
}

#[test]
fn each_of_many_claims_is_woken_for_its_own_slot() {
    let world = world("1k/s");
    let mut tasks = waiting(&world, 100);
    tasks.reverse();
    for until in 0..=100 {
        world.run_to(ms(until), &mut all(&mut tasks));
        let done: Vec<_> = tasks.iter().rev().filter_map(intended).collect();
        assert_eq!(done, (1..=until).map(ms).collect::<Vec<_>>());
    }
    assert!(tasks.iter().all(|task| task.polls <= 20), "each task is woken only for its own slot");
    world.run_to(ms(200), &mut []);
    assert!(!world.will_ring());
}

#[test]
fn a_claim_that_is_dropped_goes_back() {
    let world = world("10/s");
    let mut tasks = waiting(&world, 3);
    world.run_to(ms(1), &mut all(&mut tasks));
    tasks[2].cancel();
    world.run_to(ms(2), &mut all(&mut tasks));
    let wakes = tasks[0].wakes();
    tasks[0].cancel();
    assert_eq!(tasks[0].wakes(), wakes, "a cancelled task is not woken");
    assert_eq!(world.pacer.next_due(), Ok(ms(100)));
    world.run_to(ms(200), &mut all(&mut tasks));
    assert_eq!(intended(&tasks[1]), Some(ms(200)));
    assert_eq!(world.pacer.acquire().unwrap().intended_start(), ms(100));
    assert_eq!(world.pacer.ledger().granted, 3);
}

#[test]
fn a_change_of_the_rate_wakes_and_moves_a_claim() {
    let world = world("1/h");
    let mut tasks = waiting(&world, 3);
    world.run_to(ms(1), &mut all(&mut tasks));
    world.pacer.set_rate(rate("10/s"));
    assert!(tasks.iter().all(Task::is_woken));
    for (until, done) in [(99, 0), (101, 1), (201, 2), (301, 3)] {
        world.run_to(ms(until), &mut all(&mut tasks));
        assert_eq!(tasks.iter().filter(|task| task.done.is_some()).count(), done, "{until} ms");
    }
}

#[test]
fn a_claim_that_moves_to_later_waits_for_that() {
    let world = world("10/s");
    let mut tasks = waiting(&world, 1);
    world.run_to(ms(50), &mut all(&mut tasks));
    world.pacer.set_rate(rate("1/s"));
    world.run_to(ms(549), &mut all(&mut tasks));
    assert!(tasks[0].done.is_none());
    world.run_to(ms(550), &mut all(&mut tasks));
    assert_eq!(intended(&tasks[0]), Some(ms(550)));
}

#[test]
fn a_claim_waits_for_a_paused_pacer_without_a_timer() {
    let world = world("10/s");
    let mut tasks = waiting(&world, 2);
    world.run_to(ms(50), &mut all(&mut tasks));
    world.pacer.pause();
    world.run_to(ms(1_000), &mut all(&mut tasks));
    assert!(!world.will_ring());
    world.pacer.resume();
    world.run_to(ms(1_049), &mut all(&mut tasks));
    assert!(tasks.iter().all(|task| task.done.is_none()));
    world.run_to(ms(1_150), &mut all(&mut tasks));
    assert_eq!(tasks.iter().filter_map(intended).collect::<Vec<_>>(), [ms(1_050), ms(1_150)]);
}

#[test]
fn a_close_ends_claims() {
    let world = world("1/h");
    let mut tasks = waiting(&world, 3);
    world.run_to(ms(1), &mut all(&mut tasks));
    world.pacer.close();
    world.run_to(ms(1), &mut all(&mut tasks));
    assert!(tasks.iter().all(|task| task.done == Some(Err(Refused::Closed))));
    assert!(matches!(world.queue.claim(), Err(Ended::Closed)));
    assert_eq!(world.pacer.ledger().granted, 1);
}

#[test]
fn a_claim_that_moves_to_after_the_end_returns_finished() {
    let second = Duration::from_secs(1);
    let world = World::new("10/s", |builder| builder.until(second));
    world.pacer.acquire().unwrap();
    let mut tasks = waiting(&world, 2);
    world.run_to(ms(1), &mut all(&mut tasks));
    world.pacer.set_rate(rate("1/h"));
    world.run_to(ms(1), &mut all(&mut tasks));
    assert!(tasks.iter().all(|task| task.done == Some(Err(Refused::Finished))));
}

#[test]
fn a_claim_that_has_completed_returns_the_same_again_and_holds_nothing() {
    let world = world("10/s");
    world.clock.set(ms(100));
    let mut claim = world.queue.claim().unwrap();
    assert_eq!(claim.due(), Ok(ms(100)));
    let grant = poll_once(&mut claim).unwrap();
    world.clock.set(ms(150));
    assert_eq!(poll_once(&mut claim), Some(grant));
    drop(claim);
    assert_eq!(world.pacer.ledger().granted, 2);
}

#[test]
fn claims_and_queued_tasks_wait_side_by_side() {
    let world = world("1k/s");
    let (queue, mut claims) = (world.queue.clone(), Vec::new());
    let mut queued: Vec<_> = (0..10).map(|_| Task::new(queue.acquire())).collect();
    for task in &mut queued {
        task.run();
        claims.push(Task::new(queue.claim().unwrap()));
    }
    for until in 1..=20 {
        let mut tasks = all(&mut claims);
        tasks.extend(queued.iter_mut().map(|task| task as &mut dyn Run));
        world.run_to(ms(until), &mut tasks);
    }
    let claimed = claims.iter().filter_map(intended);
    let acquired = queued.iter().map(|task| task.done.unwrap().unwrap().intended_start());
    let mut starts: Vec<_> = claimed.chain(acquired).collect();
    starts.sort_unstable();
    assert_eq!(starts, (1..=20).map(ms).collect::<Vec<_>>());
}

/// A runtime may be slow to report that the timer has gone off. Setting the timer for a later claim cancels the report.
#[test]
fn a_ring_that_is_under_way_is_not_forgotten() {
    let world = world("10/s");
    let [first, mut early, mut late] = [(); 3].map(|()| Task::new(world.queue.claim().unwrap()));
    drop(first); // gives back slot 1
    let mut queued = Task::new(world.queue.acquire());
    queued.run();
    world.clock.set(ms(150));
    early.run();
    assert!(queued.is_woken() && !early.is_woken());
    queued.run();
    world.clock.set(ms(250));
    late.run();
    assert!(early.is_woken() && !late.is_woken());
    world.run_to(ms(300), &mut [&mut early, &mut late]);
    assert!(queued.done.is_some() && early.done.is_some() && late.done.is_some());
}
