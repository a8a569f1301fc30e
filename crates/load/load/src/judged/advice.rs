//! Advises which option to change for a better result.

use super::summary::{LoadResults, Summary, late};
use super::verdict::Verdict;
use crate::console::human::{count, percent, time};
use crate::load::shortage::Shortage;
use crate::load::unsupported::RunKind::Node;
use crate::results::percentiles;
use crate::results::silence::silences;

/// If the generator caused less than this share of the lateness, a faster machine for the generator would change the
/// result only slightly.
const SMALL: f64 = 1.0 / 3.0;

/// If the load threads used less than this share of a core, a lower rate would not make the generator faster.
const LITTLE_CPU: f64 = 0.1;

/// A target that sent no response for this many times the median service time has stalled, and was not only slow.
const STALLED: u32 = 10;

/// Returns the advice for a run. A run of several loads has the advice of one of its loads, if possible of a late one.
pub(crate) fn advice(summary: &Summary) -> Option<String> {
    let loads = &summary.loads;
    let of = |load: &LoadResults| Some(format!("{}: {}", load.name, of_load(&load.summary)?));
    if loads.is_empty() {
        return of_load(summary);
    }
    late(loads).into_iter().chain(loads).find_map(of)
}

fn of_load(summary: &Summary) -> Option<String> {
    let kinds = summary.stats.failures.keys();
    if let Some(shortage) = kinds.copied().find_map(Shortage::of_kind) {
        return Some(shortage.advice().to_owned());
    }
    match summary.verdict {
        Verdict::NothingRecorded => Some("let the run last longer than its --warmup".to_owned()),
        Verdict::Paused => Some(
            "press the space bar, or send POST /resume to the --control address, to end a pause"
                .to_owned(),
        ),
        Verdict::TargetFailing | Verdict::NotStarted => None,
        Verdict::TargetBehind => Some(stall(summary).unwrap_or_else(|| target_behind(summary))),
        Verdict::ThinkTimes => Some(think_times(summary)),
        Verdict::GeneratorBehind | Verdict::GeneratorFailing => {
            Some(machine(summary).unwrap_or_else(|| share(summary)))
        }
        Verdict::BothBehind if summary.stats.lateness.main_shares()[1] < SMALL => {
            Some(target_behind(summary))
        }
        Verdict::BothBehind => Some(machine(summary).unwrap_or_else(|| share(summary))),
        Verdict::ClosedLoop => Some(
            "set --rate to a number to measure response times that include queueing".to_owned(),
        ),
        Verdict::OnSchedule => {
            let mut cautions = summary.findings.iter().filter(|found| !found.is_well);
            cautions.next().and_then(|found| about(found.check, summary))
        }
    }
}

fn is_given(summary: &Summary, option: &str) -> bool {
    summary.title.given.contains(option)
}

fn lower(summary: &Summary) -> &'static str {
    match ["per-connection", "shape"].map(|option| is_given(summary, option)) {
        [true, _] => "raise --per-connection",
        [_, true] => "lower the rate",
        _ => "lower --rate",
    }
}

/// Returns advice if the target sent no response for a long time, and this stall can explain at least a quarter of the
/// lateness: its length times the number of slots that were due in it, halved.
fn stall(summary: &Summary) -> Option<String> {
    let silences = silences(summary.over_time.intervals());
    let longest = silences.iter().max_by_key(|silence| silence.length())?;
    let (from, length) = (longest.from, longest.length());
    let lateness = length.as_secs_f64() * longest.asked / 2.0;
    let explains = 4.0 * lateness >= summary.stats.lateness.target;
    let is_stall = length > STALLED * percentiles::at(&summary.stats.service, 0.5);
    let [length, from] = [length, from].map(time);
    (explains && is_stall).then(|| {
        format!("find out why the target sent no response for at least {length} from about {from}")
    })
}

fn target_behind(summary: &Summary) -> String {
    if is_given(summary, "per-connection") {
        return "raise --per-connection above the time that the target takes for a request"
            .to_owned();
    }
    let pool = summary.pool.filter(|pool| pool.opened < pool.most);
    if pool.is_some() && is_given(summary, "skip-later-than") {
        return "raise --skip-later-than: the connection pool grows only while requests wait"
            .to_owned();
    }
    let end = if pool.is_some() { "the lower end of " } else { upper_end(summary) };
    let rests = summary.stats.think_times.over > 0;
    let why = if rests { busy(summary) } else { " if the target can serve more".to_owned() };
    format!("{}, or raise {end}--connections{why}", lower(summary))
}

fn think_times(summary: &Summary) -> String {
    format!("raise {}--connections{}", upper_end(summary), busy(summary))
}

