//! The slots that were due when the schedule ended, and that nobody had started.

use super::asked::AskedLoad;
use super::load::span::RunSpan;
use nanopace::{Nanos, Pacer};
use std::iter;

/// A batch is this part of what is left, so its slots are due within this part of their age. There
/// may be billions of them.
const FINENESS: f64 = 10_000.0;

/// Takes them from the pacer, in batches: how many slots there are, and the intended start of the
/// last one; of several, that of the slot behind them. The warm-up's are in no batch.
pub(crate) fn take(
    pacer: &Pacer,
    span: &RunSpan,
    asked: &AskedLoad,
    end: Nanos,
) -> Vec<(Nanos, u64)> {
    let batches = iter::from_fn(|| batch(pacer, span, asked, end)).collect::<Vec<_>>();
    let nexts = batches.iter().skip(1).map(|&(first, _)| first).chain([end]);
    let lasts = batches.iter().zip(nexts).map(|(&(first, slots), next)| match slots {
        1 => (first, 1),
        _ => (next, slots),
    });
    let counted = lasts.filter(|&(last, _)| last >= span.recorded_from);
    counted.map(|(last, slots)| (last, span.leave(slots))).filter(|&(_, slots)| slots > 0).collect()
}

/// The intended start of the next slot, if it was due before the end, and with how many behind it
/// it was taken.
fn batch(pacer: &Pacer, span: &RunSpan, asked: &AskedLoad, end: Nanos) -> Option<(Nanos, u64)> {
    let first = pacer.try_acquire().ok()?.intended_start();
    if first >= end {
        return None;
    }
    let bound = if first < span.recorded_from { span.recorded_from } else { end };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "capped at u32")]
    let wanted = (asked.count(first, bound) / FINENESS) as u32;
    let more = pacer.try_acquire_many(wanted).map_or(0, |_| wanted);
    Some((first, u64::from(more) + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::load::span::RunLength;
    use nanopace::{ManualClock, Rate};
    use std::sync::mpsc;
    use std::time::Duration;

    /// What is left after 3 s of which one was warm-up, at this rate.
    fn left(hz: u64, slots: Option<u64>) -> (Vec<(Nanos, u64)>, Nanos) {
        let clock = ManualClock::new();
        let rate = Rate::per_second(hz).unwrap();
        let pacer = Pacer::builder(rate).clock(clock.clone()).build();
        let asked = AskedLoad::constant(pacer.now(), rate);
        let second = Duration::from_secs(1);
        let length = RunLength {
            warmup: second,
            duration: second * 2,
            slots,
            is_steady: true,
            ends_with_load: false,
            longest: Duration::MAX,
        };
        let span = RunSpan::new(&pacer, pacer.now(), length, mpsc::channel().0);
        clock.advance(second * 5);
        let end = span.end_run(pacer.now()).at;
        (take(&pacer, &span, &asked, end), end)
    }

    #[test]
    fn every_slot_due_before_the_end_is_taken_once() {
        for hz in [1, 7, 1_000, 1_000_000, 10_000_000_000] {
            let (batches, end) = left(hz, None);
            assert_eq!(batches.iter().map(|(_, slots)| slots).sum::<u64>(), 2 * hz, "{hz}/s");
            assert!(batches.len() < 200_000 && batches.iter().all(|&(last, _)| last < end));
            assert!(batches.is_sorted_by_key(|&(last, _)| last));
        }
    }

    #[test]
    fn no_more_are_taken_than_the_run_may_start() {
        let (batches, _) = left(1_000, Some(300));
        assert_eq!(batches.iter().map(|(_, slots)| slots).sum::<u64>(), 300);
    }
}
