//! Provides a galloping search over times or slots that starts from a guess.

/// Returns the first number from 1 to `last` for which `reached` returns true, or `last` if `reached` returns false for
/// all smaller numbers. The search doubles its steps away from `guess`, and then halves the remaining range. It takes
/// fewer than 130 calls.
pub(crate) fn first(last: i64, guess: i64, reached: impl Fn(i64) -> bool) -> i64 {
    let guess = guess.clamp(1, last);
    let backwards = reached(guess);
    let (mut before, mut at) = if backwards { (0, guess) } else { (guess, last) };
    let mut step = 1_i64;
    while at - before > 1 {
        let offset = step.min((at - before) / 2);
        let probe = if backwards { at - offset } else { before + offset };
        if reached(probe) {
            at = probe;
        } else {
            before = probe;
        }
        step = step.saturating_mul(2);
    }
    at
}
