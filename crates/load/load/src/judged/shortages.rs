//! Creates warnings, with advice, for requests that failed because of limits of the generator's machine.

use crate::console::human;
use crate::load::shortage::Shortage;
use crate::results::stats::OperationStats;

pub(crate) fn warnings(stats: &OperationStats) -> Vec<String> {
    let mut counts: Vec<(Shortage, u64)> = Vec::new();
    for (kind, count) in &stats.failures {
        let Some(shortage) = Shortage::of_kind(*kind) else { continue };
        match counts.iter_mut().find(|(of, _)| *of == shortage) {
            Some((_, all)) => *all += count,
            None => counts.push((shortage, *count)),
        }
    }
    let text = |(shortage, count): (Shortage, u64)| {
        let advice = shortage.advice();
        format!(
            "{} failed because of a limit of the generator's machine, {shortage}: {advice}",
            human::count(count, "request"),
        )
    };
    counts.into_iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::kind::FailureKind;
    use crate::load::shortage::GENERATOR;

    #[test]
    fn each_limit_is_reported_once_with_its_advice() {
        let mut stats = OperationStats::new();
        assert_eq!(warnings(&stats), [""; 0]);
        let step = format!("log in: {}", Shortage::OpenFiles);
        let step = FailureKind::of_group(GENERATOR, &step);
        let (files, ports) = (Shortage::OpenFiles.kind(), Shortage::Ports.kind());
        stats.failures =
            [(step, 3), (files, 4), (ports, 5), (FailureKind::new("timeout"), 6)].into();
        let mut told = warnings(&stats);
        told.sort();
        let files = "7 requests failed because of a limit of the generator's machine, too many open files (EMFILE): raise the \
                     limit of open files (ulimit -n), or use fewer connections";
        assert_eq!((told.len(), told[1].as_str()), (2, files));
        assert!(told[0].starts_with(
            "5 requests failed because of a limit of the generator's machine, cannot assign"
        ));
    }
}
