//! Holds the content of a recording: the starts, and the requests if the file contains them.

use super::request::RecordedRequest;
use super::time::Format;
use crate::console::human;
use crate::console::panics::locked;
use nanopace::{Arrivals, Nanos};
use std::collections::HashMap;
use std::fmt::{self, Display, Formatter};
use std::mem;
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

#[derive(Debug)]
pub(crate) struct Recorded {
    /// The starts in nanoseconds from the beginning of the load, ascending.
    pub(super) starts: Arc<[u64]>,
    format: Format,
    first: u128,
    requests: Mutex<Requests>,
}

#[derive(Debug, Default)]
pub(crate) struct Requests {
    /// The distinct requests, each with the position of its first occurrence in the file.
    pub(crate) different: Vec<(RecordedRequest, String)>,
    pub(crate) of_slots: Vec<u32>,
    pub(crate) left_out: Option<String>,
}

impl Recorded {
    pub(crate) fn arrivals(&self) -> Arrivals {
        let starts = Arc::clone(&self.starts);
        Arrivals::replay(move || {
            let starts = Arc::clone(&starts);
            (0..starts.len()).map(move |index| Duration::from_nanos(starts[index]))
        })
    }

    pub(crate) fn take_requests(&self) -> Requests {
        mem::take(&mut *locked(&self.requests))
    }
}

impl Display for Recorded {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Recorded { starts, format, .. } = self;
        let (count, plural) = (starts.len(), if starts.len() == 1 { "" } else { "s" });
        let length = Duration::from_nanos(starts.last().copied().unwrap_or_default());
        write!(f, "{count} start{plural} in {}, times {format}", human::long_time(length))?;
        match u64::try_from(self.first) {
            Ok(first) if !format.is_offset() => {
                let first = UNIX_EPOCH + Duration::from_nanos(first);
                write!(f, ", the first at {}", humantime::format_rfc3339_seconds(first))
            }
            _ => Ok(()),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Reader {
    begins_with_first: Option<bool>,
    first: Option<(Format, u128)>,
    starts: Vec<u64>,
    first_place: String,
    known: HashMap<RecordedRequest, u32>,
    places: Vec<String>,
    of_slots: Vec<u32>,
}

impl Reader {
    pub(super) fn new(begins_with_first: Option<bool>) -> Reader {
        Reader { begins_with_first, ..Reader::default() }
    }

    /// Adds the start and the request of a row. If any row has a request, rows without a request get the default
    /// request.
    pub(super) fn add(
        &mut self,
        (format, ns): (Format, u128),
        request: Option<RecordedRequest>,
        place: impl Fn() -> String,
    ) -> Result<(), String> {
        let before = self.starts.len();
        let start = self.start(format, ns)?;
        self.starts.push(start);
        if before == 0 {
            self.first_place = place();
        }
        if request.is_none() && self.of_slots.is_empty() {
            return Ok(());
        }
        for _ in self.of_slots.len()..before {
            let first = self.first_place.clone();
            self.add_request(RecordedRequest::default(), || first)?;
        }
        self.add_request(request.unwrap_or_default(), place)
    }

    fn start(&mut self, format: Format, ns: u128) -> Result<u64, String> {
        let (first_format, first) = *self.first.get_or_insert((format, ns));
        if format != first_format {
            return Err(format!(
                "times are written {format} here, and {first_format} in the first row: write all times in one format; if \
                 all are numbers, write unit=s, ms, us or ns after the file name"
            ));
        }
        let begins_with_first = self.begins_with_first.unwrap_or(!format.is_offset());
        let begin = if begins_with_first { first } else { 0 };
        let last = self.starts.last().copied();
        let start = ns.checked_sub(begin).filter(|start| Some(*start) >= last.map(u128::from));
        let start =
            start.ok_or("this time is earlier than the previous one: sort the rows by time")?;
        let longest = Nanos::MAX - Nanos::ZERO;
        let start = u64::try_from(start).ok();
        let start = start.filter(|start| Duration::from_nanos(*start) < longest);
        Ok(start
            .ok_or("this time is too long after the start of the load, which can last 292 years")?)
    }

    fn add_request(
        &mut self,
        request: RecordedRequest,
        place: impl FnOnce() -> String,
    ) -> Result<(), String> {
        let next = u32::try_from(self.known.len()).map_err(|_| "there are too many requests")?;
        let index = *self.known.entry(request).or_insert(next);
        if index == next {
            self.places.push(place());
        }
        self.of_slots.push(index);
        Ok(())
    }

    pub(super) fn end(self, left_out: Option<String>) -> Option<Recorded> {
        let (format, first) = self.first?;
        let mut different: Vec<_> = self.known.into_iter().collect();
        different.sort_unstable_by_key(|(_, index)| *index);
        let different = different.into_iter().map(|(request, _)| request).zip(self.places);
        let requests =
            Requests { different: different.collect(), of_slots: self.of_slots, left_out };
        let (starts, requests) = (self.starts.into(), Mutex::new(requests));
        Some(Recorded { starts, format, first, requests })
    }
}
