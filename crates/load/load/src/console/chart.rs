//! Measures and scales text charts: their width, partly filled characters, and round ends of axes.

use crossterm::terminal;

const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const USUAL_WIDTH: usize = 80;

#[must_use]
pub(crate) fn width(is_terminal: bool) -> usize {
    match terminal::size() {
        Ok((columns @ 20.., _)) if is_terminal => usize::from(columns),
        _ => USUAL_WIDTH,
    }
}

/// Returns the block character for a partly filled cell. A share above zero always has a visible character.
#[must_use]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 8")]
pub(crate) fn eighths(part: f64) -> char {
    let eighths = (part.clamp(0.0, 1.0) * 8.0).round() as usize;
    if part > 0.0 { EIGHTHS[eighths.max(1)] } else { EIGHTHS[0] }
}

/// Returns the smallest product of a power of ten and one of `steps` that is at least `value`, which must be positive.
/// `steps` must rise from 1 to 10.
#[must_use]
pub(crate) fn round_up(value: f64, steps: &[f64]) -> f64 {
    let ten = 10_f64.powf(value.log10().floor());
    // The product of a step and a power of ten may be slightly too small because of rounding. Without the tolerance, a
    // round value would be rounded up to the next step.
    let not_below = |step: &f64| *step > value * 0.999_999;
    steps.iter().map(|step| step * ten).find(not_below).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_nothing_can_be_seen() {
        let filled: String = [-1.0, 0.0, 1e-9, 0.5, 0.7, 1.0, 7.0].map(eighths).iter().collect();
        assert_eq!(filled, "  ▁▄▆██");
    }

    #[test]
    fn values_are_rounded_up_to_the_next_round_one() {
        for (value, rounded) in
            [(1.0, 1.0), (1.1, 2.0), (0.2, 0.2), (0.3, 0.5), (70.0, 100.0), (0.1, 0.1)]
        {
            let round = round_up(value, &[1.0, 2.0, 5.0, 10.0]);
            assert!((round - rounded).abs() < 1e-9, "{value}: {round}");
        }
    }
}
