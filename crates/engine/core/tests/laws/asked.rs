//! Compares the requested slots and the unstarted slots of a pacer with the list of the load's starts.

use crate::common::{assert_balanced, drain, span, strictness};
use nanopace::driver::Drive as _;
use nanopace::{Arrivals, Level, ManualClock, Nanos, Pacer, Rate, Shape, Shard, Strictness};
use proptest::prelude::*;
use std::time::Duration;

const RATES: [u32; 5] = [1, 7, 40, 333, 1_000];
const STRICTNESSES: [f64; 4] = [0.0, 0.5, 1.0, 1.5];
/// The allowed error of the count for each change of the load: a tick, and 4 ns at the highest rate.
const CHANGE: f64 = 1.0 / 65_536.0 + 4e-6;

#[derive(Clone, Copy, Debug)]
enum Spread {
    Even,
    Poisson(u64),
    Replay(u64),
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Clock(u64),
    Start(u8),
    /// Claims a slot, starts up to this many later slots, and gives the claimed slot back.
    GiveBack(u8),
    Rate(usize),
    /// Sets a ramp between two rates, which lasts this many nanoseconds. The load ends with the ramp.
    Ramp(usize, usize, u64),
    Pause,
    Resume,
    /// Sets the shard with this index and number of processes, beginning this many slots after the load's count.
    Shard(u32, u32, u64),
    Policy(usize, Option<u64>, Option<u64>),
}

#[derive(Clone, Debug)]
struct Setting {
    spread: Spread,
    shard: Option<(u32, u32)>,
    rate: usize,
    slots: Option<u64>,
    until: Option<u64>,
}

/// The load since its last change: slots per nanosecond at both ends, and its duration.
#[derive(Clone, Copy, Debug)]
struct Piece {
    from: f64,
    to: f64,
    time: f64,
}

impl Piece {
    fn constant(hz: u32) -> Piece {
        let rate = f64::from(hz) * 1e-9;
        Piece { from: rate, to: rate, time: f64::INFINITY }
    }

    fn count(&self, elapsed: f64) -> f64 {
        let elapsed = elapsed.min(self.time);
        self.from * elapsed + (self.to - self.from) * elapsed / self.time * elapsed / 2.0
    }
}

struct Oracle {
    piece: Piece,
    /// The schedule's time at the beginning of the piece. `before` is the count at that time.
    since: u64,
    before: f64,
    now: u64,
    paused_at: Option<Nanos>,
    changes: f64,
    shards: Vec<(u64, u32, u32)>,
    arrivals: Option<Vec<f64>>,
    most: u64,
    until: u64,
}

impl Oracle {
    fn new(setting: &Setting) -> Oracle {
        let one = Shape::constant(Rate::per_second(1).unwrap());
        let whole = Shard::new(0, 1).unwrap();
        let is_even = matches!(setting.spread, Spread::Even);
        let listed = || setting.spread.arrivals().starts(one, whole).take(20_000);
        let arrivals = (!is_even).then(|| listed().map(|at| at.as_secs_f64()).collect());
        Oracle {
            piece: Piece::constant(RATES[setting.rate]),
            since: 0,
            before: 0.0,
            now: 0,
            paused_at: None,
            changes: 1.0,
            shards: setting.shard.iter().map(|&(index, count)| (0, index, count)).collect(),
            arrivals,
            most: setting.slots.unwrap_or(u64::MAX),
            until: setting.until.unwrap_or(u64::MAX),
        }
    }

    fn count(&self, later: u64) -> f64 {
        let time = self.now + if self.paused_at.is_some() { 0 } else { later };
        self.before + self.piece.count(float(time.min(self.until).max(self.since) - self.since))
    }

    fn change(&mut self, piece: Piece) {
        self.before = self.count(0);
        (self.piece, self.since) = (piece, self.now);
        self.changes += 1.0;
    }

