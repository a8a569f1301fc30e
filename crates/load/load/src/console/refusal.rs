//! Formats errors of clap as one line. For an error in a shape, two more lines show its position.

use super::hints;
use clap::Error;
use clap::error::{ContextKind, ContextValue};
use nanopace::ShapeSyntaxError;
use std::error::Error as _;

const SHOWN: usize = 76;
const BEFORE: usize = 50;

pub(crate) fn text(error: &Error) -> String {
    let syntax = error.source().and_then(|source| source.downcast_ref::<ShapeSyntaxError>());
    match (syntax, error.get(ContextKind::InvalidValue)) {
        (Some(syntax), Some(ContextValue::String(shape))) => {
            format!("--shape: {syntax}\n{}", pointed_out(shape, syntax.column()))
        }
        _ => hints::about(error).unwrap_or_else(|| one_line(error)),
    }
}

fn pointed_out(text: &str, column: usize) -> String {
    let index = column.saturating_sub(1);
    let skipped = if index < SHOWN { 0 } else { index - BEFORE };
    let shown = text.chars().skip(skipped).take(SHOWN);
    let shown: String = shown.map(|char| if char.is_control() { ' ' } else { char }).collect();
    format!("  {shown}\n  {:>1$}", '^', index - skipped + 1)
}

/// Formats the error without the usage and without the reference to `--help`.
pub(crate) fn one_line(error: &Error) -> String {
    let text = error.to_string();
    let lines = text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:"));
    let told: Vec<_> = lines
        .filter(|line| !line.is_empty() && !line.starts_with("For more information"))
        .collect();
    told.join("; ").replace(":; ", ": ").trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_is_below_its_character() {
        for (text, column, lines) in [
            ("ramp", 1, "  ramp\n  ^"),
            ("ramp", 5, "  ramp\n      ^"),
            ("é\tx\ny", 3, "  é x y\n    ^"),
        ] {
            assert_eq!(pointed_out(text, column), lines);
        }
    }

    #[test]
    fn of_a_long_text_the_part_around_the_column_is_shown() {
        let text: String = ('a'..='z').cycle().take(10_000).collect();
        for column in [1, 76, 77, 5_000, 10_000, 10_001] {
            let told = pointed_out(&text, column);
            let (shown, caret) = told.split_once('\n').unwrap();
            assert!(shown.len() <= 78 && caret.len() <= 78, "{told}");
            assert_eq!(
                shown.chars().nth(caret.len() - 1),
                text.chars().nth(column - 1),
                "{column}: {told}"
            );
        }
    }
}