fn busy(summary: &Summary) -> String {
    if summary.stats.completed() == 0 {
        return String::new();
    }
    let busy = (summary.target_hz * summary.stats.service.mean() * 1e-9).ceil();
    format!(": this rate keeps about {} busy", count(busy, "connection"))
}

fn upper_end(summary: &Summary) -> &'static str {
    if summary.pool.is_some() { "the upper end of " } else { "" }
}

fn share(summary: &Summary) -> String {
    let cpu = summary.processor.map(|cpu| cpu.had.as_secs_f64() / summary.duration.as_secs_f64());
    if let Some(cpu) = cpu.filter(|cpu| *cpu < LITTLE_CPU) {
        let cpu = percent(cpu);
        return format!("repeat the run: the load is small, its threads used only {cpu} of a core");
    }
    let is_alone = summary.parts.is_empty();
    let is_node = is_given(summary, "run");
    let can_be_node = is_alone && !is_node && Node.unsupported(&summary.title.given).is_none();
    let with = if can_be_node { ": --fleet" } else { "" };
    format!("{}, or share the load between machines{with}", lower(summary))
}

fn machine(summary: &Summary) -> Option<String> {
    let found = ["quota", "stolen", "others"].into_iter().find(|it| summary.has_caution(it));
    found.and_then(|check| about(check, summary))
}

