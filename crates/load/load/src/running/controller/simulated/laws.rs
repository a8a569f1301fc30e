//! Tests that a run with a fixed number of requests has exactly these requests, and that verdicts name the right cause.

use super::{Course, Ran, run, run_setup, set_up};
use crate::console::human::{self, float};
use crate::judged::headline::Headline;
use crate::judged::summary::{LoadResults, Summary};
use crate::judged::verdict::Verdict::{GeneratorBehind, OnSchedule, Paused, TargetBehind};
use crate::load::action::{Action, Refusal};
use crate::results::over_time::Interval;
use crate::shown::report::{Detail, RunReport};
use crate::shown::snapshot::Recent;
use nanopace::{Ledger, Rate};
use proptest::prelude::*;
use std::sync::Arc;
use std::time::Duration;
use toml::Table;

fn assert_has_slots(ran: &Ran, slots: u64, case: &str) {
    let stats = &ran.summary.stats;
    let ledger = ran.summary.ledger.unwrap();
    assert_eq!(stats.due(), slots, "{case}");
    assert!((ran.asked() - float(slots)).abs() < 1e-6, "{case}: asked {}", ran.asked());
    assert!(ran.intervals().iter().all(|interval| interval.asked >= 0.0), "{case}");
    let mut left = slots + ran.warm_up - stats.skipped;
    for Interval { from, backlog, brief, .. } in ran.intervals() {
        left -= brief.started();
        assert!(backlog.slots <= left + stats.skipped, "{case}: {backlog:?} at {from:?}");
    }
    assert_eq!(ledger.backlog, Duration::ZERO, "{case}");
}

const LONG: [(u64, u64); 1] = [(2_000, 6_000)];

fn courses() -> [Course; 3] {
    let usual = Course { hold_every: 7, ..Course::default() };
    [
        usual.clone(),
        Course { stalls: LONG.to_vec(), ..usual.clone() },
        Course { freezes: LONG.to_vec(), ..usual },
    ]
}

#[test]
fn the_report_has_the_given_number_of_requests() {
    let loads = [
        "--rate 100/s",
        "--rate 33.3/s",
        "--rate 100/s --arrivals poisson --seed 1",
        "--rate 100/s --arrivals poisson --seed 2",
        "--rate 100/s --arrivals gamma:0.3",
        "--shape ramp_0/s..200/s_5s_forever",
        "--shape (hold_500/s_100ms,_hold_0/s_400ms)_forever",
        "--rate 300/s --shard 2/3",
        "--rate 300/s --shard 1/3:5 --arrivals jitter:0.4",
    ];
    let policies =
        ["", "--strictness 0.5", "--strictness 1", "--strictness 1.5", "--max-backlog 500ms"];
    let warmups = ["", "--warmup 1s", "--warmup 1234567us", "--warmup 4s"];
    let cases = loads.iter().flat_map(|load| policies.map(|policy| format!("{load} {policy}")));
    for (case, load) in cases.enumerate() {
        let (warmup, course) = (warmups[case % 4], &courses()[case % 3]);
        let options = format!("{load} {warmup} --requests 300");
        let ran = run(&options, course);
        assert_has_slots(&ran, 300, &format!("{options} {course:?}"));
        assert_eq!(ran.summary.stats.started(), 300, "{options}");
    }
}

#[test]
fn a_load_that_is_over_has_no_more_slots() {
    let course = Course { stalls: LONG.to_vec(), ..Course::default() };
    for (warmup, end) in [("", 3.0), ("--warmup 1500ms", 4.5)] {
        let ran = run(&format!("--rate 100/s --requests 300 {warmup}"), &course);
        assert_has_slots(&ran, 300, warmup);
        let end = Duration::from_secs_f64(end);
        let over = ran.intervals().iter().filter(|interval| interval.from >= end);
        assert!(over.clone().count() >= 6, "{warmup}: {:?}", ran.summary.duration);
        assert!(over.clone().all(|interval| interval.asked == 0.0), "{warmup}");
        let Ledger { elapsed, allocated, .. } = ran.summary.ledger.unwrap();
        assert_eq!((elapsed, allocated), (end, end));
        let (first, last) = (ran.rates.first().unwrap(), ran.rates.last().unwrap());
        assert_eq!((&first.0[..], &last.0[..]), ("100/s", "0/s"), "{warmup}");
    }
}

