//! The ways to start on time: ours, and the bare absolute sleep.

use crate::cell::{Shift, Start};
use nanopace::{Pacer, Pause, Rate};
use nanopace_benches::float;
use nanopace_benches::{crew as machine_crew, os};
use std::fmt;
use std::str::FromStr;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Way {
    /// An absolute sleep with 1 ns of timer slack to each start; each thread has every so-manieth.
    Bare,
    /// A lane of a pacer in each thread.
    Paced(Pause),
    #[cfg(feature = "rivals")]
    Rival(crate::rivals::Rival),
}

impl Way {
    pub(crate) fn all() -> Vec<Way> {
        let ours = [Pause::Sleep, Pause::Hybrid, Pause::Yield, Pause::Spin].map(Way::Paced);
        let mut all = vec![Way::Bare];
        all.extend(ours);
        #[cfg(feature = "rivals")]
        all.extend(crate::rivals::ALL.map(Way::Rival));
        all
    }

    /// The rivals are asked in one thread only.
    pub(crate) fn works_with(self, threads: usize) -> bool {
        threads == 1 || self.is_ours() || self == Way::Bare
    }

    /// Whether every start is promised to come.
    pub(crate) fn is_ours(self) -> bool {
        matches!(self, Way::Paced(_))
    }

    /// Starts by one thread for each count; others than ours may give up after `patience`.
    pub(crate) fn run(self, rate: Rate, each: &[usize], patience: Duration) -> Vec<Shift> {
        match self {
            Way::Bare => bare(rate, each, patience),
            Way::Paced(pause) => paced(rate, pause, each),
            #[cfg(feature = "rivals")]
            Way::Rival(rival) => {
                crew(each, || (), |(), _, starts| rival.run(rate, starts, patience))
            }
        }
    }
}

/// So many threads, released together; `begin` is called once, right before. The work says how many
/// starts it made.
fn crew<C: Copy + Send + Sync>(
    each: &[usize],
    begin: impl FnOnce() -> C,
    work: impl Fn(C, usize, &mut [Start]) -> usize + Sync,
) -> Vec<Shift> {
    let (ready, set_off) = (Barrier::new(each.len() + 1), Barrier::new(each.len() + 1));
    let origin = std::sync::OnceLock::new();
    let shift = |index: usize, count: usize| {
        // Touched before: no page comes late.
        let mut starts = vec![Start { intended_ns: 1, actual_ns: 1 }; count];
        ready.wait();
        set_off.wait();
        let context = *origin.get().expect("set between the barriers");
        let (wall, cpu) = (Instant::now(), os::thread_time());
        let made = work(context, index, &mut starts);
        starts.truncate(made);
        Shift { starts, cpu: os::thread_time().saturating_sub(cpu), wall: wall.elapsed() }
    };
    let shift = &shift;
    thread::scope(|scope| {
        let threads: Vec<_> = each
            .iter()
            .enumerate()
            .map(|(index, &count)| scope.spawn(move || shift(index, count)))
            .collect();
        ready.wait();
        origin.get_or_init(begin);
        set_off.wait();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("a thread that does not panic"))
            .collect()
    })
}

fn paced(rate: Rate, pause: Pause, each: &[usize]) -> Vec<Shift> {
    let pacer = Pacer::builder(rate).pause(pause).start_paused().build();
    // What never sleeps is meant for cores of its own.
    let has_a_core =
        matches!(pause, Pause::Yield | Pause::Spin) && each.len() <= machine_crew::cores();
    let shifts = crew(
        each,
        || pacer.resume(),
        |(), index, starts| {
            if has_a_core {
                machine_crew::pin(index);
            }
            let mut lane = pacer.lane();
            for start in &mut *starts {
                let grant = lane.acquire().expect("an open pacer");
                *start = Start {
                    intended_ns: grant.intended_start().as_nanos(),
                    actual_ns: pacer.now().as_nanos(),
                };
            }
            starts.len()
        },
    );
    let count: usize = each.iter().sum();
    assert_eq!(pacer.ledger().granted, count as u64, "a slot was lost");
    shifts
}

fn bare(rate: Rate, each: &[usize], patience: Duration) -> Vec<Shift> {
    let threads = each.len();
    crew(each, os::now, |origin, index, starts| {
        os::least_slack();
        for (round, start) in starts.iter_mut().enumerate() {
            let slot = float((round * threads + index) as u64);
            let intended = origin + Duration::from_secs_f64(slot * rate.interval_ns() * 1e-9);
            os::sleep_until(intended);
            let now = os::now();
            *start = Start { intended_ns: nanos(intended), actual_ns: nanos(now) };
            if now > origin + patience {
                return round + 1;
            }
        }
        starts.len()
    })
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).expect("a clock of this century")
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Way::Bare => f.pad("bare"),
            Way::Paced(pause) => pause.fmt(f),
            #[cfg(feature = "rivals")]
            Way::Rival(rival) => f.pad(rival.name()),
        }
    }
}

impl FromStr for Way {
    type Err = String;

    fn from_str(text: &str) -> Result<Way, String> {
        Way::all()
            .into_iter()
            .find(|way| way.to_string() == text)
            .ok_or_else(|| "no such way".to_owned())
    }
}
