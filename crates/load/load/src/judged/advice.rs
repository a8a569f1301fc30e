//! Advises which option to change for a better result.

use super::summary::Summary;
use super::verdict::Verdict;
use crate::load::shortage::Shortage;

const OWN_MACHINE: &str = "run the generator on a machine without other work, or lower --rate";

pub(crate) fn advice(summary: &Summary) -> Option<String> {
    let kinds = summary.stats.failures.keys();
    if let Some(shortage) = kinds.copied().find_map(Shortage::of_kind) {
        return Some(shortage.advice().to_owned());
    }
    let machine = ["quota", "stolen", "others"];
    let machine = machine.iter().find_map(|check| summary.has_caution(check).then(|| about(check)));
    let text = match summary.verdict {
        Verdict::NothingRecorded => "let the run go on until its --warmup is over",
        Verdict::TargetFailing => return None,
        Verdict::TargetBehind if summary.title.given.contains("per-connection") => {
            "write a longer --per-connection than the target takes for a request"
        }
        Verdict::TargetBehind => {
            "lower --rate, or raise --connections if the target can serve more at once"
        }
        Verdict::ThinkTimes if summary.stats.completed() > 0 => {
            let busy = (summary.target_hz * summary.stats.service.mean() * 1e-9).ceil();
            return Some(format!("raise --connections: this rate keeps about {busy} of them busy"));
        }
        Verdict::ThinkTimes => "raise --connections",
        Verdict::GeneratorBehind | Verdict::GeneratorFailing => {
            machine.flatten().unwrap_or("lower --rate, or share the load between machines: --fleet")
        }
        Verdict::BothBehind => machine.flatten().unwrap_or(OWN_MACHINE),
        Verdict::ClosedLoop => "write a number for --rate to see response times with queueing",
        Verdict::OnSchedule => {
            let cautions = summary.findings.iter().filter(|found| !found.is_well);
            cautions.map(|found| about(found.check)).next()??
        }
    };
    Some(text.to_owned())
}

fn about(check: &str) -> Option<&'static str> {
    match check {
        "steady" => Some("leave out the time before the change with --warmup"),
        "frequency" => Some("leave out the change with --warmup, or fix the CPU frequency"),
        "quota" => Some("raise the CPU quota of the container, or lower --rate"),
        "stolen" | "others" | "own" | "starts" => Some(OWN_MACHINE),
        "sure" => Some("let the run go on for longer with --longest"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judged::checks::Finding;
    use crate::load::kind::FailureKind;
    use crate::shown::fixture::empty;

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
    }

    #[test]
    fn advice_follows_from_the_cause_where_it_is_known() {
        let of = |verdict, check| advised(verdict, caution(check)).unwrap_or_default();
        assert!(of(Verdict::GeneratorBehind, "quota").contains("quota"));
        assert!(of(Verdict::BothBehind, "others").contains("other work"));
        assert!(of(Verdict::OnSchedule, "steady").contains("--warmup"));
        assert_eq!(of(Verdict::OnSchedule, "reading"), "");
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
        assert!(text.contains("about 100 of them") || text.contains("about 101 of them"), "{text}");
    }
}
