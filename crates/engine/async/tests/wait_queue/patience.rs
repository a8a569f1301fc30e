//! Tests queued tasks that are not polled after they were woken, and how long they delay others.

use crate::world::{Run, Task, World, ms, poll_once};
use nanopace::{Grant, Nanos, Refused};
use std::time::Duration;

/// Slot 1 is due at 100 ms. If the woken task is not polled, further tasks are woken every 4 ms, each time twice as
/// many as before.
#[test]
fn tasks_that_do_not_come_delay_others_for_4_ms_and_twice_as_many_for_4_more() {
    for kept in [0_u64, 1, 2, 3, 6, 7, 64] {
        let world = World::new("10/s", |builder| builder);
        world.pacer.acquire().unwrap();
        let mut waiting: Vec<_> = (0..kept).map(|_| world.queue.acquire()).collect();
        assert!(waiting.iter_mut().all(|kept| poll_once(kept).is_none()));
        let mut task = Task::new(world.queue.acquire());
        let rounds = u64::from((kept + 1).ilog2());
        let latest = ms(100 + 4 * rounds);
        if rounds > 0 {
            world.run_to(latest - Duration::from_millis(3), &mut [&mut task]);
            assert!(task.done.is_none(), "{kept} tasks that are not polled");
        }
        world.run_to(latest, &mut [&mut task]);
        let grant = task.done.expect("it has been woken").unwrap();
        assert_eq!(grant.intended_start(), ms(100), "{kept} tasks that are not polled");
    }
}

#[test]
fn a_claim_that_waits_for_long_does_not_delay_the_next_wake_up() {
    for is_early in [false, true] {
        let world = World::new("10/s", |builder| builder);
        world.pacer.acquire().unwrap();
        let first = world.pacer.claim().unwrap();
        let _others = world.pacer.claim_many(8).unwrap();
        let mut claim = Task::new(world.queue.claim().unwrap()); // due at 1 s
        drop(first); // due at 100 ms
        let mut kept = world.queue.acquire();
        assert!(poll_once(&mut kept).is_none());
        let mut task = Task::new(world.queue.acquire());
        if is_early {
            claim.run();
        }
        world.run_to(ms(100), &mut [&mut task]);
        world.run_to(ms(104), &mut [&mut claim, &mut task]);
        assert!(task.done.is_some_and(|grant| grant.is_ok()), "early: {is_early}");
        world.run_to(ms(1_000), &mut [&mut claim]);
        assert!(claim.done.is_some());
    }
}

#[test]
fn a_task_that_does_not_come_keeps_no_timer_busy() {
    let world = World::new("10/s", |builder| builder);
    world.pacer.acquire().unwrap();
    let first = world.pacer.claim().unwrap();
    let _others = world.pacer.claim_many(8).unwrap();
    let mut claim = Task::new(world.queue.claim().unwrap()); // due at 1 s
    drop(first);
    let mut kept = world.queue.acquire();
    assert!(poll_once(&mut kept).is_none());
    world.run_to(ms(1_000), &mut [&mut claim]);
    assert!(claim.done.is_some());
    assert!(world.rings.get() < 10, "{}", world.rings.get());
}

#[test]
fn a_task_that_did_not_come_delays_no_claim() {
    let world = World::new("10/s", |builder| builder);
    world.pacer.acquire().unwrap();
    let mut kept = world.queue.acquire();
    assert!(poll_once(&mut kept).is_none());
    let mut task = Task::new(world.queue.acquire());
    world.run_to(ms(104), &mut [&mut task]);
    assert!(task.done.is_some());
    let mut claim = Task::new(world.queue.claim().unwrap()); // due at 200 ms
    let mut behind = Task::new(world.queue.acquire()); // due at 300 ms
    behind.run();
    world.run_to(ms(200), &mut [&mut claim]);
    assert!(claim.done.is_some_and(|grant| grant.is_ok()));
}

/// When a slot becomes due by a change, the timer is set to a slot that is due in an hour. In a pause it is not set.
#[test]
fn a_task_that_does_not_come_after_a_change_delays_others_for_4_ms() {
    for is_paused in [false, true] {
        let world = World::new("1/h", |builder| builder);
        let late = world.pacer.claim().unwrap();
        if is_paused {
            world.pacer.pause();
        }
        let mut kept = world.queue.acquire();
        assert!(poll_once(&mut kept).is_none());
        let mut task = Task::new(world.queue.acquire());
        world.run_to(ms(10), &mut [&mut task]);
        assert!(task.done.is_none());
        drop(late); // due at once
        world.pacer.resume();
        world.run_to(ms(14), &mut [&mut task]);
        assert!(task.done.is_some_and(|grant| grant.is_ok()), "paused: {is_paused}");
    }
}

