//! Reads shapes from text in the grammar of shapes, or from a file that lists times with their rates.

use super::recording::seconds;
use anyhow::{Context, ensure};
use nanopace::{Between, Level, Shape};
use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::fs;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

/// The prefixes of file names, each with how the rate changes between two lines.
const FILES: [(&str, Between); 2] = [("table:", Between::Linear), ("steps:", Between::Step)];

#[derive(Clone, Debug)]
pub(crate) struct WrittenShape {
    text: String,
    pub(crate) shape: Shape,
}

impl WrittenShape {
    pub(crate) fn file(&self) -> Option<&Path> {
        file(&self.text).map(|(file, _)| Path::new(file))
    }
}

impl FromStr for WrittenShape {
    type Err = Box<dyn Error + Send + Sync>;

    fn from_str(text: &str) -> Result<WrittenShape, Self::Err> {
        let shape = match file(text) {
            Some((file, between)) => read(file, between).map_err(|error| format!("{error:#}"))?,
            None => text.parse()?,
        };
        Ok(WrittenShape { text: text.to_owned(), shape })
    }
}

impl Display for WrittenShape {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn file(text: &str) -> Option<(&str, Between)> {
    FILES.into_iter().find_map(|(prefix, between)| Some((text.strip_prefix(prefix)?, between)))
}

fn read(file: &str, between: Between) -> anyhow::Result<Shape> {
    ensure!(!file.is_empty(), "a table needs a file: write table:FILE or steps:FILE");
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
    let lines = (1..).zip(text.trim_start_matches('\u{feff}').lines());
    let mut lines = lines.filter(|(_, line)| !is_comment(line)).peekable();
    let heading = lines.next_if(|(_, line)| is_heading(line));
    let first = lines.peek().map(|(number, _)| *number);
    let points: anyhow::Result<Vec<_>> = lines
        .map(|(number, line)| point(line).with_context(|| format!("{file}: line {number}")))
        .collect();
    let points = points?;
    Shape::table(&points, between).with_context(|| match (heading, first) {
        (_, Some(number)) if !points[0].0.is_zero() => format!("{file}: line {number}"),
        (Some((number, line)), _) => format!("{file}: line {number}, `{line}`, is a heading"),
        _ => file.to_owned(),
    })
}

fn is_heading(line: &str) -> bool {
    !line.contains(|char: char| char.is_ascii_digit())
}

fn is_comment(line: &str) -> bool {
    line.trim().is_empty() || line.starts_with('#')
}

fn point(line: &str) -> anyhow::Result<(Duration, Level)> {
    let (time, rate) = line
        .split_once(',')
        .with_context(|| format!("`{line}` is not a time and a rate: write them as 30s,100/s"))?;
    let time = time.trim();
    let moment = seconds(time).or_else(|| humantime::parse_duration(time).ok());
    let moment = moment
        .with_context(|| format!("`{time}` is not a time: write 90 (seconds), 90s or 1.5min"))?;
    let rate = rate.trim();
    Ok((moment, rate.parse().with_context(|| format!("`{rate}`"))?))
}
