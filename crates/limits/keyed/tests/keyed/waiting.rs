//! Tests waiting by key. The clock moves only when a test moves it, so a waiter asks again only if it is woken.

use nanopace_keyed::{KeyRejected, Keyed, Rejected, Uniform, Wait, WaitError};
use nanopace_limits::custom::{Step, Waitable, Waiter};
use nanopace_nanos::{Clock, ManualClock, Nanos};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};
use std::time::Duration;

type Users = Keyed<String, Uniform>;
type End = Result<Duration, WaitError<KeyRejected>>;

const DAY: Duration = Duration::from_secs(24 * 3_600);

fn users() -> (ManualClock, Users) {
    let clock = ManualClock::new();
    let users: Users = Keyed::per(10, DAY).clock(clock.clone()).build().unwrap();
    users.try_acquire_costs("alice", 10).unwrap();
    (clock, users)
}

#[derive(Default)]
struct Bell(AtomicBool);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Bell {
    fn has_rung(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }

    fn waits<G: Waitable>(self: &Arc<Bell>, guest: &mut Waiter<'_, G>) {
        assert!(matches!(guest.step(&Waker::from(Arc::clone(self))), Step::Until(_)));
    }
}

fn end<G: Waitable<Refusal = KeyRejected>>(guest: &mut Waiter<'_, G>) -> End {
    match guest.step(Waker::noop()) {
        Step::Done(end) => end,
        Step::Until(moment) => panic!("not before {moment:?}"),
    }
}

#[test]
fn a_raised_limit_wakes_the_waiters_of_all_keys() {
    let (_, users) = users();
    users.try_acquire_costs("bob", 10).unwrap();
    let mut guests =
        ["alice", "bob"].map(|key| (users.waiter(key, Wait::new(2)), Arc::<Bell>::default()));
    for (guest, bell) in &mut guests {
        bell.waits(guest);
    }
    users.set_limits("12/day".parse().unwrap());
    for (guest, bell) in &mut guests {
        assert!(bell.has_rung());
        assert_eq!(end(guest), Ok(Duration::ZERO));
    }
}

#[test]
fn a_refund_wakes_the_waiter_of_the_key() {
    let (_, users) = users();
    let of_bob = users.reserve("bob", 10).unwrap();
    let of_carol = users.reserve("carol", 10).unwrap();
    let (bell, mut guest) = (Arc::<Bell>::default(), users.waiter("bob", Wait::new(2)));
    bell.waits(&mut guest);
    of_carol.commit_costs(5);
    assert!(!bell.has_rung(), "the refund is for another key");
    of_bob.commit_costs(8);
    assert!(bell.has_rung());
    assert_eq!(end(&mut guest), Ok(Duration::ZERO));
}

#[test]
fn a_request_yields_to_those_that_wait_for_the_same_key() {
    let (clock, users) = users();
    let (bell, mut first) = (Arc::<Bell>::default(), users.waiter("alice", Wait::new(5)));
    let mut second = users.waiter("alice", Wait::new(1));
    bell.waits(&mut first);
    bell.waits(&mut second);
    clock.advance(DAY / 10);
    bell.waits(&mut first);
    let moment = Nanos::ZERO + DAY / 2;
    let not_until = KeyRejected::Limit(Rejected::NotUntil(moment));
    assert_eq!(users.try_acquire("alice"), Err(not_until));
    assert_eq!(users.try_acquire_costs("alice", 1), Err(not_until));
    assert_eq!(users.reserve("alice", 1).map(drop), Err(not_until));
    let decision = users.decide("alice").unwrap();
    assert_eq!(decision.answer(), Err(Rejected::NotUntil(moment)));
    assert_eq!(decision.remaining(), 0);
    assert_eq!(users.try_acquire_costs("alice", 0), Ok(()));
    let never = KeyRejected::Limit(Rejected::ExceedsCapacity { capacity: 10 });
    assert_eq!(users.try_acquire_costs("alice", 11), Err(never));
    assert_eq!(users.try_acquire_costs("bob", 10), Ok(()), "nobody waits for bob");
    clock.set(moment);
    assert_eq!(end(&mut first), Ok(moment - Nanos::ZERO));
    assert!(bell.has_rung(), "the second one is woken");
    assert!(users.try_acquire("alice").is_err(), "the second one is the first now");
    assert!(users.clone().fair(false).try_acquire("alice").is_err(), "nothing is left");
    drop(second);
    clock.advance(DAY / 10);
    assert_eq!(users.try_acquire("alice"), Ok(()));
}

#[test]
fn an_empty_queue_delays_nobody_while_others_wait_for_another_key() {
    let (clock, users) = users();
    users.try_acquire_costs("bob", 10).unwrap();
    let mut bob = users.waiter("bob", Wait::new(10));
    let mut alice = users.waiter("alice", Wait::new(1));
    let bell = Arc::<Bell>::default();
    bell.waits(&mut bob);
    bell.waits(&mut alice);
    drop(alice);
    clock.advance(DAY / 10);
    bell.waits(&mut bob);
    assert_eq!(users.try_acquire("alice"), Ok(()));
    assert!(users.try_acquire("bob").is_err());
}

#[test]
fn a_request_dropped_during_its_jitter_is_refunded() {
    let (clock, users) = users();
    let (bell, wait) = (Arc::<Bell>::default(), Wait::new(10).jitter(DAY));
    let mut first = users.waiter("alice", wait);
    let mut second = users.waiter("alice", Wait::new(3));
    bell.waits(&mut first);
    bell.waits(&mut second);
    clock.advance(DAY);
    bell.waits(&mut first);
    assert!(bell.has_rung(), "the first waiter has left the queue");
    bell.waits(&mut second);
    drop(first);
    assert!(bell.has_rung(), "the first waiter has given its tokens back");
    assert_eq!(end(&mut second), Ok(DAY));
    assert_eq!(users.standing("alice").unwrap().remaining, 7);
}

#[test]
fn a_key_without_room_does_not_wait() {
    let clock = ManualClock::new();
    let users: Users = Keyed::per(1, DAY).max_keys(1).clock(clock.clone()).build().unwrap();
    users.try_acquire("alice").unwrap();
    let mut guest = users.waiter("bob", Wait::default());
    let no_room = WaitError::Rejected(KeyRejected::TooManyKeys { max: 1 });
    assert_eq!(end(&mut guest), Err(no_room));
    assert_eq!(clock.now(), Nanos::ZERO);
}
