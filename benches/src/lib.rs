//! What the benchmarks share: pacers that are behind, rounds that alternate, crews of pinned
//! threads, and a way to say what was found.
//!
//! Figures from one machine at different times can't be compared; ratios taken in alternating
//! rounds can. So everything here measures ours and a bare baseline in turn, in the same loop, and
//! judges the ratio.

pub mod chart;
pub mod clocks;
pub mod costs;
pub mod crew;
#[cfg(doctest)]
mod docs;
pub mod figure;
pub mod habits;
pub mod library;
pub mod machine;
pub mod os;
pub mod pacers;
pub mod record;
pub mod rounds;
pub mod scaling;
pub mod shapes;
pub mod starts;
pub mod sweep;

/// A count as a number to calculate with; exact up to 2^53.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "a figure, not a position")]
pub fn float(count: u64) -> f64 {
    count as f64
}