    fn is_own(&self, slot: u64) -> bool {
        let shard = self.shards.iter().rfind(|&&(from, ..)| from <= slot);
        shard.is_none_or(|&(_, index, count)| slot % u64::from(count) == u64::from(index))
    }

    fn next(&self, later: u64) -> [u64; 2] {
        let lies = |slot: u64| match &self.arrivals {
            None => float(slot),
            Some(counts) => usize::try_from(slot)
                .ok()
                .and_then(|n| counts.get(n))
                .copied()
                .unwrap_or(f64::INFINITY),
        };
        [-CHANGE, CHANGE].map(|slack| {
            let count = self.count(later) + slack * self.changes;
            (0..u64::MAX).take_while(|&slot| lies(slot) <= count).count() as u64
        })
    }

    fn slots(&self, later: u64) -> [u64; 2] {
        self.next(later)
            .map(|next| ((0..next).filter(|&slot| self.is_own(slot)).count() as u64).min(self.most))
    }
}

impl Spread {
    fn arrivals(self) -> Arrivals {
        match self {
            Spread::Even => Arrivals::even(),
            Spread::Poisson(seed) => Arrivals::poisson(seed),
            Spread::Replay(step) => {
                Arrivals::replay(move || (0..5_000).map(move |n| span(n * n * step)))
            }
        }
    }
}

struct Run {
    clock: ManualClock,
    pacer: Pacer,
    oracle: Oracle,
    /// Whether no policy can have moved a slot or made a slot wait.
    is_plain: bool,
}

impl Run {
    fn new(setting: &Setting) -> Run {
        let clock = ManualClock::new();
        let builder = Pacer::builder(rate(setting.rate)).clock(clock.clone());
        let builder = builder.tolerance(Duration::ZERO).sleep_threshold(Duration::ZERO);
        let builder = builder.arrivals(setting.spread.arrivals());
        let builder = setting.shard.iter().fold(builder, |builder, &(index, count)| {
            builder.shard(Shard::new(index, count).unwrap())
        });
        let builder = setting.slots.iter().fold(builder, |builder, &slots| builder.slots(slots));
        let builder = setting.until.iter().fold(builder, |builder, &ns| builder.until(span(ns)));
        Run { clock, pacer: builder.build(), oracle: Oracle::new(setting), is_plain: true }
    }

    fn take(&mut self, step: Step) {
        let Run { clock, pacer, oracle, .. } = self;
        match step {
            Step::Clock(ns) => {
                clock.advance(span(ns));
                oracle.now += if oracle.paused_at.is_some() { 0 } else { ns };
            }
            Step::Start(slots) => {
                (0..slots).for_each(|_| {
                    let _ = pacer.try_acquire();
                });
            }
            Step::GiveBack(slots) => {
                let claim = pacer.claim();
                (0..slots).for_each(|_| {
                    let _ = pacer.try_acquire();
                });
                drop(claim);
            }
            Step::Rate(index) if pacer.shape().is_none() && pacer.rate() == rate(index) => {}
            Step::Rate(index) => {
                pacer.set_rate(rate(index));
                oracle.change(Piece::constant(RATES[index]));
            }
            Step::Ramp(from, to, ns) => {
                let [from, to] = [from, to].map(|index| RATES[index]);
                let level = |hz: u32| Level::from(Rate::per_second(hz.into()).unwrap());
                pacer.set_shape(Shape::ramp(level(from), level(to), span(ns)).unwrap());
                let [from, to] = [from, to].map(|hz| f64::from(hz) * 1e-9);
                oracle.change(Piece { from, to, time: float(ns) });
            }
            Step::Pause => {
                pacer.pause();
                oracle.paused_at.get_or_insert(pacer.now());
            }
            Step::Resume => {
                pacer.resume();
                oracle.paused_at = None;
            }
            Step::Shard(index, count, ahead) => {
                let from = whole(oracle.count(0)) + ahead;
                // Slots that were due at another process must not move to this process. If time was forfeited, those
                // slots are due later at this process, so the change is allowed.
                let may_change = from >= oracle.next(0)[1] || !pacer.ledger().idle.is_zero();
                let is_behind = oracle.shards.iter().all(|&(at, ..)| at < from);
                if may_change
                    && is_behind
                    && pacer.set_shard(Shard::new(index, count).unwrap(), from).is_ok()
                {
                    oracle.shards.push((from, index, count));
                    oracle.changes += 1.0;
                }
            }
            Step::Policy(index, backlog, skip) => {
                pacer.set_strictness(strictness(STRICTNESSES[index]));
                pacer.set_max_backlog(backlog.map(span));
                pacer.set_skip_later_than(skip.map(span));
                self.is_plain &= index == 0 && backlog.is_none();
            }
        }
    }

