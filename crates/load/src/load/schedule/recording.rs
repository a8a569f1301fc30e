//! A recording: a file with one time a line, in seconds from the start.
//!
//! First all of the file is checked, so that nothing starts if it is not sound; then it is read along
//! as the load goes on. So memory does not grow with its length.

use anyhow::{Context, bail, ensure};
use nanopace::{Arrivals, Nanos};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::time::Duration;

/// A line that may come first, and names what follows.
pub const HEADER: &str = "intended_start_seconds";

/// The recording in a file, which has been checked.
pub fn read(path: &Path) -> anyhow::Result<Arrivals> {
    let name = path.display();
    let metadata = fs::metadata(path).with_context(|| format!("cannot read {name}"))?;
    ensure!(metadata.is_file(), "{name}: a recording is read twice, and must be a file");
    check(&mut offsets(path)?).map_err(|error| error.context(name.to_string()))?;
    let path = path.to_owned();
    Ok(Arrivals::replay(move || times(&path)))
}

/// What has changed in the file since it was checked ends the recording, at worst.
fn times(path: &Path) -> impl Iterator<Item = Duration> + Send + use<> {
    offsets(path).into_iter().flatten().map_while(Result::ok)
}

fn check(offsets: &mut Offsets) -> anyhow::Result<()> {
    let mut last = None;
    while let Some(offset) = offsets.next().transpose()? {
        ensure!(
            last <= Some(offset),
            "line {}: it is earlier than the one before: sort the times",
            offsets.line
        );
        ensure!(
            offset < Nanos::MAX - Nanos::ZERO,
            "line {}: it is too long after the start: a load may last 292 years",
            offsets.line
        );
        last = Some(offset);
    }
    ensure!(last.is_some(), "it has no times: write one a line, in seconds such as 0.25");
    Ok(())
}

fn offsets(path: &Path) -> anyhow::Result<Offsets> {
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Offsets { lines: BufReader::new(file).lines(), line: 0 })
}

/// Reads times line by line.
struct Offsets {
    lines: Lines<BufReader<File>>,
    /// The number of the line that was read last.
    line: u64,
}

impl Iterator for Offsets {
    type Item = anyhow::Result<Duration>;

    fn next(&mut self) -> Option<anyhow::Result<Duration>> {
        loop {
            let line = self.lines.next()?;
            self.line += 1;
            let offset = line.map_err(Into::into).and_then(|line| offset(&line, self.line == 1));
            if let Some(offset) = offset.transpose() {
                return Some(offset.with_context(|| format!("line {}", self.line)));
            }
        }
    }
}

/// The time in a line; none in one that is empty, or that is the header.
fn offset(line: &str, is_first: bool) -> anyhow::Result<Option<Duration>> {
    // Some programs mark a text as Unicode in front.
    let line = if is_first { line.trim_start_matches('\u{feff}') } else { line };
    match line.trim() {
        "" => Ok(None),
        HEADER if is_first => Ok(None),
        text => seconds(text).map(Some),
    }
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
    fn what_is_wrong_has_its_line() {
        for (text, told) in [
            ("", "FILE: it has no times"),
            ("intended_start_seconds\n", "FILE: it has no times"),
            ("1\nintended_start_seconds", "FILE: line 2: `intended_start_seconds` is no time"),
            ("0\n\n1,5", "FILE: line 3: `1,5` is no time"),
            ("-1", "FILE: line 1: `-1` is no time"),
            (".5", "FILE: line 1: `.5` is no time"),
            ("1e3", "FILE: line 1: `1e3` is no time"),
            ("0.0000000001", "FILE: line 1: `0.0000000001` is no time"),
            ("0\n9223372036.854775807", "FILE: line 2: it is too long after the start"),
            ("0\n\u{feff}1", "FILE: line 2: `\u{feff}1` is no time"),
            ("99999999999999999999", "FILE: line 1: it is too long after the start"),
            ("1\n2\n1.999999999", "FILE: line 3: it is earlier than the one before"),
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
