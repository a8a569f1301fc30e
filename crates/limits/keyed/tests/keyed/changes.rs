//! Tests that no admission is forgotten, and no key is locked out forever, when limits change while they are in use.

use crate::at;
use crate::moments::{AtMoment, keyed, sweep_at};
use nanopace_keyed::{ConfigStore, Keyed, Limits, MemoryConfig, Scope};
use proptest::prelude::*;
use std::fmt;

#[derive(Clone, Copy, Debug)]
enum Defined {
    Gcra { interval: u64, burst: u64 },
    Window { count: u64, period: u64, slots: u64 },
}
use Defined::{Gcra, Window};

impl fmt::Display for Defined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Gcra { interval, burst } => write!(f, "1/{interval}ns burst {burst}"),
            Window { count, period, slots } => write!(f, "{count}/{period}ns in {slots}"),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct LetIn {
    now: u64,
    n: u64,
}

impl Defined {
    fn allows_the_last(self, let_in: &[LetIn]) -> bool {
        let last = let_in.last().expect("at least one");
        match self {
            Window { count, period, .. } => {
                let recent = let_in.iter().filter(|one| last.now - one.now < period);
                recent.map(|one| one.n).sum::<u64>() <= count
            }
            Gcra { interval, burst } => {
                let before = paid(&let_in[..let_in.len() - 1], interval, burst);
                before.max(last.now) + last.n * interval <= last.now + burst * interval
            }
        }
    }

    fn is_idle(self, let_in: &[LetIn], now: u64) -> bool {
        match self {
            Window { period, .. } => let_in.last().is_none_or(|last| now - last.now >= period),
            Gcra { interval, burst } => paid(let_in, interval, burst) <= now,
        }
    }

    fn recovers_in(self) -> u64 {
        match self {
            Gcra { interval, .. } => interval,
            Window { period, slots, .. } => period + period.div_ceil(slots),
        }
    }
}

/// Returns the time at which the debt of all admissions is paid off. An admission raises the debt to at most a whole
/// burst, even if another limit is in force.
fn paid(let_in: &[LetIn], interval: u64, burst: u64) -> u64 {
    let after = |paid: u64, one: &LetIn| {
        (paid.max(one.now) + one.n * interval).min(one.now + burst * interval)
    };
    let_in.iter().fold(0, after)
}

#[derive(Clone, Copy, Debug)]
struct Step {
    pause: u64,
    n: u64,
    change: Option<usize>,
}

fn any_steps(limits: usize) -> impl Strategy<Value = Vec<Step>> {
    let pause = prop_oneof![3 => Just(0), 3 => 0..10_u64, 3 => 0..100_u64, 1 => 0..1_000_u64];
    let n = prop_oneof![4 => Just(1_u64), 1 => 0..20_u64];
    let step = (pause, n, prop::option::weighted(0.2, 0..limits));
    prop::collection::vec(step.prop_map(|(pause, n, change)| Step { pause, n, change }), 1..200)
}

fn any_limit() -> impl Strategy<Value = Defined> {
    let cooldown = (1..100_u64, 1..20_u64).prop_map(|(interval, burst)| Gcra { interval, burst });
    let window = (1..20_u64, 20..500_u64, 1..10_u64).prop_map(|(count, period, slots)| Window {
        count,
        period,
        slots,
    });
    prop_oneof![cooldown, window]
}

fn with_steps(limits: Vec<Defined>) -> impl Strategy<Value = (Vec<Defined>, Vec<Step>)> {
    let steps = any_steps(limits.len());
    (Just(limits), steps)
}

struct World {
    engine: Keyed<String, MemoryConfig>,
    limits: Vec<Defined>,
    by: usize,
    now: u64,
    let_in: Vec<LetIn>,
}

impl World {
    fn new(limits: Vec<Defined>) -> World {
        let engine = keyed(MemoryConfig::new(), 10);
        let mut world = World { engine, limits, by: 0, now: 10_000, let_in: Vec::new() };
        world.change(0);
        world
    }

