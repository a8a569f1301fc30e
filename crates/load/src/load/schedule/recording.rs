//! A recording: a file with one time a line, in seconds from the start, and perhaps what was sent then.
//!
//! First all of the file is checked, so that nothing starts if it is not sound; then it is read along
//! as the load goes on. So memory does not grow with its length.

use crate::console::position::{column, line_and_column, utf8};
use anyhow::{Context, anyhow, bail, ensure};
use nanopace::{Arrivals, Nanos};
use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::Duration;

/// A line that may come first, and names what follows.
pub const HEADER: &str = "intended_start_seconds";

/// The same, where each line has also what is sent, after a comma.
const WITH_TARGETS: [&str; 2] = ["intended_start_seconds,target", "offset,target"];

/// The recording in a file, which has been checked.
pub fn read(path: &Path) -> anyhow::Result<Arrivals> {
    let name = path.display();
    let metadata = fs::metadata(path).with_context(|| format!("cannot read {name}"))?;
    ensure!(metadata.is_file(), "{name}: a recording is read twice, and must be a file");
    check(&mut rows(path)?).map_err(|error| anyhow!("{name} {error:#}"))?;
    let path = path.to_owned();
    Ok(Arrivals::replay(move || times(&path)))
}

/// Gives what is sent to `take`, row by row: the n-th is that of slot n. Returns whether the recording says it.
///
/// # Errors
/// What `take` says is wrong, with the line and the column.
pub fn targets(
    path: &Path,
    mut take: impl FnMut(&str) -> Result<(), String>,
) -> anyhow::Result<bool> {
    let mut rows = rows(path)?;
    while let Some(row) = rows.next().transpose()? {
        let Some(at) = row.target else { return Ok(false) };
        let target = &row.text[at..];
        let taken = unquoted(target).and_then(|target| take(&target));
        taken.map_err(|told| {
            anyhow!("{} {}: {told}", path.display(), rows.place(&row.text, target))
        })?;
    }
    Ok(rows.has_targets)
}

/// What has changed in the file since it was checked ends the recording, at worst.
fn times(path: &Path) -> impl Iterator<Item = Duration> + Send + use<> {
    rows(path).into_iter().flatten().map_while(|row| Some(row.ok()?.offset))
}

fn check(rows: &mut Rows) -> anyhow::Result<()> {
    let mut last = None;
    while let Some(Row { offset, text, .. }) = rows.next().transpose()? {
        let wrong = match () {
            () if last > Some(offset) => "it is earlier than the one before: sort the times",
            () if offset >= Nanos::MAX - Nanos::ZERO => {
                "it is too long after the start: a load may last 292 years"
            }
            () => "",
        };
        ensure!(wrong.is_empty(), "{}: {wrong}", rows.place(&text, time(&text)));
        last = Some(offset);
    }
    let end = rows.line + 1;
    ensure!(
        last.is_some(),
        "line {end} column 1: it has no times: write one a line, in seconds such as 0.25"
    );
    Ok(())
}

fn rows(path: &Path) -> anyhow::Result<Rows> {
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Rows { file: BufReader::new(file), line: 0, has_targets: false })
}

/// A line with a time.
#[derive(Debug)]
struct Row {
    offset: Duration,
    text: String,
    /// Where in it stands what is sent.
    target: Option<usize>,
}

/// Reads times line by line.
struct Rows {
    file: BufReader<File>,
    /// The number of the line that was read last.
    line: u64,
    has_targets: bool,
}

impl Iterator for Rows {
    type Item = anyhow::Result<Row>;

    fn next(&mut self) -> Option<anyhow::Result<Row>> {
        loop {
            let row = self.line()?.and_then(|text| self.row(text));
            if let Some(row) = row.transpose() {
                return Some(row);
            }
        }
    }
}

