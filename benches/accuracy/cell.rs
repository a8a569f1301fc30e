//! One cell of the table: so many threads start at a rate in one way.

use crate::ways::Way;
use nanopace::Rate;
use nanopace_benches::{crew, float};
use std::hint;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

pub(crate) struct Cell {
    /// The rate as it was written.
    pub(crate) text: String,
    pub(crate) rate: Rate,
    pub(crate) threads: usize,
    pub(crate) way: Way,
    pub(crate) load: bool,
}

/// One start, in nanoseconds of whatever clock is right for the way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Start {
    pub(crate) intended_ns: u64,
    pub(crate) actual_ns: u64,
}

/// What one thread saw.
pub(crate) struct Shift {
    pub(crate) starts: Vec<Start>,
    /// Of a processor.
    pub(crate) cpu: Duration,
    /// From the signal to set off to the last start.
    pub(crate) wall: Duration,
}

/// What a cell came to.
pub(crate) struct Seen {
    /// Achieved by target rate, minus 1.
    pub(crate) off: f64,
    /// Sorted, in nanoseconds.
    pub(crate) late_ns: Vec<u64>,
    /// The part of gaps within 25 % of the interval.
    pub(crate) even: f64,
    /// Of one core, all threads together.
    pub(crate) cpu: f64,
}

/// Slow rates take longer than the span, and fast ones no more than memory allows.
const COUNTS: (u64, u64) = (4, 5_000_000);

/// Who has not started everything after so many times the time it takes, is asked no further; ours
/// is waited for.
const PATIENCE: u32 = 3;

impl Cell {
    /// # Panics
    /// When a start is lost.
    pub(crate) fn measure(&self, span: Duration) -> Seen {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        let wanted = (self.rate.as_hz() * span.as_secs_f64()) as u64;
        let count = usize::try_from(wanted.clamp(COUNTS.0, COUNTS.1))
            .expect("a count that fits into memory");
        let each: Vec<usize> = (0..self.threads)
            .map(|index| (count + index) / self.threads)
            .filter(|&count| count > 0)
            .collect();
        let due = Duration::from_secs_f64(float(count as u64) / self.rate.as_hz());
        let shifts = under_load(self.load, || self.way.run(self.rate, &each, due * PATIENCE));
        let seen = Seen::new(&shifts, self.rate.interval_ns());
        assert!(seen.late_ns.len() == count || !self.way.is_ours(), "a start was lost");
        seen
    }
}

/// Does the work while every core is wanted by somebody else, or not.
fn under_load<T>(load: bool, work: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(!load);
    thread::scope(|scope| {
        for _ in 0..if load { crew::cores() } else { 0 } {
            scope.spawn(|| {
                while !over.load(Relaxed) {
                    hint::spin_loop();
                }
            });
        }
        let done = work();
        over.store(true, Relaxed);
        done
    })
}

impl Seen {
    fn new(shifts: &[Shift], interval_ns: f64) -> Seen {
        let starts = || shifts.iter().flat_map(|shift| &shift.starts);
        let mut actual_ns: Vec<u64> = starts().map(|start| start.actual_ns).collect();
        let mut late_ns: Vec<u64> =
            starts().map(|start| start.actual_ns.saturating_sub(start.intended_ns)).collect();
        actual_ns.sort_unstable();
        late_ns.sort_unstable();
        let gaps = float(actual_ns.len() as u64 - 1);
        let even =
            |pair: &&[u64]| (0.75..=1.25).contains(&(float(pair[1] - pair[0]) / interval_ns));
        let cpu: Duration = shifts.iter().map(|shift| shift.cpu).sum();
        let wall = shifts.iter().map(|shift| shift.wall).max().unwrap_or_default();
        // From the schedule's beginning: a first start that is late must not make the rest look
        // fast.
        let begin_ns = starts().map(|start| start.intended_ns).min().unwrap_or_default();
        let elapsed_ns = float(actual_ns[actual_ns.len() - 1] - begin_ns);
        Seen {
            off: gaps * interval_ns / elapsed_ns - 1.0,
            even: float(actual_ns.windows(2).filter(even).count() as u64) / gaps,
            cpu: cpu.as_secs_f64() / wall.as_secs_f64(),
            late_ns,
        }
    }

    /// The lateness that this part of the starts does not exceed.
    pub(crate) fn late(&self, part: f64) -> u64 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index")]
        let index = (part * float(self.late_ns.len() as u64 - 1)).round() as usize;
        self.late_ns[index]
    }
}