#[test]
fn the_rate_of_a_part_of_a_load_is_its_own_share() {
    let actions = vec![(2_000, Action::SetRate(Rate::per_second(200).unwrap()))];
    let course = Course { actions, ..Course::default() };
    for (options, before, after) in [("", "100/s", "200/s"), ("--shard 1/4", "25.0/s", "50.0/s")] {
        let ran = run(&format!("--rate 100/s --warmup 1s --duration 3s {options}"), &course);
        let shown: Vec<_> = ran.rates.iter().map(|(text, _)| text.as_str()).collect();
        assert_eq!((shown[0], shown[shown.len() - 1]), (before, after), "{options}");
        for (text, Recent { asked_hz: hz, .. }) in &ran.rates[..6] {
            let rate: Rate = text.parse().unwrap();
            assert!((rate.as_hz() - hz).abs() < 1e-6, "{options}: {text} {hz}");
        }
    }
}

#[test]
fn a_load_on_time_achieves_the_requested_rate_in_each_status_line() {
    for (rate, load) in [
        ("100/s", "--rate 100/s --duration 3s"),
        ("100/s", "--rate 100/s --warmup 1s --duration 2s"),
        ("33.3/s", "--rate 33.3/s --duration 2900ms"),
        ("0.700/s", "--rate 0.7/s --duration 5s"),
        ("240/s", "--shape hold_240/s_2s"),
    ] {
        let ran = run(load, &Course { stalls: vec![(2_950, 4_300)], ..Course::default() });
        let recorded = ran.rates.iter().filter(|(_, recent)| recent.hz > 0.0);
        let shown: Vec<_> =
            recorded.map(|(text, recent)| [text.clone(), human::hz(recent.hz)]).collect();
        assert!(shown.len() >= 6, "{load}: {shown:?}");
        assert!(shown.iter().flatten().all(|text| text == rate), "{load}: {shown:?}");
    }
}

#[test]
fn a_run_has_a_last_status_line_unless_one_was_just_shown() {
    let slow = Course { stalls: vec![(2_950, 4_300)], ..Course::default() };
    for (duration, course, expected) in [
        ("3s", &Course::default(), true),
        ("2600ms", &Course::default(), true),
        ("2100ms", &Course::default(), false),
        ("200ms", &Course::default(), false),
        ("3s", &slow, false),
    ] {
        let ran = run(&format!("--rate 100/s --duration {duration}"), course);
        assert_eq!(ran.has_last_line, expected, "{duration}");
    }
}

#[test]
fn a_rate_that_changes_is_reported_as_a_mean() {
    let faster = Course { actions: vec![(1_000, Action::Faster)], ..Course::default() };
    for (load, course, expected) in [
        ("--rate 100/s --duration 2s", &Course::default(), false),
        ("--rate 100/s --arrivals poisson --duration 2s", &Course::default(), false),
        ("--shape hold_100/s_2s", &Course::default(), false),
        ("--shape ramp_10/s..300/s_2s", &Course::default(), true),
        ("--rate 100/s --duration 2s", &faster, true),
    ] {
        let summary = run(load, course).summary;
        assert_eq!(summary.changes_rate, expected, "{load}");
        let report = RunReport { summary: &summary, detail: Detail::Brief }.to_string();
        assert_eq!(report.contains("requested on average ("), expected, "{report}");
    }
}

#[test]
fn the_mean_rate_of_a_load_is_that_until_its_end() {
    let course = Course { stalls: LONG.to_vec(), ..Course::default() };
    let target_hz = |options: &str| run(options, &course).summary.target_hz;
    let mean = target_hz("--shape hold_50/s_2s,_hold_200/s_1h --requests 300");
    assert!((mean - 100.0).abs() < 1.0, "{mean}");
}

