//! Binary search over moments or slots, starting from a guess.

/// The first number from 1 to `last` that is `reached`, searched for around `guess`. If no number below `last` is
/// reached, the result is `last`. Steps away from the guess double, then the rest is halved: fewer than 130 numbers are
/// tried, whatever `reached` returns.
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