fn about(check: &str, summary: &Summary) -> Option<String> {
    let text = match check {
        "steady" => "leave the time before the change out of the results: raise --warmup",
        "frequency" => "raise --warmup until the change is over, or set a constant CPU frequency",
        "quota" => {
            return Some(format!("raise the CPU quota, or {}", lower(summary)));
        }
        "stolen" => "run the generator on a host that leaves it more CPU time",
        "others" => "run the generator on a machine without other work",
        "own" | "starts" => return machine(summary),
        "sure" => "raise --longest, and do not end the run before",
        _ => return None,
    };
    Some(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judged::checks::Finding;
    use crate::load::kind::FailureKind;
    use crate::results::cpu_time::CpuTime;
    use crate::results::lateness::Lateness;
    use crate::results::outcome::Due;
    use crate::results::over_time::{Backlog, Brief, Interval};
    use crate::results::pool_growth::PoolGrowth;
    use crate::shown::fixture::empty;
    use std::sync::Arc;
    use std::time::Duration;

    fn advised(verdict: Verdict, change: impl Fn(&mut Summary)) -> Option<String> {
        let mut summary = empty();
        summary.verdict = verdict;
        change(&mut summary);
        advice(&summary)
    }

    fn caution(check: &'static str) -> impl Fn(&mut Summary) {
        move |summary| {
            summary.findings.push(Finding { check, is_well: false, text: String::new() });
        }
    }

    #[test]
    fn advice_names_an_option_for_each_verdict() {
        for (verdict, option) in [
            (Verdict::NothingRecorded, "--warmup"),
            (Verdict::TargetBehind, "--connections"),
            (Verdict::ThinkTimes, "--connections"),
            (Verdict::GeneratorBehind, "--fleet"),
            (Verdict::BothBehind, "--rate"),
            (Verdict::ClosedLoop, "--rate"),
        ] {
            let text = advised(verdict, |_| ()).unwrap();
            assert!(text.contains(option) && text.len() <= 90, "{verdict:?}: {text}");
        }
        assert_eq!(advised(Verdict::OnSchedule, |_| ()), None);
        assert_eq!(advised(Verdict::NotStarted, |_| ()), None);
    }

    #[test]
    fn advice_is_possible_with_the_options_that_were_given() {
        use Verdict::{BothBehind, GeneratorBehind, TargetBehind, ThinkTimes};
        let grown = |opened| PoolGrowth { first: 4, most: 8, opened, last_opened_seconds: None };
        let (none, all, some) = (None, Some(grown(8)), Some(grown(7)));
        for (verdict, option, pool, expected) in [
            (GeneratorBehind, "shard", none, "lower --rate, or share the load between machines"),
            (GeneratorBehind, "load", none, "lower --rate, or share the load between machines"),
            (BothBehind, "shape", none, "lower the rate, or share the load between machines"),
            (TargetBehind, "rate", all, "raise the upper end of --connections if"),
            (
                TargetBehind,
                "shape",
                some,
                "lower the rate, or raise the lower end of --connections if",
            ),
            (TargetBehind, "skip-later-than", none, "lower --rate, or raise --connections if"),
            (TargetBehind, "skip-later-than", some, "raise --skip-later-than: "),
            (ThinkTimes, "rate", all, "raise the upper end of --connections"),
            (TargetBehind, "per-connection", none, "raise --per-connection above the time"),
        ] {
            let text = advised(verdict, |summary| {
                summary.title.given.insert(option.to_owned());
                summary.pool = pool;
            });
            let text = text.unwrap();
            assert!(text.contains(expected) && text.len() <= 90, "{verdict:?} {option}: {text}");
        }
    }

    #[test]
    fn the_advice_for_several_loads_is_that_for_the_load_of_the_verdict() {
        let load = |name: &str, verdict| LoadResults {
            name: name.to_owned(),
            start: Duration::ZERO,
            recorded_from: Duration::ZERO,
            summary: Arc::new(Summary { verdict, ..empty() }),
        };
        let of = |verdict| {
            advised(verdict, |summary| {
                summary.loads = vec![load("reads", Verdict::OnSchedule), load("writes", verdict)];
            })
        };
        let text = of(Verdict::GeneratorBehind).unwrap();
        assert!(text.starts_with("writes: lower --rate"), "{text}");
        assert_eq!(of(Verdict::TargetFailing), None);
    }

    #[test]
    fn advice_names_a_stall_of_the_target_that_explains_the_lateness() {
        let found = "find out why the target sent no response for at least 2.00s from about 2.00s";
        let lower = "lower --rate, or raise --connections if the target can serve more";
        for (service_ms, target, expected) in
            [(1, 40.0, found), (1, 90.0, lower), (150, 40.0, found), (250, 40.0, lower)]
        {
            let text = advised(Verdict::TargetBehind, |summary| {
                for (answered, second) in [9, 9, 0, 0, 9].into_iter().zip(0..) {
                    let [from, to] = [second, second + 1].map(Duration::from_secs);
                    let mut brief = Brief::new();
                    brief.wait.record_n(1_000, 10).unwrap();
                    brief.answered = answered;
                    let (backlog, due) = (Backlog::default(), Due::new());
                    summary.over_time.add(Interval { from, to, asked: 10.0, backlog, brief, due });
                }
                summary.stats.service.record_n(service_ms * 1_000_000, 30).unwrap();
                summary.stats.lateness.target = target;
            });
            assert_eq!(text.unwrap(), expected, "{service_ms} {target}");
        }
    }

    #[test]
    fn advice_follows_from_the_cause_where_it_is_known() {
        let of = |verdict, check| advised(verdict, caution(check)).unwrap_or_default();
        assert!(of(Verdict::GeneratorBehind, "quota").contains("quota"));
        assert!(of(Verdict::BothBehind, "others").contains("other work"));
        assert!(of(Verdict::OnSchedule, "steady").contains("--warmup"));
        assert_eq!(of(Verdict::OnSchedule, "reading"), "");
        assert_eq!(of(Verdict::OnSchedule, "own"), "");
        for (resting, advice) in [(0.3, "share the load"), (0.4, "raise --connections")] {
            let late = |summary: &mut Summary| {
                let (target, generator) = (0.3, 0.7 - resting);
                summary.stats.lateness =
                    Lateness { target, generator, resting, ..Lateness::default() };
            };
            let text = advised(Verdict::BothBehind, late).unwrap();
            assert!(text.contains(advice), "{resting}: {text}");
        }
        let with_others = |summary: &mut Summary| {
            caution("own")(summary);
            caution("others")(summary);
        };
        let text = advised(Verdict::OnSchedule, with_others);
        assert_eq!(text.unwrap(), "run the generator on a machine without other work");
        let small = |summary: &mut Summary| {
            summary.duration = Duration::from_secs(10);
            let had = Duration::from_millis(120);
            summary.processor = Some(CpuTime { had, wanted: had });
        };
        let text = advised(Verdict::GeneratorBehind, small).unwrap();
        assert!(text.ends_with("its threads used only 1.2 % of a core"), "{text}");
        let files = |summary: &mut Summary| {
            let kind: FailureKind = Shortage::OpenFiles.kind();
            summary.stats.failures.insert(kind, 1);
        };
        let text = advised(Verdict::GeneratorFailing, files).unwrap();
        assert!(text.contains("ulimit -n"), "{text}");
        let busy = |summary: &mut Summary| {
            summary.target_hz = 50.0;
            summary.stats.service.record_n(2_000_000_000, 10).unwrap();
        };
        let text = advised(Verdict::ThinkTimes, busy).unwrap();
        assert!(text.contains("about 100 conn") || text.contains("about 101 conn"), "{text}");
        let rested = |summary: &mut Summary| {
            busy(summary);
            summary.stats.think_times.end(Duration::ZERO);
        };
        let behind = advised(Verdict::TargetBehind, rested).unwrap();
        let connections = text.strip_prefix("raise").unwrap();
        assert_eq!(behind, format!("lower --rate, or raise{connections}"));
    }
}