    fn change(&mut self, by: usize) {
        self.by = by;
        set(&self.engine, &self.limits[by].to_string());
    }

    fn step(&mut self, step: Step) -> bool {
        self.now += step.pause;
        if let Some(by) = step.change {
            self.change(by);
        }
        let gets_in =
            self.engine.try_acquire_n_at("key", step.n, at(self.now)).is_ok() && step.n > 0;
        if gets_in {
            self.let_in.push(LetIn { now: self.now, n: step.n });
        }
        gets_in
    }
}

fn set(engine: &Keyed<String, MemoryConfig>, text: &str) {
    engine
        .config()
        .set(Scope::Prefix(""), text.parse::<Limits>().expect("limits"))
        .expect("in memory");
}

fn admitted(engine: &Keyed<String, MemoryConfig>, now: u64) -> usize {
    (0..10_000).take_while(|_| engine.try_acquire_at("key", at(now)).is_ok()).count()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_limit_put_in_force_again_has_counted_all_along(
        (limits, steps) in prop::collection::vec(any_limit(), 2..5).prop_flat_map(with_steps),
    ) {
        let mut world = World::new(limits);
        let mut begun = vec![None; world.limits.len()];
        for step in steps {
            for (limit, begun) in world.limits.iter().zip(&mut begun) {
                begun.take_if(|since| limit.is_idle(&world.let_in[*since..], world.now + step.pause));
            }
            let before = world.let_in.len();
            let gets_in = world.step(step);
            let counting = &world.let_in[*begun[world.by].get_or_insert(before)..];
            prop_assert!(!gets_in || world.limits[world.by].allows_the_last(counting), "{:?} of {}", counting, world.limits[world.by]);
        }
    }

    #[test]
    fn no_change_locks_a_key_out(
        (limits, steps) in prop::collection::vec(any_limit(), 2..5).prop_flat_map(with_steps), last in 0..4_usize,
    ) {
        let mut world = World::new(limits);
        for step in steps {
            world.step(step);
        }
        let last = last % world.limits.len();
        world.step(Step { pause: 0, n: 0, change: Some(last) });
        let pause = world.limits[last].recovers_in();
        let one = Step { pause, n: 1, change: None };
        prop_assert!(world.step(one), "{} after {}", world.limits[last], pause);
    }
}

#[test]
fn a_limit_lowered_and_raised_again_admits_nothing_twice() {
    let hour = 3_600_000_000_000;
    for (high, low) in [
        ("10/h", "5/h"),
        ("10/h", "1/s"),
        ("10/h", "10/h burst 2"),
        ("10/h in 10", "5/h in 10"),
        ("10/h in 10", "5/s in 10"),
        ("10/h in 10", "5/day in 24"),
        ("10/h in 10", "5/s"),
        ("10/h in 10", "unlimited"),
        ("10/h", "5/s in 3"),
        ("10/h, 100/day in 24", "4/h"),
        ("10/h sliding-log", "5/h sliding-log"),
        ("10/h sliding-log-all", "1/h sliding-log-all"),
        ("10/h sliding-log-all", "1/day sliding-log-all"),
        ("10/h fixed-window", "5/h fixed-window"),
        ("10/h fixed-window", "5/day fixed-window"),
        ("10/h sliding-counter", "5/h sliding-counter"),
        ("10/h fixed-window", "10/h"),
        ("10/h", "10/h fixed-window"),
    ] {
        let engine = keyed(MemoryConfig::new(), 10);
        set(&engine, high);
        assert_eq!(engine.try_acquire_n_at("key", 8, at(hour)), Ok(()));
        set(&engine, low);
        let meanwhile = engine.try_acquire_at("key", at(hour + hour / 100)).is_ok();
        set(&engine, high);
        let left = if meanwhile { 1 } else { 2 };
        assert_eq!(admitted(&engine, hour + hour / 100), left, "{high}, {low}, {high}");
    }
}