#[test]
fn the_report_has_the_requests_that_the_data_allows() {
    for (options, slots) in [
        ("--rate 100/s", 300),
        ("--rate 100/s --arrivals poisson", 300),
        ("--rate 200/s --shard 1/2", 150),
        ("--rate 100/s --requests 250", 250),
        ("--rate 100/s --requests 250 --warmup 1s", 200),
        ("--rate 100/s --requests 190 --warmup 1s", 190),
        ("--rate 100/s --warmup 333ms", 266),
        ("--rate 200/s --warmup 333ms --shard 1/2", 116),
    ] {
        for course in courses() {
            let ran = run(options, &Course { most: Some(300), ..course });
            assert_has_slots(&ran, slots, options);
        }
    }
}

#[test]
fn a_load_that_begins_paused_starts_nothing_before_it_is_resumed() {
    for warmup in ["", "--warmup 500ms"] {
        let actions = vec![(1_000, Action::Resume)];
        let course = Course { begins_paused: true, actions, ..Course::default() };
        let ran = run(&format!("--rate 100/s --requests 300 {warmup}"), &course);
        assert_has_slots(&ran, 300, warmup);
        let end = ran.summary.duration.as_secs_f64();
        assert!((3.5..4.1).contains(&end), "{warmup}: {end}");
        let early = ran.intervals().iter().filter(|interval| interval.to.as_millis() < 1_000);
        assert_eq!(early.map(|interval| interval.brief.started()).sum::<u64>(), 0, "{warmup}");
        assert_eq!(ran.summary.verdict, OnSchedule, "{:?}", ran.summary.stats.lateness);
    }
}

#[test]
fn a_run_that_is_paused_until_its_end_claims_no_success() {
    let paused = Course { begins_paused: true, ..Course::default() };
    let in_warm_up = Course { actions: vec![(500, Action::Pause)], ..Course::default() };
    for (options, course, verdict) in [
        ("--rate 100/s", &paused, Paused),
        ("--rate max", &paused, Paused),
        ("--rate 100/s --arrivals poisson --warmup 1s", &paused, Paused),
        ("--rate 100/s --warmup 1s", &in_warm_up, Paused),
        ("--rate 100/s", &in_warm_up, OnSchedule),
        // The first slot of this part is due after the end.
        ("--rate 1/s --shard 4/4", &Course::default(), OnSchedule),
    ] {
        let ran = run(&format!("{options} --duration 2s"), course);
        assert_eq!(ran.summary.verdict, verdict, "{options}");
        let is_incomplete = ran.summary.incomplete.is_some();
        assert_eq!(is_incomplete, verdict == Paused, "{options}: {:?}", ran.summary.incomplete);
        let is_nothing = ran.summary.stats.due() == 0;
        assert!(is_nothing || verdict == OnSchedule, "{options}");
        let backlogs = ran.intervals().iter().map(|interval| interval.backlog.slots);
        assert!(verdict == OnSchedule || backlogs.max() <= Some(0), "{options}");
    }
}

/// If no slot starts after the last slots were skipped, no later start shows why these slots were late.
#[test]
fn skipped_requests_are_among_them_and_have_a_cause() {
    let stalls = Course { stalls: LONG.to_vec(), ..Course::default() };
    let freezes = Course { freezes: LONG.to_vec(), ..Course::default() };
    let early = Course { freezes: vec![(500, 2_100)], ..Course::default() };
    for (course, verdict) in [
        (Course::default(), OnSchedule),
        (stalls, TargetBehind),
        (freezes, GeneratorBehind),
        (early, GeneratorBehind),
    ] {
        for (options, slots) in
            [("", 300), ("--warmup 1s", 300), ("--requests 450", 450), ("--arrivals poisson", 300)]
        {
            for limit in ["900ms", "20ms", "5ms"] {
                let options =
                    format!("--rate 100/s --requests 300 --skip-later-than {limit} {options}");
                let ran = run(&options, &course);
                assert_has_slots(&ran, slots, &options);
                let lateness = ran.summary.stats.lateness;
                assert_eq!(ran.summary.verdict, verdict, "{options} {lateness:?}");
            }
        }
    }
}

