//! Settings and steps of the differential test, and how they are drawn.

use proptest::prelude::*;

/// What can be drawn together.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Profile {
    /// Below 100 k/s no reading of the clock serves two slots, unless no lateness is the policy's business: every rule can be compared.
    Slow,
    /// Where one reading serves several slots, what a policy sees depends on who has read; average and strict don't mind.
    Fast,
}

impl Profile {
    /// Rates and their intervals in nanoseconds.
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

    pub(crate) fn strictnesses(self) -> &'static [f64] {
        match self {
            Profile::Slow => &[0.0, 0.1, 0.5, 0.9, 1.0, 1.1, 1.5, 4.0],
            Profile::Fast => &[0.0, 1.0],
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Step {
    Clock(u64),
    TryAcquire(u8),
    Acquire(u8),
    AcquireMany(u32),
    AcquireTimeout(u64),
    Claim,
    Start(usize),
    Drop(usize),
    OpenLane,
    LaneAcquire(usize, u8),
    LaneGiveBack(usize),
    DropLane(usize),
    Rate(usize),
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
    pub(crate) strictness: usize,
    pub(crate) tolerance_ns: u64,
    pub(crate) max_backlog_ns: Option<u64>,
    pub(crate) skip_later_than_ns: Option<u64>,
    pub(crate) start_paused: bool,
}

/// A setting and a sequence that fits it.
pub(crate) fn sequence() -> impl Strategy<Value = (Setting, Vec<Step>)> {
    prop_oneof![3 => Just(Profile::Slow), 1 => Just(Profile::Fast)]
        .prop_flat_map(|profile| (setting(profile), prop::collection::vec(step(profile), 1..80)))
}

fn setting(profile: Profile) -> impl Strategy<Value = Setting> {
    let tolerance = prop_oneof![Just(0_u64), 10_007_u64..5_000_000];
    let rule = (0..profile.rates().len(), strictness(profile), tolerance);
    (rule, limit(profile), limit(profile), prop::bool::weighted(0.1)).prop_map(
        move |((rate, strictness, tolerance_ns), max_backlog_ns, skip_later_than_ns, start_paused)| Setting {
            profile,
            rate,
            strictness,
            tolerance_ns,
            max_backlog_ns,
            skip_later_than_ns,
            start_paused,
        },
    )
}

/// Average more often: only then do lanes take blocks.
fn strictness(profile: Profile) -> impl Strategy<Value = usize> {
    prop_oneof![1 => Just(0), 2 => 0..profile.strictnesses().len()]
}

fn limit(profile: Profile) -> impl Strategy<Value = Option<u64>> {
    let some = u32::from(matches!(profile, Profile::Slow));
    prop_oneof![3 => Just(None), some => (5_000_001_u64..700_000_000).prop_map(Some)]
}

fn step(profile: Profile) -> impl Strategy<Value = Step> {
    let time = prop_oneof![
        12 => (0_u64..20_000_000).prop_map(Step::Clock),
        4 => (0_u64..3_000_000_000).prop_map(Step::Clock),
    ];
    let single = prop_oneof![
        16 => (1_u8..30).prop_map(Step::TryAcquire),
        4 => (1_u8..10).prop_map(Step::Acquire),
        3 => (0_u32..40).prop_map(Step::AcquireMany),
        3 => (0_u64..50_000_000).prop_map(Step::AcquireTimeout),
        8 => Just(Step::Claim),
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
        6 => strictness(profile).prop_map(Step::Strictness),
        2 => limit(profile).prop_map(Step::MaxBacklog),
        2 => limit(profile).prop_map(Step::SkipLaterThan),
        2 => Just(Step::Pause),
        6 => Just(Step::Resume),
    ];
    prop_oneof![16 => time, 44 => single, 19 => lanes, 11 => changes]
}