#[test]
fn a_limit_that_stays_goes_on_as_if_nothing_had_happened() {
    for stays in ["10/s", "10/s in 10"] {
        let engine = keyed(MemoryConfig::new(), 10);
        set(&engine, &format!("{stays}, 5/min burst 30"));
        assert_eq!(admitted(&engine, 1_000_000_000), 10);
        assert_eq!(admitted(&engine, 4_000_000_000), 10);
        set(&engine, &format!("{stays}, 6/min burst 30"));
        assert_eq!(admitted(&engine, 8_000_000_000), 10, "the twenty are paid off for {stays}");
    }
}

#[test]
fn of_many_limits_those_that_count_for_longest_are_kept() {
    let engine = keyed(MemoryConfig::new(), 10);
    let second = 1_000_000_000;
    set(&engine, "8/h");
    assert_eq!(admitted(&engine, second), 8);
    for number in 1..30 {
        set(&engine, &format!("{number}/s burst {}", 40 - number));
        // A limit is in force only after a decision, so this line makes a decision for zero requests.
        assert!(engine.try_acquire_n_at("key", 0, at(2 * second)).is_ok(), "{number}");
    }
    set(&engine, "8/h");
    assert_eq!(admitted(&engine, 400 * second), 0);
}

#[test]
fn changes_that_never_end_lock_nobody_out() {
    let second = 1_000_000_000;
    let laws: [fn(u64) -> String; 3] = [
        |second| format!("120/{}ns", 3_600_000_000_000 + second),
        |second| format!("120/{}ns burst 30", 3_600_000_000_000 - second),
        |second| format!("{}/h in 60", 120 + second % 7),
    ];
    for law in laws {
        let engine = keyed(MemoryConfig::new(), 10);
        let gets_in = |now: &u64| {
            set(&engine, &law(*now));
            engine.try_acquire_at("key", at(now * second)).is_ok()
        };
        assert!((0..36_000).filter(gets_in).count() >= 9 * 120, "{}", law(0));
    }
}

#[test]
fn counts_from_before_its_period_do_not_count_for_a_new_limit() {
    for text in ["5/s", "5/min in 6"] {
        let engine = keyed(MemoryConfig::new(), 10);
        set(&engine, "5/h in 60");
        assert_eq!(admitted(&engine, 100_000_000_000), 5);
        set(&engine, text);
        assert_eq!(admitted(&engine, 400_000_000_000), 5, "{text}");
    }
}

#[test]
fn a_replaced_limit_that_no_longer_counts_takes_no_memory() {
    let engine = keyed(MemoryConfig::new(), 10);
    let second = 1_000_000_000;
    set(&engine, "5/h in 10");
    assert_eq!(admitted(&engine, second), 5);
    set(&engine, "5/s");
    assert_eq!(admitted(&engine, 2 * second), 0, "perhaps all five have come just now");
    assert_eq!(admitted(&engine, 3 * second), 5);
    assert_eq!(sweep_at(&engine, at(60 * second), usize::MAX), 0, "the hour is not over");
    assert_eq!(sweep_at(&engine, at(5_000 * second), usize::MAX), 1);
}

#[test]
fn the_largest_numbers_change_hands() {
    let longest = i64::MAX;
    let engine = keyed(MemoryConfig::new(), 10);
    for text in [
        format!("{longest}/{longest}ns"),
        format!("{longest}/{longest}ns in 65535"),
        format!("1/{longest}ns"),
        format!("1/{longest}ns in 1"),
        "1G/s".to_owned(),
        "1G/s in 1".to_owned(),
    ]
    .iter()
    .cycle()
    .take(36)
    {
        for now in [0, 1, longest.unsigned_abs() / 2, longest.unsigned_abs()] {
            set(&engine, text);
            for n in [u64::MAX, longest.unsigned_abs(), 1_000_000_000, 1] {
                let fits = n <= engine.standing_at("key", at(now)).unwrap().remaining;
                assert_eq!(engine.try_acquire_n_at("key", n, at(now)).is_ok(), fits);
            }
        }
    }
}
