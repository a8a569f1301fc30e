//! Reads the rows of a recording: CSV, whose first line may name the columns, or one JSON object per line.

use super::record::{Record, Wrong};
use crate::console::human::count;
use crate::console::json_object::{object, text};
use std::io::BufRead;

/// The first line of a list of starts that `nanopace plan` has written. Such a list can be replayed.
pub(crate) const HEADER: &str = "intended_start_seconds";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Time,
    Url,
    Method,
    Headers,
    Body,
    BodyFile,
    BodyBase64,
}

/// The names of the columns, in lower case. If a row contains several names of a column, the first one listed is used.
const NAMES: [(Column, &[&str]); 7] = [
    (
        Column::Time,
        &["offset", "timestamp", "@timestamp", "time", "ts", "start_time", "arrival_time", HEADER],
    ),
    (Column::Url, &["url", "target", "path"]),
    (Column::Method, &["method"]),
    (Column::Headers, &["headers", "header"]),
    (Column::Body, &["body"]),
    (Column::BodyFile, &["body_file", "body-file"]),
    (Column::BodyBase64, &["body_base64", "body-base64"]),
];

pub(super) const NO_HAR: &str = "for a HAR file, write har:FILE or --har FILE";

/// Returns the column with this name, and the rank of the name among the names of the column.
fn column_of(name: &str) -> Option<(Column, usize)> {
    let name = name.trim().to_ascii_lowercase();
    NAMES
        .into_iter()
        .find_map(|(column, names)| Some((column, names.iter().position(|known| *known == name)?)))
}

fn check_new(
    columns: &[Option<(Column, usize)>],
    column: Option<(Column, usize)>,
) -> Result<(), String> {
    let known = column.filter(|_| columns.contains(&column));
    known.map_or(Ok(()), |(column, rank)| {
        let name = NAMES[column as usize].1[rank];
        Err(format!("{name} occurs twice: leave one of them out"))
    })
}

#[derive(Debug, Default)]
pub(super) struct Row {
    values: [Option<Field>; NAMES.len()],
}

#[derive(Debug)]
struct Field {
    text: String,
    rank: usize,
    at: usize,
}

impl Row {
    fn put(&mut self, (column, rank): (Column, usize), text: String, at: usize) {
        let place = &mut self.values[column as usize];
        if place.as_ref().is_none_or(|other| rank < other.rank) {
            *place = Some(Field { text, rank, at });
        }
    }

    pub(super) fn take(&mut self, column: Column) -> Option<String> {
        self.values[column as usize].take().map(|value| value.text)
    }

    pub(super) fn at(&self, column: Column) -> usize {
        self.values[column as usize].as_ref().map_or(0, |value| value.at)
    }
}

pub(super) struct Rows<R> {
    pub(super) record: Record<R>,
    layout: Option<Layout>,
}

enum Layout {
    Json,
    Times,
    Columns(Vec<Option<(Column, usize)>>),
}

impl<R: BufRead> Rows<R> {
    pub(super) fn new(input: R) -> Rows<R> {
        Rows { record: Record::new(input), layout: None }
    }

    pub(super) fn next(&mut self) -> Result<Option<Row>, Wrong> {
        if !self.record.next()? {
            return Ok(None);
        }
        if self.layout.is_none() {
            let layout = Layout::new(&mut self.record)?;
            let has_names = matches!(layout, Layout::Columns(_));
            self.layout = Some(layout);
            if has_names {
                return self.next();
            }
        }
        match &self.layout {
            Some(Layout::Json) => json(&self.record.text).map(Some),
            Some(Layout::Columns(columns)) => csv(&mut self.record, columns).map(Some),
            _ => {
                let (mut row, value) = (Row::default(), self.record.value(0, true)?);
                row.put((Column::Time, 0), value.text, value.at);
                Ok(Some(row))
            }
        }
    }
}

impl Layout {
    fn new(first: &mut Record<impl BufRead>) -> Result<Layout, Wrong> {
        match first.text.trim() {
            "{" => return Err((0, format!("a JSON object must be on one line; {NO_HAR}"))),
            line if line.starts_with('{') => return Ok(Layout::Json),
            _ => {}
        }
        let (mut columns, mut at) = (Vec::new(), Some(0));
        while let Some(begin) = at {
            let name = first.value(begin, false)?;
            let column = column_of(&name.text);
            check_new(&columns, column).map_err(|told| (name.at, told))?;
            columns.push(column);
            at = name.next;
        }
        let has_times = columns.iter().flatten().any(|(column, _)| *column == Column::Time);
        Ok(if has_times { Layout::Columns(columns) } else { Layout::Times })
    }
}

fn csv(
    record: &mut Record<impl BufRead>,
    columns: &[Option<(Column, usize)>],
) -> Result<Row, Wrong> {
    let (mut row, mut at, names) = (Row::default(), Some(0), columns.len());
    let told = |values: &str| format!("{values} the first line has {}", count(names, "name"));
    for (index, column) in columns.iter().enumerate() {
        let end = record.text.trim_end().len();
        let begin = at.ok_or_else(|| (end, told(&(count(index, "value") + ", but"))))?;
        let value = record.value(begin, index + 1 == names)?;
        if let Some(column) = *column {
            row.put(column, value.text, value.at);
        }
        at = value.next;
    }
    match at {
        None => Ok(row),
        Some(at) => Err((at, told("too many values:"))),
    }
}

fn json(line: &str) -> Result<Row, Wrong> {
    let (mut row, begin) = (Row::default(), line.len() - line.trim_start().len());
    let mut columns = Vec::new();
    for (name, value) in object(line)? {
        let column = column_of(&name).filter(|_| value.get() != "null");
        check_new(&columns, column).map_err(|told| (begin, told))?;
        columns.push(column);
        if let Some(column) = column {
            row.put(column, text(&name, &value).map_err(|told| (begin, told))?, begin);
        }
    }
    Ok(row)
}
