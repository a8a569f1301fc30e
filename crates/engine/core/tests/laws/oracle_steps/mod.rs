//! Defines the settings and steps of the differential test, and generates them.

mod loads;

pub(crate) use loads::{Item, Outline, Split, Spread};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Profile {
    Slow,
    Fast,
}

impl Profile {
    pub(crate) fn rates(self) -> &'static [(&'static str, f64)] {
        match self {
            Profile::Slow => &[
                ("10/s", 100e6),
                ("33/s", 1e9 / 33.0),
                ("70/s", 1e9 / 70.0),
                ("333.3/s", 1e9 / 333.3),
                ("1000/s", 1e6),
                ("5000/s", 200e3),
            ],
            Profile::Fast => &[("150k/s", 1e9 / 150e3), ("300k/s", 1e9 / 300e3), ("500k/s", 2e3)],
        }
    }

    /// Returns the bounds of tolerances and limits, and the usual bound of the time between two steps, in nanoseconds.
    pub(crate) fn spans(self) -> [u64; 3] {
        match self {
            Profile::Slow => [5_000_000, 700_000_000, 20_000_000],
            Profile::Fast => [20_000, 2_000_000, 60_000],
        }
    }
}

pub(crate) const STRICTNESSES: [f64; 8] = [0.0, 0.1, 0.5, 0.9, 1.0, 1.1, 1.5, 4.0];

#[derive(Clone, Debug)]
pub(crate) enum Step {
    Clock(u64),
    TryAcquire(u8),
    Acquire(u8),
    AcquireMany(u32),
    AcquireTimeout(u64),
    Claim,
    ClaimAndStart,
    Start(usize),
    Drop(usize),
    OpenLane,
    LaneAcquire(usize, u8),
    LaneGiveBack(usize),
    DropLane(usize),
    Rate(usize),
    Shape(Outline),
    /// The number of slots that are claimed or due, plus this number, is the first slot of the new shard.
    Shard(Split, u64),
    Strictness(usize),
    MaxBacklog(Option<u64>),
    SkipLaterThan(Option<u64>),
    Pause,
    Resume,
    Close,
}

#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) profile: Profile,
    pub(crate) rate: usize,
    pub(crate) shape: Option<Outline>,
    pub(crate) spread: Option<Spread>,
    pub(crate) split: Option<Split>,
    pub(crate) strictness: usize,
    pub(crate) tolerance_ns: u64,
    pub(crate) sleep_threshold_ns: u64,
    pub(crate) max_backlog_ns: Option<u64>,
    pub(crate) skip_later_than_ns: Option<u64>,
    pub(crate) start_paused: bool,
    pub(crate) slots: Option<u64>,
    pub(crate) until_ns: Option<u64>,
}

pub(crate) fn sequence() -> impl Strategy<Value = (Setting, Vec<Step>)> {
    let profile = prop_oneof![3 => Just(Profile::Slow), 1 => Just(Profile::Fast)];
    let length = prop_oneof![29 => 1_usize..64, 1 => 200_usize..500];
    (profile, length).prop_flat_map(|(profile, length)| {
        let changes = if length < 64 { 11 } else { 80 };
        (setting(profile), prop::collection::vec(step(profile, changes), length))
    })
}

fn setting(profile: Profile) -> impl Strategy<Value = Setting> {
    let [tolerance, _, step] = profile.spans();
    let tolerance = prop_oneof![Just(0_u64), 10_007_u64..tolerance];
    let sleep_threshold = prop_oneof![3 => Just(0_u64), 1 => 1_u64..step / 4];
    let rule = (0..profile.rates().len(), strictness(), tolerance, sleep_threshold);
    let end = (prop::option::weighted(0.1, 0_u64..300), prop::option::weighted(0.1, 0..100 * step));
    let load = (
        prop::option::weighted(0.4, loads::outline(profile)),
        prop::option::weighted(0.15, loads::spread(profile)),
        prop::option::weighted(0.15, loads::split()),
    );
    (rule, load, limit(profile), limit(profile), prop::bool::weighted(0.1), end).prop_map(
        move |(
            (rate, strictness, tolerance_ns, sleep_threshold_ns),
            (shape, spread, split),
            max_backlog_ns,
            skip_later_than_ns,
            start_paused,
            (slots, until_ns),
        )| {
            Setting {
                profile,
                rate,
                shape,
                spread,
                split,
                strictness,
                tolerance_ns,
                sleep_threshold_ns,
                max_backlog_ns,
                skip_later_than_ns,
                start_paused,
                slots,
                until_ns,
            }
        },
    )
}

/// Average is generated more often, because only under average do lanes claim several slots at once.
fn strictness() -> impl Strategy<Value = usize> {
    prop_oneof![1 => Just(0), 2 => 0..STRICTNESSES.len()]
}

fn limit(profile: Profile) -> impl Strategy<Value = Option<u64>> {
    let [tolerance, limit, _] = profile.spans();
    prop_oneof![3 => Just(None), 1 => (tolerance + 1..limit).prop_map(Some)]
}

fn step(profile: Profile, changes_weight: u32) -> impl Strategy<Value = Step> {
    let span = profile.spans()[2];
    let time = prop_oneof![
        12 => (0..span).prop_map(Step::Clock),
        4 => (0..150 * span).prop_map(Step::Clock),
    ];
    let single = prop_oneof![
        16 => (1_u8..30).prop_map(Step::TryAcquire),
        4 => (1_u8..10).prop_map(Step::Acquire),
        3 => (0_u32..40).prop_map(Step::AcquireMany),
        3 => (0..5 * span / 2).prop_map(Step::AcquireTimeout),
        6 => Just(Step::Claim),
        4 => Just(Step::ClaimAndStart),
        6 => any::<usize>().prop_map(Step::Start),
        4 => any::<usize>().prop_map(Step::Drop),
    ];
    let lanes = prop_oneof![
        4 => Just(Step::OpenLane),
        12 => (any::<usize>(), 1_u8..20).prop_map(|(lane, times)| Step::LaneAcquire(lane, times)),
        1 => any::<usize>().prop_map(Step::LaneGiveBack),
        2 => any::<usize>().prop_map(Step::DropLane),
    ];
    let changes = prop_oneof![
        6 => (0..profile.rates().len()).prop_map(Step::Rate),
        3 => loads::outline(profile).prop_map(Step::Shape),
        1 => (loads::split(), 0_u64..300).prop_map(|(split, ahead)| Step::Shard(split, ahead)),
        6 => strictness().prop_map(Step::Strictness),
        2 => limit(profile).prop_map(Step::MaxBacklog),
        2 => limit(profile).prop_map(Step::SkipLaterThan),
        2 => Just(Step::Pause),
        6 => Just(Step::Resume),
    ];
    prop_oneof![16 => time, 44 => single, 19 => lanes, changes_weight => changes]
}
