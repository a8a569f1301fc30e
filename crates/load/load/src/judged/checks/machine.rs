//! Reports what slowed the generator's machine down during a run: a CPU quota, the hypervisor, other programs, or a
//! change of the CPU frequency.

use super::Finding;
use crate::console::human;
use crate::console::human::{count, float, percent};
use crate::judged::criteria::Percentile;
use crate::results::machine_cpu::Meanwhile;
use crate::results::quota::Quota;

/// A share of stolen CPU time of at least this value is always reported. A smaller share is reported only if it is at
/// least the share of response times above the reported percentile, because stolen time may then explain all these
/// times.
const MUCH_STOLEN: f64 = 0.05;

/// Other programs are reported only if they used at least the share `MUCH` of the CPU time, and less than `ENOUGH_IDLE`
/// of it was idle.
const MUCH: f64 = 0.1;
const ENOUGH_IDLE: f64 = 0.5;

/// The smallest ratio of the slower to the faster CPU clock rate that counts as normal.
const SLOWER: f64 = 0.75;

pub(crate) fn machine(meanwhile: Meanwhile, reported: Percentile) -> impl Iterator<Item = Finding> {
    let Meanwhile { stolen, others, idle, khz } = meanwhile;
    let is_much = stolen > 0.0 && stolen >= reported.beyond().min(MUCH_STOLEN);
    let stolen = is_much.then(|| {
        let share = percent(stolen);
        format!("the hypervisor took {share} of this machine's CPU time, which may explain times above {reported}")
    });
    let are_many = others >= MUCH && idle < ENOUGH_IDLE;
    let others = are_many.then(|| {
        let [others, idle] = [others, idle].map(percent);
        format!("other programs used {others} of this machine's CPU time; {idle} was idle")
    });
    let frequency = khz.and_then(frequency);
    let told = [("stolen", stolen), ("others", others), ("frequency", frequency)];
    told.into_iter()
        .filter_map(|(check, text)| Some(Finding { check, is_well: false, text: text? }))
}

pub(crate) fn quota(quota: Quota) -> Finding {
    let Quota { periods, throttled, time } = quota;
    let time = human::time(time);
    let text = format!(
        "a CPU quota stopped the generator for {time}, in {throttled} of {}",
        count(periods, "period")
    );
    Finding { check: "quota", is_well: false, text }
}

fn frequency(khz: [u64; 2]) -> Option<String> {
    let [first, last] = khz.map(|khz| khz / 1_000);
    let [slow, fast] = [first.min(last), first.max(last)].map(float);
    (slow < SLOWER * fast)
        .then(|| format!("the CPU frequency changed from {first} MHz to {last} MHz (fastest core)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(percent: f64, meanwhile: Meanwhile) -> Vec<(&'static str, String)> {
        let found = machine(meanwhile, Percentile(percent));
        found
            .inspect(|found| assert!(!found.is_well))
            .map(|found| (found.check, found.text))
            .collect()
    }

    const QUIET: Meanwhile = Meanwhile { stolen: 0.0, others: 0.0, idle: 0.9, khz: None };

    #[test]
    fn small_values_are_not_reported() {
        assert_eq!(told(100.0, QUIET), []);
        for meanwhile in [
            Meanwhile { stolen: 0.009, ..QUIET },
            Meanwhile { others: 0.09, idle: 0.0, ..QUIET },
            Meanwhile { others: 0.5, idle: 0.5, ..QUIET },
            Meanwhile { khz: Some([2_000_000, 1_500_000]), ..QUIET },
            Meanwhile { khz: Some([0, 0]), ..QUIET },
        ] {
            assert_eq!(told(99.0, meanwhile), [], "{meanwhile:?}");
        }
    }

    #[test]
    fn stolen_time_is_much_if_all_beyond_the_percentile_may_be_due_to_it() {
        for (percent, stolen, is_told) in [
            (99.0, 0.011, true),
            (99.9, 0.001_1, true),
            (99.9, 0.000_9, false),
            (50.0, 0.05, true),
            (50.0, 0.04, false),
            (100.0, 0.000_1, true),
        ] {
            let told = told(percent, Meanwhile { stolen, ..QUIET });
            assert_eq!(!told.is_empty(), is_told, "{percent} {stolen}");
        }
        let text = "the hypervisor took 1.1 % of this machine's CPU time, which may explain times above p99";
        let found = told(99.0, Meanwhile { stolen: 0.011, ..QUIET });
        assert_eq!(found, [("stolen", text.to_owned())]);
    }

    #[test]
    fn a_quota_that_was_reached_is_reported_with_its_size() {
        let reached =
            Quota { periods: 80, throttled: 41, time: std::time::Duration::from_millis(3_200) };
        let Finding { check, is_well, text } = quota(reached);
        let told = "a CPU quota stopped the generator for 3.20s, in 41 of 80 periods";
        assert_eq!((check, is_well, text.as_str()), ("quota", false, told));
    }

    #[test]
    fn other_programs_and_other_speeds_are_reported_with_their_size() {
        let busy =
            Meanwhile { others: 0.43, idle: 0.12, khz: Some([3_400_000, 2_000_000]), ..QUIET };
        let found = told(99.0, busy);
        let others = "other programs used 43.0 % of this machine's CPU time; 12.0 % was idle";
        let speed = "the CPU frequency changed from 3400 MHz to 2000 MHz (fastest core)";
        assert_eq!(found, [("others", others.to_owned()), ("frequency", speed.to_owned())]);
        let faster = Meanwhile { khz: Some([1_200_000, 3_400_000]), ..QUIET };
        assert_eq!(told(99.0, faster).len(), 1);
    }
}
