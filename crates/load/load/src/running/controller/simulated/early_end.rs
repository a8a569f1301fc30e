//! Tests that runs and steps of searches end when their requirements are decided, with the same conclusion as
//! full-length runs.

use super::{Course, Server, run, run_setup, set_up};
use crate::judged::search::judge::Promise;
use crate::judged::search::method::{Bounds, Conclusion, Outcome, Search};
use crate::load::action::Action;
use crate::shown::json::Object;
use nanopace::Rate;
use std::time::Duration;

fn server(seed: u64, failed_share: f64) -> Server {
    Server { seed, mean: Duration::from_millis(5), failed_share }
}

#[test]
fn a_run_ends_when_a_requirement_is_lost() {
    let fails = Course { server: Some(server(0, 1.0)), ..Course::default() };
    let change = vec![(1_000, Action::SetRate(Rate::per_second(90).unwrap()))];
    let changed = Course { actions: change, ..fails.clone() };
    let pause = vec![(500, Action::Pause), (700, Action::Resume)];
    let paused = Course { actions: pause, ..fails.clone() };
    let errors = "--rate 100/s --fail-fast --fail-if errors_<=_50%";
    for (options, course, lost_after) in [
        // The 501st failure decides, because it exceeds 50 % of 1000 requests.
        (format!("{errors} --duration 10s"), &fails, Some(5.0)),
        (format!("{errors} --duration 10s --warmup 1s"), &fails, Some(5.0)),
        (format!("{errors} --duration 10s --fail-if failed_=_0"), &fails, Some(0.0)),
        (format!("{errors} --requests 1000"), &fails, Some(5.0)),
        (format!("{errors} --requests 1000"), &changed, Some(5.45)),
        // After a change of the load, the maximum number of requests is unknown.
        (format!("{errors} --duration 10s"), &changed, None),
        (format!("{errors} --duration 10s --warmup 1s"), &paused, None),
        ("--rate 100/s --duration 10s --fail-if errors_<=_50%".to_owned(), &fails, None),
        (format!("{errors} --duration 10s"), &Course::default(), None),
    ] {
        let summary = run(&options, course).summary;
        assert_eq!(summary.lost.is_some(), lost_after.is_some(), "{options}");
        assert_eq!(summary.is_cut_short, lost_after.is_some(), "{options}");
        let json = serde_json::to_value(Object::new(&summary, None::<()>)).unwrap();
        assert_eq!(json["ended_early"].as_str(), summary.lost.as_deref(), "{options}");
        let seconds = summary.duration.as_secs_f64();
        // The controller checks four times per second.
        let after = seconds - lost_after.unwrap_or(10.0);
        assert!((0.0..0.3).contains(&after), "{options}: {seconds}");
        assert_eq!(summary.incomplete, None, "{options}");
    }
}

#[test]
fn a_run_has_no_more_requests_than_were_counted_on() {
    let loads = [
        "--rate 100/s --duration 3s",
        "--rate 33.3/s --duration 3s",
        "--rate 100/s --arrivals poisson --seed 3 --duration 3s",
        "--shape ramp_50/s..300/s_1s,_hold_200/s_2s",
        "--rate 300/s --shard 2/3 --duration 2s",
    ];
    let policies = ["", "--strictness 1", "--strictness 0.5", "--max-backlog 200ms"];
    let late = Course { freezes: vec![(300, 1_400)], hold_every: 7, ..Course::default() };
    for (load, policy) in loads.iter().flat_map(|load| policies.map(|policy| (load, policy))) {
        for (warmup, course) in [("", &Course::default()), ("--warmup 789ms", &late)] {
            let options = format!("{load} {policy} {warmup}");
            let setup = set_up(&options, None);
            let (most, due) =
                (setup.most_requests().unwrap(), run(&options, course).summary.stats.due());
            assert!(most >= Some(due), "{options}: {due} of {most:?}");
            assert!(most == Some(due) || !policy.is_empty(), "{options}: {due} of {most:?}");
        }
    }
}

fn search(
    until: &str,
    load: &str,
    course: &Course,
    ends_early: bool,
) -> (Conclusion, Vec<(f64, Outcome)>, f64) {
    let bounds = Bounds { from: 100.0, min: 1.0, max: 1e9, precision: 0.1, max_steps: 60 };
    let promise = Promise::new(vec![until.parse().unwrap()]);
    let mut setup = set_up(&format!("--warmup 500ms {load}"), None);
    if ends_early {
        setup.objective = promise.all().cloned().collect();
    }
    let (mut search, mut steps, mut seconds) = (Search::new(bounds), Vec::new(), 0.0);
    while let Some(step) = search.next() {
        setup.change(step.hz, promise.length(step.hz, Duration::from_secs(1))).unwrap();
        let measured = promise.judge(step, &run_setup(&setup, course).summary, 4);
        search.result(step, measured.outcome);
        steps.push((step.hz, measured.outcome));
        seconds += measured.seconds;
    }
    (search.conclusion(), steps, seconds)
}

#[test]
fn steps_that_end_early_lead_a_search_to_the_same_answer() {
    let (mut whole, mut early) = (0.0, 0.0);
    for seed in 0..8 {
        let (until, failed_share) = [
            ("p90 response < 40ms", 0.005),
            ("p90 service < 40ms", 0.0),
            ("mean response < 20ms", 0.002),
            ("errors <= 5%", 0.02),
        ][usize::try_from(seed % 4).unwrap()];
        let load = ["", "--arrivals poisson"][usize::try_from(seed / 4 % 2).unwrap()];
        let course = Course { server: Some(server(seed, failed_share)), ..Course::default() };
        let [(answer, steps, all), (same, short, less)] =
            [false, true].map(|ends_early| search(until, load, &course, ends_early));
        assert_eq!((same, &short), (answer, &steps), "{until} {load} {seed}");
        (whole, early) = (whole + all, early + less);
    }
    assert!(early < whole, "{early} s of {whole} s");
}
