//! Splits a criterion into words, and records their positions for error messages.

use thiserror::Error;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) text: String,
    /// The column where the word begins in the criterion, counted from 1.
    pub(crate) column: usize,
}

#[derive(Debug)]
pub(crate) struct Parts {
    /// The words before the operator, except the label. There is at least one word.
    pub(crate) figure: Vec<Word>,
    pub(crate) label: Option<Word>,
    pub(crate) operator: Word,
    /// The text after the operator. If it is empty, the column is that of the operator.
    pub(crate) limit: Word,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("column {column}: {told}")]
pub(crate) struct CriterionError {
    column: usize,
    told: String,
}

const EXAMPLE: &str = "write for example p99 response < 50ms";

impl CriterionError {
    pub(crate) fn at(word: &Word, told: impl Into<String>) -> CriterionError {
        CriterionError { column: word.column, told: told.into() }
    }

    #[cfg(test)]
    pub(crate) fn column(&self) -> usize {
        self.column
    }
}

impl Parts {
    pub(crate) fn split(text: &str) -> Result<Parts, CriterionError> {
        let (label, text) = label(text);
        let text = text.as_str();
        let Some(at) = text.find(is_operator) else { return Err(no_operator(text)) };
        let length = text[at..].find(|c| !is_operator(c)).unwrap_or(text.len() - at);
        let operator = piece(text, at, at + length);
        let figure = words(&text[..at]);
        if figure.is_empty() {
            let told = format!("there is nothing before {:?}; {EXAMPLE}", operator.text);
            return Err(CriterionError::at(&operator, told));
        }
        let mut limit = piece(text, at + length, text.len());
        if limit.text.is_empty() {
            limit.column = operator.column;
        }
        Ok(Parts { figure, label, operator, limit })
    }
}

/// Separates the label from the rest of the criterion. Spaces replace the label in the rest, so that the columns of the
/// other words do not change.
fn label(text: &str) -> (Option<Word>, String) {
    let cut = || {
        let (from, to) = (text.find('"')?, text.rfind('"')?);
        let before = text[..from].trim_end().strip_suffix("of").filter(|it| it.ends_with(' '))?;
        let label = text.get(from + 1..to)?;
        let blanks = " ".repeat(text[before.len()..=to].chars().count());
        let column = text[..from].chars().count() + 1;
        let word = Word { text: label.to_owned(), column };
        Some((word, format!("{before}{blanks}{}", &text[to + 1..])))
    };
    cut().map_or_else(|| (None, text.to_owned()), |(word, rest)| (Some(word), rest))
}

fn is_operator(c: char) -> bool {
    "<>=!~≤≥≠".contains(c)
}

fn no_operator(text: &str) -> CriterionError {
    match words(text).last() {
        Some(last) => {
            let told = "there is no operator; write <, <=, >, >= or =, as in p99 response < 50ms";
            CriterionError::at(last, told)
        }
        None => CriterionError { column: 1, told: format!("it is empty; {EXAMPLE}") },
    }
}

fn words(text: &str) -> Vec<Word> {
    let begins = |at: usize| text[..at].chars().next_back().is_none_or(char::is_whitespace);
    let indices = text.char_indices();
    let starts = indices.filter(|&(at, c)| !c.is_whitespace() && begins(at));
    let end = |at: usize| text[at..].find(char::is_whitespace).map_or(text.len(), |n| at + n);
    starts.map(|(at, _)| piece(text, at, end(at))).collect()
}

fn piece(text: &str, from: usize, to: usize) -> Word {
    let inside = &text[from..to];
    let blanks = inside.len() - inside.trim_start().len();
    Word {
        text: inside.split_whitespace().collect::<Vec<_>>().join(" "),
        column: text[..from + blanks].chars().count() + 1,
    }
}

pub(crate) fn look_up<T: Copy>(names: &[(&str, T)], wanted: &str) -> Option<T> {
    names.iter().find(|(name, _)| *name == wanted).map(|&(_, meant)| meant)
}

pub(crate) fn name_of<T: Copy + PartialEq>(names: &[(&'static str, T)], wanted: T) -> &'static str {
    names.iter().find(|(_, meant)| *meant == wanted).map_or("", |&(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_from_one() {
        let parts = Parts::split("  größe  x\t<=  1s  500ms ").unwrap();
        let word = |text: &str, column| Word { text: text.to_owned(), column };
        assert_eq!(parts.figure, [word("größe", 3), word("x", 10)]);
        assert_eq!(parts.operator, word("<=", 12));
        assert_eq!(parts.limit, word("1s 500ms", 16));
    }

    #[test]
    fn no_blank_is_needed_at_the_operator() {
        let parts = Parts::split("skipped=0").unwrap();
        let pieces = [&parts.figure[0], &parts.operator, &parts.limit];
        assert_eq!(pieces.map(|word| &word.text[..]), ["skipped", "=", "0"]);
        assert_eq!(pieces.map(|word| word.column), [1, 8, 9]);
    }
}
