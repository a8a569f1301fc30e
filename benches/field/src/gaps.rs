//! Computes the rate of the starts and the share of even gaps from start times.

use serde::Serialize;

const TOLERANCE: f64 = 0.25;

#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Pace {
    pub rate: f64,
    pub even: f64,
}

/// `starts` are in ns. The window of `window_s` begins `skip_s` after the first start.
pub fn pace(mut starts: Vec<u64>, asked: f64, skip_s: f64, window_s: f64) -> Pace {
    starts.sort_unstable();
    let Some(&first) = starts.first() else { return Pace::default() };
    let from = first + (skip_s * 1e9) as u64;
    let to = from + (window_s * 1e9) as u64;
    starts.retain(|&at| from <= at && at < to);
    let nominal = 1e9 / asked;
    let is_even = |pair: &&[u64]| {
        let gap = (pair[1] - pair[0]) as f64;
        (gap - nominal).abs() <= TOLERANCE * nominal
    };
    let even = starts.windows(2).filter(is_even).count();
    Pace {
        rate: starts.len() as f64 / window_s,
        even: even as f64 / starts.len().saturating_sub(1).max(1) as f64,
    }
}