#[test]
fn a_row_that_no_longer_fits_is_refused_at_once() {
    let world = World::new("1/h", |builder| builder.slots(5));
    world.pacer.acquire().unwrap();
    let hour = Duration::from_secs(3_600);
    let mut first = Task::new(world.queue.acquire());
    let mut rows = [3, 4].map(|slots| Task::new(world.queue.acquire_many(slots)));
    let [three, four] = &mut rows;
    world.run_to(ms(1), &mut [&mut first, three, four]);
    world.run_to(Nanos::ZERO + hour, &mut [&mut first, three, four]);
    assert!(first.done.is_some_and(|first| first.is_ok()));
    assert_eq!(four.done, Some(Err(Refused::Finished)));
    assert!(three.done.is_none());
    world.run_to(Nanos::ZERO + 2 * hour, &mut [three]);
    assert_eq!(three.done.unwrap().map(Grant::intended_start), Ok(Nanos::ZERO + 2 * hour));
    assert_eq!(world.pacer.ledger().granted, 5);
}

#[test]
fn a_clock_that_stops_before_a_slot_keeps_no_task_busy() {
    let world = World::new("10/s", |builder| builder);
    world.pacer.acquire().unwrap();
    let mut queued = Task::new(world.queue.acquire());
    let mut claim = Task::new(world.queue.claim().unwrap());
    world.run_to(ms(100) - Duration::from_micros(5), &mut [&mut queued, &mut claim]);
    for _ in 0..1_000 {
        queued.run();
        claim.run();
    }
    assert!(!queued.is_woken() && !claim.is_woken());
    world.run_to(ms(200), &mut [&mut queued, &mut claim]);
    assert!(queued.done.is_some() && claim.done.is_some());
}

#[test]
fn a_slot_that_came_back_goes_past_a_row() {
    let world = World::new("10/s", |builder| builder);
    world.pacer.acquire().unwrap();
    let claims = [(); 3].map(|()| world.pacer.claim().unwrap());
    let mut row = Task::new(world.queue.acquire_many(2));
    let mut behind = Task::new(world.queue.acquire());
    world.run_to(ms(50), &mut [&mut row, &mut behind]);
    let [first, second, _third] = claims;
    drop(first); // slot 1, due at 100 ms
    world.run_to(ms(100), &mut [&mut row, &mut behind]);
    assert_eq!(behind.done.unwrap().map(Grant::intended_start), Ok(ms(100)));
    assert!(row.done.is_none() && row.polls < 10);
    drop(second); // slot 2, due at 200 ms, which no task wants
    world.run_to(ms(399), &mut [&mut row]);
    assert!(row.done.is_none() && !row.is_woken() && row.polls < 20);
    world.run_to(ms(400), &mut [&mut row]);
    assert_eq!(row.done.unwrap().map(Grant::intended_start), Ok(ms(400)));
}

/// Because the first ring is late, a task holds on before the next slot, and sets the timer to the slot after that one.
#[test]
fn a_deadline_is_reported_in_time_after_a_slot_went_past_a_row() {
    let world = World::new("10/s", |builder| builder);
    world.pacer.acquire().unwrap();
    let mut early = Task::new(world.queue.acquire()); // due at 100 ms
    early.run();
    world.clock.set(ms(101));
    world.run_to(ms(102), &mut [&mut early]);

    let (first, _second) = (world.pacer.claim().unwrap(), world.pacer.claim().unwrap());
    let mut row = Task::new(world.queue.acquire_many(2)); // due at 400 ms
    let mut task = Task::new(world.queue.acquire());
    world.run_to(ms(150), &mut [&mut row, &mut task]);
    drop(first); // slot 2, due at 200 ms
    let mut short = Task::new(world.queue.acquire_deadline(ms(250)));
    world.run_to(ms(200), &mut [&mut row, &mut task, &mut short]);
    assert_eq!(task.done.unwrap().map(Grant::intended_start), Ok(ms(200)));
    world.run_to(ms(250), &mut [&mut row, &mut short]);
    assert_eq!(short.done, Some(Err(Refused::NotUntil(ms(400)))));
}

#[test]
fn a_deadline_that_no_slot_can_meet_any_more_is_reported_at_once() {
    let world = World::new("10/s", |builder| builder);
    world.pacer.acquire().unwrap();
    let mut first = Task::new(world.queue.acquire());
    let [mut short, mut exact] =
        [150, 200].map(|deadline| Task::new(world.queue.acquire_deadline(ms(deadline))));
    world.run_to(ms(99), &mut [&mut first, &mut short, &mut exact]);
    assert!(first.done.is_none() && short.done.is_none());
    world.run_to(ms(101), &mut [&mut first, &mut short, &mut exact]);
    assert_eq!(first.done.unwrap().map(Grant::intended_start), Ok(ms(100)));
    assert_eq!(short.done, Some(Err(Refused::NotUntil(ms(200)))));
    world.run_to(ms(200), &mut [&mut exact]);
    assert_eq!(exact.done.unwrap().map(Grant::intended_start), Ok(ms(200)));
    assert!(exact.polls < 10, "{}", exact.polls);
}