impl Rows {
    /// The next line.
    fn line(&mut self) -> Option<anyhow::Result<String>> {
        let mut line = Vec::new();
        self.line += 1;
        match self.file.read_until(b'\n', &mut line) {
            Ok(0) => {
                self.line -= 1;
                None
            }
            Ok(_) => Some(utf8(&line).map(str::to_owned).map_err(|at| {
                let (_, column) = line_and_column(&line, at);
                anyhow!("line {} column {column}: this is no UTF-8", self.line)
            })),
            Err(error) => Some(Err(error.into())),
        }
    }

    /// Where a part of the last line is.
    fn place(&self, text: &str, part: &str) -> String {
        format!("line {} column {}", self.line, column(unmarked(text, self.line == 1), part))
    }

    /// The row in a line; none in one that is empty, or that is the header.
    fn row(&mut self, text: String) -> anyhow::Result<Option<Row>> {
        let is_first = self.line == 1;
        let line = unmarked(&text, is_first).trim();
        if is_first && WITH_TARGETS.contains(&line) {
            self.has_targets = true;
            return Ok(None);
        }
        if line.is_empty() || is_first && line == HEADER {
            return Ok(None);
        }
        if !self.has_targets {
            let offset = seconds(line).with_context(|| self.place(&text, line))?;
            return Ok(Some(Row { offset, text, target: None }));
        }
        let end = &line[line.len()..];
        let comma = text.find(',').with_context(|| {
            format!("{}: it has no comma, and no target after it", self.place(&text, end))
        })?;
        let offset = seconds(time(&text)).with_context(|| self.place(&text, time(&text)))?;
        Ok(Some(Row { offset, text, target: Some(comma + 1) }))
    }
}

/// The text after the mark that some programs put in front of a Unicode file.
fn unmarked(text: &str, is_first: bool) -> &str {
    if is_first { text.trim_start_matches('\u{feff}') } else { text }
}

/// What stands before the comma of a line, if it has one.
fn time(text: &str) -> &str {
    text.split(',').next().unwrap_or_default().trim()
}

/// A field without the quotes of CSV around it.
fn unquoted(field: &str) -> Result<Cow<'_, str>, String> {
    let field = field.trim();
    let Some(quoted) = field.strip_prefix('"') else { return Ok(field.into()) };
    let inside = quoted.strip_suffix('"').ok_or("this quote never closes")?;
    if inside.split("\"\"").any(|part| part.contains('"')) {
        return Err("write \"\" for a quote within quotes".to_owned());
    }
    Ok(inside.replace("\"\"", "\"").into())
}

