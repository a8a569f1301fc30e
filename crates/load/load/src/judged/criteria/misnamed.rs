//! Suggests corrections for words that do not name a figure.

use super::figure::{Single, Statistic};
use super::times::Times;
use super::words::{CriterionError, Word};

const ANY: &str = "write a figure such as p99 response, mean wait, max service, count setup, errors, ratio, gaps, \
                   achieved, due, started, completed, failed, skipped, retried, unfinished, unstarted, \
                   lateness target, lateness generator, confidence p99 or, with --items, p99 first-item, or \
                   with --kernel-timestamps p99 reading";
const A_TIME: &str = "write wait, service, response, setup or, with --items, first-byte, first-item, \
                      first-item-response or item-gap, or with --kernel-timestamps sending or reading";
const A_STATISTIC: &str =
    "write mean, min, max, count or a percentile from p0 to p100, such as p99.9";
const A_CAUSE: &str = "write lateness target or lateness generator";
const A_PERCENTILE: &str = "write a percentile between p0 and p100 of response, service or wait times, as in \
                            confidence p99 or confidence p99.9 service";
const TWO_WORDS: &str = "write for example p99 response";

enum WordKind {
    Statistic,
    Times,
    Lateness,
    Confidence,
    Single(String),
    Unknown,
}

impl WordKind {
    fn of(word: &Word) -> WordKind {
        let name = word.text.to_ascii_lowercase();
        if Statistic::named(&name).is_some() {
            WordKind::Statistic
        } else if Times::named(&name).is_some() {
            WordKind::Times
        } else if name == "lateness" {
            WordKind::Lateness
        } else if name == "confidence" {
            WordKind::Confidence
        } else if Single::named(&name).is_some() {
            WordKind::Single(name)
        } else {
            WordKind::Unknown
        }
    }
}

pub(crate) fn misnamed(words: &[Word]) -> CriterionError {
    match words {
        [word] => alone(word),
        [first, second, rest @ ..] => match (WordKind::of(first), rest) {
            (WordKind::Single(name), _) => superfluous(second, &format!("write only {name}")),
            (WordKind::Confidence, _) => unknown(second, A_PERCENTILE),
            (_, [third, ..]) => superfluous(third, TWO_WORDS),
            (WordKind::Statistic, []) => unknown(second, A_TIME),
            (WordKind::Times, []) => unknown(second, A_STATISTIC),
            (WordKind::Lateness, []) => unknown(second, A_CAUSE),
            (WordKind::Unknown, []) => before(first, second),
        },
        [] => unreachable!("`Parts::split` rejects a criterion without words"),
    }
}

fn alone(word: &Word) -> CriterionError {
    let incomplete =
        |advice| CriterionError::at(word, format!("{:?} needs a second word; {advice}", word.text));
    match WordKind::of(word) {
        WordKind::Statistic | WordKind::Times => incomplete(TWO_WORDS),
        WordKind::Lateness => incomplete(A_CAUSE),
        WordKind::Confidence => incomplete(A_PERCENTILE),
        WordKind::Single(_) | WordKind::Unknown => unknown(word, ANY),
    }
}

fn before(word: &Word, second: &Word) -> CriterionError {
    match WordKind::of(second) {
        WordKind::Statistic => unknown(word, A_TIME),
        WordKind::Times => unknown(word, A_STATISTIC),
        WordKind::Lateness => unknown(word, A_CAUSE),
        WordKind::Single(name) => unknown(word, &format!("write only {name}")),
        WordKind::Confidence | WordKind::Unknown => unknown(word, ANY),
    }
}

fn unknown(word: &Word, advice: &str) -> CriterionError {
    CriterionError::at(word, format!("{:?} is not a figure; {advice}", word.text))
}

fn superfluous(word: &Word, advice: &str) -> CriterionError {
    CriterionError::at(word, format!("{:?} is a word too many; {advice}", word.text))
}