#[test]
fn the_verdict_names_the_stopped_side_under_every_policy() {
    let stalls = Course { stalls: LONG.to_vec(), ..Course::default() };
    let freezes = Course { freezes: LONG.to_vec(), ..Course::default() };
    for policy in [
        "--strictness 0",
        "--strictness 0.5",
        "--strictness 1",
        "--strictness 1 --requests 600",
        "--strictness 1 --warmup 500ms",
        "--strictness 1.1",
        "--strictness 1.5",
        "--strictness 2",
        "--max-backlog 50ms",
    ] {
        for (course, verdict) in [(&stalls, TargetBehind), (&freezes, GeneratorBehind)] {
            let ran = run(&format!("--rate 100/s --duration 8s {policy}"), course);
            assert_eq!(ran.summary.verdict, verdict, "{policy}: {:?}", ran.summary.stats.lateness);
        }
    }
}

#[test]
fn a_setup_shows_whether_its_policies_give_up_slots_or_time() {
    let course = Course { stalls: LONG.to_vec(), ..Course::default() };
    for policy in [
        "--strictness 0",
        "--strictness 0.1",
        "--strictness 0.5",
        "--strictness 1",
        "--strictness 1.1",
        "--max-backlog 50ms",
        "--skip-later-than 50ms",
    ] {
        let setup = set_up(&format!("--rate 100/s --duration 8s {policy}"), None);
        let Ledger { idle, skipped, .. } = run_setup(&setup, &course).summary.ledger.unwrap();
        assert_eq!(setup.gives_up(), !idle.is_zero() || skipped > 0, "{policy}");
    }
}

#[test]
fn a_run_ends_with_the_shape_that_it_was_given_last() {
    for (shape, due) in [("hold 100/s 3s", 400), ("hold 100/s 500ms", 150)] {
        let actions = vec![(1_000, Action::SetShape(shape.parse().unwrap()))];
        let course = Course { actions, ..Course::default() };
        let stats = run("--shape hold_100/s_2s", &course).summary.stats;
        assert!(stats.due().abs_diff(due) <= 1, "{shape}: {}", stats.due());
    }
}

#[test]
fn only_slots_that_were_skipped_count_as_skipped() {
    let course = Course { stalls: vec![(500, 1_200)], ..Course::default() };
    for policy in ["--strictness 1", "--max-backlog 100ms"] {
        let options = format!("--rate 100/s --duration 3s --skip-later-than 900ms {policy}");
        let stats = run(&options, &course).summary.stats;
        assert!(stats.started() < 250, "{policy}: {}", stats.started());
        assert_eq!(stats.skipped, 0, "{policy}");
    }
}

/// The tick at the end of the warm-up is 2 ms late, and the tick before it is 238 ms early.
#[test]
fn slots_that_were_skipped_at_the_end_of_the_warm_up_do_not_count() {
    let stalls = Course { stalls: vec![(1_020, 1_200)], ..Course::default() };
    let options =
        "--rate 100/s --warmup 1246ms --duration 2s --skip-later-than 50ms --max-backlog 1s";
    assert_eq!(run(options, &stalls).summary.stats.skipped, 0);
}

#[test]
fn a_run_that_ends_before_its_load_has_the_slots_so_far() {
    let course = Course { stalls: LONG.to_vec(), ..Course::default() };
    for (options, slots) in [
        ("--rate 100/s --duration 2500ms", 250),
        ("--rate 100/s --duration 2s --warmup 2s", 200),
        ("--rate 100/s --duration 5s", 300),
        ("--duration 5s --shape hold_100/s_2500ms,_hold_0/s_1h", 250),
        ("--rate 100/s --duration 2500ms --max-backlog 1s --warmup 2200ms", 250),
    ] {
        let ran = run(&format!("--requests 300 {options}"), &course);
        assert!((ran.asked() - float(slots)).abs() < 1e-6, "{options}: {}", ran.asked());
        assert!(ran.summary.stats.due() <= slots, "{options}: {}", ran.summary.stats.due());
    }
}

