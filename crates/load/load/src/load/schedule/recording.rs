//! Reads recordings: the times of requests, and the requests themselves if the file contains them.
//!
//! The file is read once, before the load. Each start takes 8 bytes of memory, and 4 more if the file contains
//! requests.

mod har;
mod record;
pub(crate) mod recorded;
pub(crate) mod request;
pub(crate) mod rows;
mod time;

use crate::console::{human, input};
use anyhow::{Context, anyhow, ensure};
use har::Sent;
use record::Wrong;
use recorded::Reader;
pub(crate) use recorded::Recorded;
use rows::{Column, NO_HAR, Rows};
use std::fmt::{self, Display, Formatter};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
pub(crate) use time::moment;
pub(super) use time::seconds;
use time::{Format, Unit};

pub(super) const REPLAY: &str = "replay:";
pub(super) const HAR: &str = "har:";

const HAR_DATE: Format = Format::Date { has_zone: true };

/// If the first start of a recording is later than this, the recording needs the option `from=`.
const LATEST_START: Duration = Duration::from_secs(3600);

#[derive(Clone, Debug)]
pub(crate) struct Recording {
    text: String,
    file: PathBuf,
    is_har: bool,
    unit: Option<&'static Unit>,
    /// Whether the user wrote `from=first` (true) or `from=0` (false).
    begins_with_first: Option<bool>,
    hosts: Option<Vec<String>>,
    recorded: OnceLock<Arc<Recorded>>,
}

impl Recording {
    pub(super) fn parse(text: &str) -> Option<Result<Recording, String>> {
        let is_har = text.starts_with(HAR);
        let rest = text.strip_prefix(if is_har { HAR } else { REPLAY })?;
        Some(Recording::new(text, rest, is_har))
    }

    fn new(text: &str, rest: &str, is_har: bool) -> Result<Recording, String> {
        let mut recording = Recording {
            text: text.to_owned(),
            file: PathBuf::new(),
            is_har,
            unit: None,
            begins_with_first: None,
            hosts: None,
            recorded: OnceLock::new(),
        };
        let mut file = rest.trim_end();
        while let Some((before, word)) = file.rsplit_once(' ')
            && recording.take(word)?
        {
            file = before.trim_end();
        }
        if file.is_empty() {
            let kind = if is_har { "har" } else { "replay" };
            return Err(format!("{kind} needs a file: write {kind}:FILE"));
        }
        Ok(Recording { file: file.into(), ..recording })
    }

    fn take(&mut self, word: &str) -> Result<bool, String> {
        let Some((name, value)) = word.split_once('=') else { return Ok(false) };
        let is_second = match name {
            "unit" if !self.is_har => self.unit.replace(Unit::named(value)?).is_some(),
            "from" => self.begins_with_first.replace(begins_with_first(value)?).is_some(),
            "hosts" if self.is_har => self.hosts.replace(hosts(value)?).is_some(),
            _ => return Ok(false),
        };
        if is_second {
            return Err(format!("{name}= occurs twice: leave one of them out"));
        }
        Ok(true)
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    pub(crate) fn read(&self) -> anyhow::Result<&Recorded> {
        if self.recorded.get().is_none() {
            let recorded = if self.is_har { self.read_har()? } else { self.read_rows()? };
            let _ = self.recorded.set(Arc::new(recorded));
        }
        self.recorded.get().map(|recorded| &**recorded).context("it has not been read")
    }

    fn read_har(&self) -> anyhow::Result<Recorded> {
        let bytes = input::read(&self.file).with_context(|| self.unreadable())?;
        let read = har::read(&bytes, self.hosts.as_deref());
        let (requests, left_out) = read.map_err(|told| self.wrong(&told))?;
        let mut reader = Reader::new(self.begins_with_first);
        for Sent { ns, number, request } in requests {
            let place = || format!("entry {number}");
            let added = reader.add((HAR_DATE, ns), Some(request), place);
            added.map_err(|told| self.wrong(&format!("{}: {told}", place())))?;
        }
        let left = left_out.iter().map(|left_out| format!("; {left_out}"));
        let told = format!("has no requests to send{}", left.collect::<String>());
        reader.end(left_out).ok_or_else(|| self.wrong(&told))
    }

    fn read_rows(&self) -> anyhow::Result<Recorded> {
        let input = input::open(&self.file).with_context(|| self.unreadable())?;
        let mut rows = Rows::new(BufReader::with_capacity(1 << 16, input));
        let read = self.of_rows(&mut rows);
        read.map_err(|(at, told)| self.wrong(&format!("{}: {told}", rows.record.place(at))))
    }

    fn of_rows(&self, rows: &mut Rows<impl BufRead>) -> Result<Recorded, Wrong> {
        let mut reader = Reader::new(self.begins_with_first);
        while let Some(mut row) = rows.next()? {
            let [at, url] = [Column::Time, Column::Url].map(|column| row.at(column));
            let text = row
                .take(Column::Time)
                .ok_or_else(|| (at, format!("this row has no time; {NO_HAR}")))?;
            let time = time::read(&text, self.unit).map_err(|told| (at, told))?;
            let request = request::of_row(&mut row).map_err(|told| (url, told))?;
            let place = || rows.record.place(url);
            reader.add(time, request, place).map_err(|told| (at, told))?;
        }
        let none = "the file has no times: write one per line, in seconds, such as 0.25";
        reader.end(None).ok_or_else(|| (0, none.to_owned()))
    }

    fn unreadable(&self) -> String {
        format!("cannot read {}", self.file.display())
    }

    fn wrong(&self, told: &str) -> anyhow::Error {
        anyhow!("{} {told}", self.file.display())
    }

    pub(super) fn title(&self) -> String {
        let recorded = self.recorded.get().map(|recorded| format!(" ({recorded})"));
        format!("{self}{}", recorded.unwrap_or_default())
    }

    pub(super) fn check_first(&self, first: Duration) -> anyhow::Result<()> {
        ensure!(
            first <= LATEST_START || self.begins_with_first.is_some(),
            "{self}: the first request is due {} after the start of the load; after the file name, write from=first to \
             begin with this request, from=0 to wait for it, or unit=ms, us or ns if the times are not in seconds",
            human::long_time(first)
        );
        Ok(())
    }
}

fn begins_with_first(value: &str) -> Result<bool, String> {
    match value {
        "first" => Ok(true),
        "0" => Ok(false),
        _ => Err(format!("from={value}: write from=first or from=0")),
    }
}

fn hosts(value: &str) -> Result<Vec<String>, String> {
    let hosts: Vec<_> = value.split(',').map(str::to_ascii_lowercase).collect();
    if hosts.iter().any(String::is_empty) {
        return Err(format!(
            "hosts={value}: write hosts=all, or hosts as in hosts=api.test,cdn.test"
        ));
    }
    Ok(hosts)
}

impl Display for Recording {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests;