    fn check(&self, later: u64) {
        let Run { pacer, oracle, .. } = self;
        let [here, then] = [0, later].map(|later| pacer.now() + span(later));
        for (moment, later) in [(here, 0), (then, later)] {
            let [least, most] = oracle.slots(later);
            let slots = pacer.asked_before(moment);
            assert!((least..=most).contains(&slots), "{slots}, not {least} to {most}");
            self.check_count(moment, later);
        }
        if self.is_plain {
            let ledger = pacer.ledger();
            let due = ledger.granted + ledger.skipped + ledger.backlog_slots;
            assert_eq!(pacer.asked_before(here + span(1)), due, "{ledger:?}");
        }
        assert_balanced(pacer);
    }

    fn check_count(&self, moment: Nanos, later: u64) {
        let (oracle, count) = (&self.oracle, self.pacer.asked_count(moment));
        let share = match oracle.shards[..] {
            _ if oracle.arrivals.is_some() => return,
            [] => 1.0,
            [(0, _, count)] => f64::from(count).recip(),
            _ => return,
        };
        let expected = (oracle.count(later) * share).min(float(oracle.most));
        let slack = oracle.changes * CHANGE;
        assert!((count - expected).abs() <= slack, "{count}, not {expected}");
    }
}

#[expect(clippy::cast_precision_loss, reason = "below 2^52")]
fn float(number: u64) -> f64 {
    number as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
fn whole(count: f64) -> u64 {
    count as u64
}

fn rate(index: usize) -> Rate {
    Rate::per_second(RATES[index].into()).unwrap()
}

fn setting() -> impl Strategy<Value = Setting> {
    let spread = prop_oneof![
        3 => Just(Spread::Even),
        1 => (0_u64..1_000).prop_map(Spread::Poisson),
        1 => (1_u64..1_000_000).prop_map(Spread::Replay),
    ];
    let shard = prop::option::weighted(0.3, (0_u32..3, 3_u32..5));
    let slots = prop::option::weighted(0.1, 0_u64..1_000);
    let until = prop::option::weighted(0.1, 0_u64..10_000_000_000);
    (spread, shard, 0..RATES.len(), slots, until).prop_map(|(spread, shard, rate, slots, until)| {
        Setting { spread, shard, rate, slots, until }
    })
}

fn step() -> impl Strategy<Value = Step> {
    let ns =
        || prop_oneof![Just(1), 0_u64..2_000_000_000, (1_u64..20).prop_map(|n| n * 100_000_000)];
    let limit = || prop::option::weighted(0.3, 1_000_000_u64..500_000_000);
    let rates = || 0..RATES.len();
    prop_oneof![
        8 => ns().prop_map(Step::Clock),
        6 => (1_u8..50).prop_map(Step::Start),
        2 => (1_u8..20).prop_map(Step::GiveBack),
        3 => rates().prop_map(Step::Rate),
        3 => (rates(), rates(), ns()).prop_map(|(from, to, ns)| Step::Ramp(from, to, ns.max(2))),
        1 => Just(Step::Pause),
        2 => Just(Step::Resume),
        1 => (0_u32..3, 3_u32..5, 1_u64..500).prop_map(|(i, n, ahead)| Step::Shard(i, n, ahead)),
        1 => (0..STRICTNESSES.len(), limit(), limit()).prop_map(|(i, backlog, skip)| Step::Policy(i, backlog, skip)),
    ]
}

/// Checks batches of slots against single starts. Along a curve, starts are exact to a nanosecond, so a slot within a
/// nanosecond of an end of the span may be missing or additional.
fn assert_same(batches: &[(Nanos, u64)], single: &[Nanos], (begin, end): (Nanos, Nanos)) {
    let all = batches.iter().flat_map(|&(due, slots)| (0..slots).map(move |_| due));
    let all: Vec<Nanos> = all.collect();
    let near = |&due: &Nanos| due + span(1) >= begin && due < end + span(1);
    let near: Vec<Nanos> = single.iter().copied().filter(near).collect();
    let sure = near.iter().filter(|&&due| due > begin && due + span(1) < end).count();
    assert!((sure..=near.len()).contains(&all.len()), "{batches:?}, not {near:?}");
    let matches = |skip: usize| {
        let pairs = all.iter().zip(&near[skip..]);
        pairs.clone().all(|(&batched, &due)| {
            batched + span(1) >= due && batched - due <= (end - due) / 10_000 + span(1)
        })
    };
    assert!((0..=near.len() - all.len()).any(matches), "{batches:?}, not {near:?}");
}

fn follow(setting: &Setting, steps: &[(Step, u64)]) {
    let mut run = Run::new(setting);
    for &(step, later) in steps {
        let now = run.oracle.paused_at.unwrap_or_else(|| run.pacer.now());
        let had = run.pacer.asked_before(now);
        run.take(step);
        if matches!(step, Step::Start(_) | Step::Rate(_) | Step::Ramp(..) | Step::Policy(..)) {
            assert_eq!(
                run.pacer.asked_before(now),
                had,
                "{step:?} changed the number of requested slots"
            );
        }
        run.check(later);
    }
}

/// In the first two cases, time is forfeited, and then a change of the shard gives this process slots that were due at
/// other processes. In the third case, a rate begins at a slot whose exact time is not a whole nanosecond.
#[test]
fn slots_that_have_come_stay_when_time_is_forfeited() {
    let late = || Step::Policy(1, None, None);
    let plain = Setting { spread: Spread::Even, shard: None, rate: 0, slots: None, until: None };
    let replay = |step| Setting { spread: Spread::Replay(step), ..plain.clone() };
    let sharded = Setting { shard: Some((2, 3)), ..replay(3679) };
    let clock = Step::Clock(700_000_000);
    let steps = [clock, late(), Step::Ramp(0, 0, 2), Step::Start(5), Step::Shard(0, 3, 78)];
    follow(&sharded, &steps.map(|step| (step, 0)));

    let ending = Setting { slots: Some(52), ..replay(3) };
    let clock = Step::Clock(65_889);
    let steps = [clock, late(), Step::Rate(1), Step::Start(4), Step::Shard(1, 3, 38)];
    follow(&ending, &steps.map(|step| (step, 0)));

    let fast = Setting { rate: 4, ..plain };
    let ramp = Step::Ramp(4, 4, 700_000_000);
    let clock = Step::Clock(100_000_000);
    let steps = [Step::Clock(1), ramp, clock, Step::Rate(0), late(), Step::Start(1)];
    follow(&fast, &steps.map(|step| (step, 0)));
}

proptest! {
    #[test]
    fn a_load_asks_for_its_starts_one_by_one(
        setting in setting(),
        steps in prop::collection::vec((step(), 0_u64..3_000_000_000), 1..25),
    ) {
        follow(&setting, &steps);
    }

    #[test]
    fn unstarted_slots_are_those_that_can_still_be_taken(
        setting in setting(),
        steps in prop::collection::vec(step(), 1..25),
        [begin, end] in [0_u64..20_000_000_000, 0_u64..20_000_000_000],
    ) {
        let [mut run, mut twin] = [(); 2].map(|()| Run::new(&setting));
        for step in steps {
            run.take(step);
            twin.take(step);
        }
        let (begin, end) = (Nanos::from_nanos(begin.min(end)), Nanos::from_nanos(begin.max(end)));
        let end = end.min(run.pacer.now());
        run.pacer.close();
        run.pacer.resume();
        let left = run.pacer.unstarted(begin..end);
        let ledger = run.pacer.ledger();
        prop_assert_eq!(run.pacer.unstarted(begin..end), left.clone());
        prop_assert_eq!(run.pacer.ledger(), ledger);
        assert_balanced(&run.pacer);

        twin.pacer.set_strictness(Strictness::AVERAGE);
        twin.pacer.set_max_backlog(None);
        twin.pacer.resume();
        let drained = drain(&twin.pacer);
        let due: Vec<Nanos> = drained.iter().map(|grant| grant.intended_start()).collect();
        assert_same(&left, &due, (begin, end));
        prop_assert_eq!(ledger.skipped, twin.pacer.ledger().skipped);
    }
}

#[test]
fn a_change_at_a_slots_moment_asks_for_it_once() {
    let clock = ManualClock::new();
    let builder = Pacer::builder("10/s".parse().unwrap()).strictness(Strictness::STRICT);
    let pacer = builder.clock(clock.clone()).build();
    let ms = |ms| Nanos::ZERO + Duration::from_millis(ms);
    clock.set(ms(50));
    pacer.acquire().unwrap(); // slot 0 is late, so later slots start after their times in the load
    clock.set(ms(1_000));
    let asked = || [ms(1_000), ms(1_000) + span(1)].map(|moment| pacer.asked_before(moment));
    assert_eq!(asked(), [10, 11]);
    for rate in ["20/s", "7/s", "10/s"] {
        pacer.set_rate(rate.parse().unwrap());
        assert_eq!(asked(), [10, 11], "{rate}");
    }
}

#[test]
fn a_pause_adds_nothing_to_the_slots_that_have_not_started() {
    let second = Duration::from_secs(1);
    let ramp: Shape = "ramp 0/s..40/s 1s, hold 40/s 1h".parse().unwrap();
    let even = Shape::constant(rate(2));
    for (shape, spread) in
        [(even.clone(), Spread::Even), (ramp, Spread::Even), (even, Spread::Poisson(3))]
    {
        let clock = ManualClock::new();
        let pacer = Pacer::shaped(shape).arrivals(spread.arrivals()).clock(clock.clone()).build();
        clock.advance(second * 19 / 20);
        pacer.try_acquire().unwrap();
        pacer.pause();
        let slots = |until| {
            let batches = pacer.unstarted(Nanos::ZERO..until);
            batches.iter().map(|(_, slots)| slots).sum::<u64>()
        };
        let due = pacer.ledger().backlog_slots;
        assert!(due > 10, "{spread:?}");
        for _ in 0..3 {
            clock.advance(second);
            let later = [0, 1, 3_600].map(|seconds| slots(pacer.now() + second * seconds));
            assert_eq!((later, pacer.ledger().backlog_slots), ([due; 3], due), "{spread:?}");
        }
        pacer.resume();
        assert_eq!(slots(pacer.now() + span(1)), due, "{spread:?}");
    }
}

#[test]
fn billions_of_slots_come_in_some_thousand_batches() {
    for hz in [1, 7, 1_000, 1_000_000, 10_000_000_000] {
        let clock = ManualClock::new();
        let pacer = Pacer::builder(Rate::per_second(hz).unwrap()).clock(clock.clone()).build();
        let [begin, end] = [1, 3].map(|seconds| pacer.now() + Duration::from_secs(seconds));
        clock.advance(Duration::from_secs(5));
        let left = pacer.unstarted(begin..end);
        assert_eq!(left.iter().map(|(_, slots)| slots).sum::<u64>(), 2 * hz, "{hz}/s");
        assert!(left.len() < 200_000 && left.iter().all(|&(last, _)| (begin..end).contains(&last)));
        assert!(left.is_sorted_by_key(|&(last, _)| last));
    }
}

/// Half a million slots of the larger load are due at once, at times from before the correction.
#[test]
fn slots_that_a_correction_made_due_come_in_few_batches() {
    let clock = ManualClock::new();
    let pacer = Pacer::shaped("hold 1/s 1h".parse().unwrap()).clock(clock.clone()).build();
    let begin = pacer.now();
    clock.advance(Duration::from_millis(500));
    pacer.correct_shape("hold 1M/s 1h".parse().unwrap());
    let left = pacer.unstarted(begin..pacer.now() + span(1));
    assert_eq!(left.iter().map(|(_, slots)| slots).sum::<u64>(), 500_001);
    assert!(left.len() < 100_000 && left.is_sorted_by_key(|&(last, _)| last), "{}", left.len());
}

/// At 10 G/s, the beginning is 2^53 slots after the clock's origin: beyond the reach of positions.
#[test]
fn no_slot_comes_before_a_beginning_that_is_out_of_reach() {
    let clock = ManualClock::new();
    clock.advance(Duration::from_secs(1_000_000));
    let pacer = Pacer::builder(Rate::FASTEST).slots(59).clock(clock.clone()).build();
    let asked = [Nanos::ZERO, pacer.now(), Nanos::MAX].map(|moment| pacer.asked_before(moment));
    assert_eq!(asked, [0, 0, 59]);
    clock.advance(Duration::from_secs(1));
    assert_eq!(pacer.unstarted(Nanos::ZERO..pacer.now()).iter().map(|(_, n)| n).sum::<u64>(), 59);
}

/// At 10 G/s, a load has 2^63 slots after 29 years, and the count of each load stops there. The sum of the counts of
/// several loads is larger than the counts' range.
#[test]
fn the_counts_of_several_loads_stop_at_the_end_of_their_range() {
    let clock = ManualClock::new();
    let builder = Pacer::builder(Rate::FASTEST).strictness(Strictness::STRICT);
    let pacer = builder.clock(clock.clone()).build();
    let mut last = 0;
    for rate in ["9G/s", "10G/s", "9G/s", "10G/s"] {
        clock.advance(Duration::from_secs(40 * 365 * 86_400));
        pacer.acquire().unwrap(); // is late, so that the requested slots are counted apart
        pacer.set_rate(rate.parse().unwrap());
        let asked = [pacer.now(), Nanos::MAX].map(|moment| pacer.asked_before(moment));
        assert!(last <= asked[0] && asked[0] <= asked[1], "{rate}: {asked:?} after {last}");
        last = asked[0];
    }
    assert_eq!(last, u64::MAX);
}

/// The change is 0.9 ticks after slot 0. Before a change at that point, 0.9 ticks at 1/d would take 1.2 s, so the new
/// line begins before the clock's origin.
#[test]
fn slots_are_counted_up_to_the_last_moment_on_a_line_from_before_the_origin() {
    let clock = ManualClock::new();
    let pacer = Pacer::builder("1/h".parse().unwrap()).clock(clock.clone()).build();
    clock.advance(Duration::from_millis(50));
    pacer.set_rate(Rate::SLOWEST);
    // 2^63 ns are 106 751.99 days.
    assert_eq!(pacer.asked_before(Nanos::MAX), 106_752);
    let count = pacer.asked_count(Nanos::MAX);
    assert!((106_751.9..106_752.0).contains(&count), "{count}");
}