#[test]
fn no_slot_of_the_warm_up_is_reported_as_unstarted() {
    let stalls = Course { stalls: vec![(1_500, 2_492)], ..Course::default() };
    for policy in ["--strictness 1", "--strictness 0.5", "--max-backlog 400ms"] {
        let options = format!("--rate 100/s --warmup 2s --duration 500ms --requests 9 {policy}");
        let stats = run(&options, &stalls).summary.stats;
        assert_eq!((stats.started(), stats.unstarted), (0, 0), "{policy}");
    }
    let options = "--rate 100/s --warmup 2s --duration 500ms --requests 9";
    assert_eq!(run(options, &stalls).summary.stats.due(), 9);
}

#[test]
fn a_run_with_changes_has_all_its_requests() {
    let rate = |hz| Action::SetRate(Rate::per_second(hz).unwrap());
    let shape = |text: &str| Action::SetShape(text.parse().unwrap());
    let all = [
        vec![(1_500, rate(400))],
        vec![(1_500, rate(20)), (3_000, rate(1_000))],
        vec![(500, Action::Pause), (900, Action::Resume)],
        vec![(500, Action::Pause), (2_900, Action::Resume)],
        vec![(1_500, Action::Pause), (2_500, rate(500)), (2_900, Action::Resume)],
        vec![(1_500, shape("ramp 10/s..100/s 5s, hold 50/s 1h"))],
        vec![(1_200, Action::Faster), (1_300, Action::Slower), (7_000, Action::Faster)],
    ];
    for (actions, course) in all.iter().flat_map(|it| courses().map(|course| (it, course))) {
        let course = Course { actions: actions.clone(), ..course };
        for options in ["", "--warmup 1s", "--warmup 1s --strictness 1", "--arrivals poisson"] {
            let options = format!("--rate 100/s --requests 300 {options}");
            let ran = run(&options, &course);
            assert_has_slots(&ran, 300, &format!("{options} {course:?}"));
            assert!(ran.refused.is_empty() || ran.refused == [Refusal::NoRequestsLeft]);
        }
    }
}

/// If the warm-up could be changed, the number of its slots would be unknown.
#[test]
fn the_warm_up_of_a_number_of_requests_is_not_changed() {
    let actions = vec![(500, Action::Faster), (1_500, Action::Faster)];
    let course = Course { actions, ..Course::default() };
    let ran = run("--rate 100/s --warmup 1s --requests 300", &course);
    assert_eq!(ran.refused, [Refusal::WarmUp]);
    let ran = run("--rate 100/s --warmup 1s --duration 2s", &course);
    assert_eq!(ran.refused, []);
}

fn load() -> impl Strategy<Value = String> {
    let rate = (20_u64..400).prop_map(|hz| format!("--rate {hz}/s"));
    let arrivals = prop_oneof![
        2 => Just(String::new()),
        1 => any::<u32>().prop_map(|seed| format!("--arrivals poisson --seed {seed}")),
        1 => any::<u32>().prop_map(|seed| format!("--arrivals gamma:0.3 --seed {seed}")),
        1 => (1_u32..4).prop_map(|part| format!("--shard {part}/3")),
    ];
    let even = (rate, arrivals).prop_map(|(rate, arrivals)| format!("{rate} {arrivals}"));
    let shape = (0_u32..200, 50_u32..400).prop_map(|(from, to)| {
        format!("--shape (ramp_{from}/s..{to}/s_900ms,_hold_0/s_350ms)_forever")
    });
    prop_oneof![3 => even, 1 => shape]
}

fn policy() -> impl Strategy<Value = String> {
    let limit = || 10_u32..1_500;
    prop_oneof![
        2 => Just(String::new()),
        2 => prop_oneof![Just("0.3"), Just("1"), Just("1.2")].prop_map(|it| format!("--strictness {it}")),
        1 => limit().prop_map(|ms| format!("--max-backlog {ms}ms")),
        1 => limit().prop_map(|ms| format!("--skip-later-than {ms}ms")),
    ]
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        Just(Action::TogglePause),
        Just(Action::Resume),
        (20_u64..600).prop_map(|hz| Action::SetRate(Rate::per_second(hz).unwrap())),
        Just(Action::SetShape("ramp 10/s..300/s 2s, hold 50/s 1h".parse().unwrap())),
    ]
}

