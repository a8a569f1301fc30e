//! Provides the shared code of the benchmarks: late pacers, alternating rounds, crews of pinned threads, and figures.
//!
//! A machine's figures from different times cannot be compared, but ratios from alternating rounds can. If there is a
//! baseline, a benchmark therefore alternates it with the candidate in one loop, and judges their ratio.

#[cfg(feature = "loads")]
pub mod chart;
pub mod clocks;
pub mod costs;
pub mod crew;
#[cfg(doctest)]
mod docs;
pub mod figure;
#[cfg(feature = "loads")]
pub mod habits;
#[cfg(feature = "loads")]
pub mod library;
pub mod machine;
pub mod os;
pub mod pacers;
#[cfg(test)]
mod quotes;
pub mod record;
pub mod rounds;
pub mod scaling;
pub mod shapes;
pub mod starts;
pub mod sweep;

/// Converts a count to a float, exactly up to 2^53.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "a figure, not a position")]
pub fn float(count: u64) -> f64 {
    count as f64
}