/// Seconds in decimal digits, exactly.
pub(super) fn seconds(text: &str) -> anyhow::Result<Duration> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(part) || part.len() > 9 {
        bail!(
            "`{text}` is no time: write seconds with at most nine digits after the point, as 0.25"
        );
    }
    let nanos = format!("{part:0<9}").parse()?;
    Ok(Duration::new(whole.parse().context("it is too long after the start")?, nanos))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    /// What is read from a file with this text; the error without the file's path.
    fn read_text(text: &str) -> Result<Vec<Duration>, String> {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("starts.csv");
        fs::write(&path, text).unwrap();
        let shown = path.to_str().unwrap();
        read(&path)
            .map(|_| times(&path).collect())
            .map_err(|error| format!("{error:#}").replace(shown, "FILE"))
    }

    /// What is sent by a file with this text; the error without the file's path.
    fn sent_by(text: &str) -> Result<Vec<String>, String> {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("starts.csv");
        fs::write(&path, text).unwrap();
        let mut sent = Vec::new();
        let take = |target: &str| {
            sent.push(target.to_owned());
            if target.is_empty() { Err("nothing is sent".to_owned()) } else { Ok(()) }
        };
        let has_targets = targets(&path, take)
            .map_err(|error| format!("{error:#}").replace(path.to_str().unwrap(), "FILE"))?;
        assert_eq!(has_targets, !sent.is_empty());
        Ok(sent)
    }

    #[test]
    fn a_line_may_say_what_is_sent() {
        for (text, sent) in [
            ("offset,target\n0,/a\n\n1.5,GET /b?c,d\r\n", &["/a", "GET /b?c,d"][..]),
            ("\u{feff}intended_start_seconds,target\n0 , \"a,\"\"b\"\"\"\n", &["a,\"b\""]),
            ("intended_start_seconds\n0\n", &[]),
            ("0\n1\n", &[]),
        ] {
            assert_eq!(sent_by(text).unwrap(), sent, "{text}");
            let times = read_text(text).unwrap().len();
            assert!(sent.is_empty() || times == sent.len(), "{text}");
        }
        for (text, told) in [
            ("offset,target\n0,a\n1,", "FILE line 3 column 3: nothing is sent"),
            ("offset,target\n0.5,\"a", "FILE line 2 column 5: this quote never closes"),
            ("offset,target\n0.5,\"a\"b\"", "FILE line 2 column 5: write \"\" for a quote"),
        ] {
            assert!(sent_by(text).unwrap_err().starts_with(told), "{text}");
            assert!(read_text(text).is_ok());
        }
    }

    #[test]
    fn times_are_read_exactly() {
        for (text, nanos) in [
            ("0.000000001\n", &[1][..]),
            ("intended_start_seconds\n0\n0\n1.5\r\n\n2.", &[0, 0, 1_500_000_000, 2_000_000_000]),
            ("9007199254.740993001", &[9_007_199_254_740_993_001]),
            ("9223372036.854775806", &[9_223_372_036_854_775_806]),
            ("\u{feff}intended_start_seconds\n1\n", &[1_000_000_000]),
            ("\u{feff}1\n", &[1_000_000_000]),
        ] {
            let times = nanos.iter().copied().map(Duration::from_nanos).collect();
            assert_eq!(read_text(text), Ok(times), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_has_its_line_and_column() {
        for (text, told) in [
            ("", "FILE line 1 column 1: it has no times"),
            ("intended_start_seconds\n", "FILE line 2 column 1: it has no times"),
            (" x", "FILE line 1 column 2: `x` is no time"),
            ("\u{feff}x", "FILE line 1 column 1: `x` is no time"),
            (
                "offset,target\n  1,a\n  0,a",
                "FILE line 3 column 3: it is earlier than the one before",
            ),
            ("offset,target\n y ,a", "FILE line 2 column 2: `y` is no time"),
            (
                "1\nintended_start_seconds",
                "FILE line 2 column 1: `intended_start_seconds` is no time",
            ),
            ("0\n\n1,5", "FILE line 3 column 1: `1,5` is no time"),
            ("-1", "FILE line 1 column 1: `-1` is no time"),
            (".5", "FILE line 1 column 1: `.5` is no time"),
            ("1e3", "FILE line 1 column 1: `1e3` is no time"),
            ("0.0000000001", "FILE line 1 column 1: `0.0000000001` is no time"),
            ("0\n9223372036.854775807", "FILE line 2 column 1: it is too long after the start"),
            ("0\n\u{feff}1", "FILE line 2 column 1: `\u{feff}1` is no time"),
            ("0\n9é\n", "FILE line 2 column 1: `9é` is no time"),
            ("99999999999999999999", "FILE line 1 column 1: it is too long after the start"),
            ("offset,target\n1", "FILE line 2 column 2: it has no comma, and no target after it"),
            ("offset,target\nx,a", "FILE line 2 column 1: `x` is no time"),
            ("offset,target\n1,a\n0,a", "FILE line 3 column 1: it is earlier than the one before"),
            ("0,a", "FILE line 1 column 1: `0,a` is no time"),
            ("1\n2\n1.999999999", "FILE line 3 column 1: it is earlier than the one before"),
        ] {
            let error = read_text(text).unwrap_err();
            assert!(error.starts_with(told), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_folder_is_refused() {
        let folder = TempDir::new().unwrap();
        let error = read(folder.path()).err().unwrap().to_string();
        assert!(error.ends_with("must be a file"), "{error}");
        let error = read(&folder.path().join("none")).err().unwrap().to_string();
        assert!(error.starts_with("cannot read "), "{error}");
    }
}