fn course() -> impl Strategy<Value = Course> {
    let stop = || (0_u64..4_000, 1_u64..2_500).prop_map(|(from, length)| (from, from + length));
    let stops = || prop::collection::vec(stop(), 0..2);
    let actions = prop::collection::vec((0_u64..5_000, action()), 0..5);
    (stops(), stops(), 0_u64..9, actions).prop_map(|(stalls, freezes, hold_every, mut actions)| {
        actions.sort_by_key(|&(at, _)| at);
        actions.push((6_000, Action::Resume));
        Course { stalls, freezes, hold_every, actions, ..Course::default() }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_run_asks_for_its_requests_and_for_no_others(
        load in load(), policy in policy(), course in course(),
        requests in 1_u64..300, warmup_us in prop_oneof![Just(0), 0_u64..3_000_000],
        duration_ms in prop::option::weighted(0.3, 1_u64..4_000),
    ) {
        let duration = duration_ms.map_or_else(String::new, |ms| format!("--duration {ms}ms"));
        let options =
            format!("{load} {policy} --warmup {warmup_us}us --requests {requests} {duration}");
        let ran = run(&options, &course);
        let (due, asked) = (ran.summary.stats.due(), ran.asked());
        prop_assert!(due <= requests, "{options}: {due}");
        prop_assert!(asked < float(requests) + 1e-6, "{options}: {asked}");
        if duration_ms.is_none() {
            assert_has_slots(&ran, requests, &options);
        }
    }
}

#[test]
fn several_loads_add_up_and_the_late_one_is_named() {
    let late = Course { stalls: LONG.to_vec(), ..Course::default() };
    for (course, told) in [(Course::default(), "On schedule"), (late, "b: The target could not")] {
        let loads = [
            ("a", 0, "--rate 100/s --requests 1000", &Course::default()),
            ("b", 3, "--shape ramp_0/s..80/s_10s --warmup 1s", &course),
            ("c", 60, "--rate 7/s --requests 70", &Course::default()),
        ];
        let loads = loads.map(|(name, start, options, course)| LoadResults {
            name: name.to_owned(),
            start: Duration::from_secs(start),
            recorded_from: Duration::from_secs(start + u64::from(name == "b")),
            summary: Arc::new(run(options, course).summary),
        });
        let sum = |of: fn(&Summary) -> u64| loads.iter().map(|load| of(&load.summary)).sum::<u64>();
        let counts: [fn(&Summary) -> u64; 5] = [
            |it| it.stats.due(),
            |it| it.stats.started(),
            |it| it.stats.response.len(),
            |it| it.over_time.intervals().iter().map(|of| of.brief.started()).sum(),
            |it| it.over_time.intervals().iter().map(|of| of.due.slots()).sum(),
        ];
        let asked = |it: &Summary| it.over_time.intervals().iter().map(|of| of.asked).sum::<f64>();
        let (sums, all_asked) =
            (counts.map(sum), loads.iter().map(|it| asked(&it.summary)).sum::<f64>());
        let whole = Summary::of_loads(loads.into(), Table::new());
        assert_eq!(counts.map(|of| of(&whole)), sums, "{told}");
        let over_time = whole.over_time.intervals();
        assert!((asked(&whole) - all_asked).abs() < 1e-6, "{told}");
        assert!(over_time.windows(2).all(|pair| pair[0].to <= pair[1].from), "{told}");
        let ends = [over_time[0].from, over_time[over_time.len() - 1].to].map(|at| at.as_millis());
        assert_eq!(ends, [0, 70_000]);
        assert_eq!(whole.duration.as_millis(), 70_000);
        let hz = float(sums[0]) / 70.0;
        assert!((whole.target_hz - hz).abs() < 0.1, "{} {hz}", whole.target_hz);
        let headline = Headline::new(&whole).to_string();
        assert!(headline.starts_with(told), "{headline}");
    }
}

/// Each connection holds its slot for 40 ms, so four slots are found to be overdue only after the end.
#[test]
fn slots_that_were_held_beyond_the_end_count_as_overdue() {
    let course = Course { hold_every: 1, ..Course::default() };
    let summary = run("--rate 240/s --duration 100ms", &course).summary;
    assert_eq!(summary.incomplete.as_deref(), Some("only 7 of 24 slots started"));
}
