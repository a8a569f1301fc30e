//! Counts phrases that make sentences hard to read in pages, messages and comments.
//!
//! `english.txt` lists the phrases, each with its allowed number of occurrences. A phrase after `^` counts only at the
//! start of a sentence that is not a question.

use crate::sources;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

const TABLE: &str = "crates/internal/xtask/english.txt";

const READ: [&str; 11] =
    ["md", "rs", "toml", "py", "pyi", "h", "hpp", "go", "java", "yml", "justfile"];

struct Rule<'a> {
    phrase: &'a str,
    most: usize,
}

pub(crate) fn check(root: &Path) -> Result<(), String> {
    let table =
        fs::read_to_string(root.join(TABLE)).map_err(|error| format!("{TABLE}: {error}"))?;
    let texts = texts(root);
    let faults: Vec<_> = rules(&table).filter_map(|rule| fault(&rule, &texts)).collect();
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

fn rules(table: &str) -> impl Iterator<Item = Rule<'_>> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| {
        let (most, phrase) = line.split_once(' ')?;
        let phrase = phrase.split_once("  #").map_or(phrase, |(phrase, _)| phrase).trim();
        Some(Rule { phrase, most: most.parse().ok()? })
    })
}

/// Returns all paragraphs, each with the file's name and the number of its first line.
fn texts(root: &Path) -> Vec<(String, String)> {
    let mut texts = Vec::new();
    for path in sources::all_files(root).iter().filter(|path| is_read(path)) {
        let name = path.strip_prefix(root).unwrap_or(path).display();
        let text = fs::read_to_string(path).unwrap_or_default();
        let is_page = path.extension() == Some(OsStr::new("md"));
        let found = paragraphs(&text, is_page).into_iter();
        texts.extend(found.map(|(line, text)| (format!("{name}:{line}"), text)));
    }
    texts
}

fn is_read(path: &Path) -> bool {
    let ending = path.extension().or(path.file_name()).and_then(OsStr::to_str);
    ending.is_some_and(|ending| READ.contains(&ending)) && !path.ends_with("docs/SURFACE.md")
}

/// Returns the paragraphs of a page without its code blocks, or the comments and lines of code of another file.
fn paragraphs(text: &str, is_page: bool) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let (mut is_code, mut is_open) = (false, false);
    for (number, line) in (1..).zip(text.lines()) {
        let comment = if is_page { Some(line.trim()) } else { comment(line) };
        let prose = comment.unwrap_or(line.trim());
        let is_fence = prose.starts_with("```");
        is_code ^= is_fence;
        let goes_on = is_open && comment.is_some() && !begins_anew(prose);
        is_open = comment.is_some() && !prose.is_empty() && !is_code && !is_fence;
        match found.last_mut() {
            Some((_, last)) if is_open && goes_on => *last = format!("{last} {prose}"),
            _ if is_open || comment.is_none() => found.push((number, prose.to_owned())),
            _ => {}
        }
    }
    found
}

fn comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let markers = ["//!", "///", "//", "# "];
    let text = markers.iter().find_map(|marker| line.strip_prefix(marker))?;
    Some(text.trim())
}

fn begins_anew(prose: &str) -> bool {
    prose.starts_with(['*', '-', '|', '#', '>']) || prose.starts_with(|c: char| c.is_ascii_digit())
}

fn fault(rule: &Rule<'_>, texts: &[(String, String)]) -> Option<String> {
    let places = texts.iter().flat_map(|(place, text)| {
        std::iter::repeat_n(place.as_str(), occurrences(rule.phrase, text))
    });
    let places: Vec<_> = places.collect();
    (places.len() > rule.most).then(|| {
        let (phrase, count, most) = (rule.phrase, places.len(), rule.most);
        let lines: Vec<_> = places.iter().map(|place| format!("{place}: {phrase}")).collect();
        format!("{}\n\"{phrase}\": {count} times, but at most {most} are allowed", lines.join("\n"))
    })
}

fn occurrences(phrase: &str, text: &str) -> usize {
    match phrase.strip_prefix('^') {
        Some(start) => sentences(text).filter(|text| begins_with(text, start)).count(),
        None => count_of(&phrase.to_lowercase(), &text.to_lowercase()),
    }
}

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let ends = [". ", "? ", "! ", ": ", "| "];
    let mut rest = text;
    std::iter::from_fn(move || {
        let end =
            ends.iter().filter_map(|end| rest.find(end)).min().map_or(rest.len(), |at| at + 1);
        let (sentence, after) = rest.split_at(end);
        rest = after;
        (!sentence.is_empty()).then(|| sentence.trim_start_matches([' ', '*', '-', '|', '#', '>']))
    })
}

fn begins_with(sentence: &str, word: &str) -> bool {
    sentence.strip_prefix(word).is_some_and(|rest| rest.starts_with(' '))
        && !sentence.ends_with('?')
}

fn count_of(phrase: &str, text: &str) -> usize {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let is_whole = |&(at, found): &(usize, &str)| {
        !text[..at].ends_with(is_part) && !text[at + found.len()..].starts_with(is_part)
    };
    text.match_indices(phrase).filter(is_whole).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phrase_counts_as_whole_words_and_across_lines() {
        let text =
            paragraphs("//! Plenty of\n//! it, and plenty of it.\nlet plenty_of = 1;\n", false);
        let count = |phrase| text.iter().map(|(_, text)| occurrences(phrase, text)).sum::<usize>();
        assert_eq!((count("plenty of"), count("lent"), count("plenty_of")), (2, 0, 1));
    }

    #[test]
    fn questions_and_code_do_not_count() {
        let page =
            "Then it ends.\nThen what? Then\nall.\n\n* Then a list.\n\n```\nThen code.\n```\n";
        let found = paragraphs(page, true);
        let count: usize = found.iter().map(|(_, text)| occurrences("^Then", text)).sum();
        assert_eq!(count, 3);
    }

    #[test]
    fn a_table_has_counts_phrases_and_reasons() {
        let rules: Vec<_> = rules("# Head\n0 one\n2 two words  # a reason\n").collect();
        let read: Vec<_> = rules.iter().map(|rule| (rule.most, rule.phrase)).collect();
        assert_eq!(read, [(0, "one"), (2, "two words")]);
    }
}
