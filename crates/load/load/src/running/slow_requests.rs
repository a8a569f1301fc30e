//! Writes the file of `--slowest`, and reads such a file for `--again`.

use super::args::RunArgs;
use super::workers::any_backend::AnyBackend;
use crate::console::{ResultFile, input};
use crate::load::repeats::Repeats;
use crate::results::operation::Operation;
use crate::results::slot_record::SlotRecord;
use anyhow::{Context, ensure};
use nanopace::Nanos;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// `requests` is the number of requests of the run.
#[derive(Deserialize, Serialize)]
struct Head {
    requests: u64,
    seed: u64,
}

#[derive(Serialize)]
struct SlowRequest {
    slot: u64,
    /// The intended start, counted from the start of the schedule.
    intended_start_ns: u64,
    wait_ns: u64,
    service_ns: u64,
    response_ns: u64,
    status: Option<u16>,
    error: Option<String>,
    label: Option<&'static str>,
    #[serde(flatten)]
    request: Option<Value>,
}

pub(super) fn repeats(
    args: &RunArgs,
    target: &dyn AnyBackend,
) -> anyhow::Result<Option<Arc<Repeats>>> {
    let Some(path) = &args.again else { return Ok(None) };
    let read = read(path, args.schedule.seed, target);
    let read = read.with_context(|| format!("--again {}", path.display()))?;
    Ok(Some(Arc::new(read)))
}

fn read(path: &Path, seed: u64, target: &dyn AnyBackend) -> anyhow::Result<Repeats> {
    target.request(0).map_err(anyhow::Error::msg)?;
    let text = String::from_utf8(input::read(path)?).context("the file is not UTF-8")?;
    let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let head = lines.next().and_then(|(_, line)| serde_json::from_str::<Head>(line).ok());
    let head =
        head.context("line 1 is not an object with requests and seed, as --slowest writes it")?;
    ensure!(head.seed == seed, "the earlier run had a different seed: write --seed {}", head.seed);
    let slots = lines.map(|(at, line)| slot(line, target).with_context(|| format!("line {at}")));
    let mut slots: Vec<u64> = slots.collect::<anyhow::Result<_>>()?;
    // The slowest requests come first. A request counts as slow if it is above the p95, so at most 5 % of the requests
    // are repeated, but at least one.
    slots.truncate(usize::try_from(head.requests / 20).unwrap_or(usize::MAX).max(1));
    ensure!(!slots.is_empty(), "the file has no requests");
    Ok(Repeats::new(slots, head.requests, seed))
}

/// Returns the slot that a line contains. Returns an error if the target would send a different request for this slot.
/// A line without a path is not compared.
fn slot(line: &str, target: &dyn AnyBackend) -> anyhow::Result<u64> {
    let line: Value = serde_json::from_str(line).unwrap_or_default();
    let slot = line["slot"].as_u64().context("this is not a JSON object with a slot")?;
    if let (Some(_), Ok(Some(now))) = (line.get("path"), target.request(slot)) {
        let is_same = ["method", "path", "row", "body"].iter().all(|name| line[name] == now[name]);
        ensure!(
            is_same,
            "slot {slot} would send a different request, {now}: use the earlier run's options and files"
        );
    }
    Ok(slot)
}

pub(super) fn record(args: &RunArgs, repeats: Option<&Arc<Repeats>>) -> Option<SlotRecord> {
    let most = args.slowest.as_ref().map_or(0, |_| args.slowest_count as usize);
    (most > 0 || repeats.is_some()).then(|| SlotRecord::new(most, repeats.cloned()))
}

pub(super) fn write(
    file: &ResultFile,
    slots: &SlotRecord,
    (seed, start): (u64, Nanos),
    target: &dyn AnyBackend,
) -> io::Result<()> {
    file.write(|to| {
        write_line(to, &Head { requests: slots.requests, seed })?;
        slots.slowest().try_for_each(|(slot, actual, operation)| {
            let request = target.request(slot).ok().flatten();
            let line = SlowRequest::new(slot, [start, actual], operation);
            write_line(to, &SlowRequest { request, ..line })
        })
    })
}

fn write_line(to: &mut dyn Write, line: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *to, line)?;
    to.write_all(b"\n")
}

impl SlowRequest {
    fn new(slot: u64, [start, actual]: [Nanos; 2], operation: &Operation) -> SlowRequest {
        let &Operation { intended_start, answer, .. } = operation;
        SlowRequest {
            slot,
            intended_start_ns: nanos(intended_start - start),
            wait_ns: nanos(actual - intended_start),
            service_ns: nanos(operation.service_time()),
            response_ns: nanos(operation.response_time()),
            status: answer.details.status,
            error: answer.outcome.err().map(|kind| kind.to_string()),
            label: answer.details.label,
            request: None,
        }
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
