//! Parses the responses of the scripts.

use crate::frames::Frames;
use crate::message::{
    Answer, Claimed, Counted, FleetRun, NodeResults, NodeText, Others, Portion, Reply, Roster,
    State, Version,
};
use crate::track_ownership::{NodeId, Owners};
use redis::{FromRedisValue, Value};
use std::collections::{BTreeMap, HashMap};

type Fields = HashMap<String, String>;

pub(super) fn read(value: Value) -> Option<Reply> {
    let mut values = Vec::<Value>::from_redis_value(value).ok()?.into_iter();
    let word: String = next(&mut values)?;
    let now_us = next(&mut values)?;
    let answer = match word.as_str() {
        "gone" => Answer::Gone,
        "other" => Answer::Other,
        "foreign" => Answer::Foreign(next(&mut values)?),
        "done" => Answer::Done,
        "ending" => Answer::Ending,
        "late" => Answer::TooLate,
        "finished" => Answer::Finished(match next::<String>(&mut values)?.as_str() {
            "done" => Others::Done,
            "awaited" => Others::Awaited,
            _ => Others::GoOn,
        }),
        "differs" => Answer::Differs(run(&mut values)?.1.into()),
        "run" => Answer::Run(run(&mut values)?.1.into()),
        "joined" => {
            let (node, run) = run(&mut values)?;
            Answer::Joined(node?, run.into())
        }
        "nodes" => Answer::Nodes(nodes(&mut values)?),
        "results" => Answer::Results(results(&mut values)?),
        "owners" => Answer::Owners(next(&mut values)?, owners(values)?),
        "counted" => {
            let until = next(&mut values)?;
            Answer::Counted(counted(until, &next::<String>(&mut values)?)?)
        }
        "claimed" => Answer::Claimed(claimed(&mut values)?),
        "cells" => Answer::Portions(next(&mut values)?, portions(values)?),
        _ => return None,
    };
    Some(Reply { now_us, answer })
}

fn next<T: FromRedisValue>(values: &mut impl Iterator<Item = Value>) -> Option<T> {
    T::from_redis_value(values.next()?).ok()
}

fn state(number: u64) -> State {
    match number {
        0 => State::Waiting,
        1 => State::Running,
        _ => State::Ended,
    }
}

fn run(values: &mut impl Iterator<Item = Value>) -> Option<(Option<NodeId>, FleetRun)> {
    let node = next::<NodeId>(values);
    let fields: Fields = next(values)?;
    let versions: Vec<String> = next(values)?;
    let number = |name: &str| fields.get(name)?.parse::<u64>().ok();
    let (joined, roster) =
        (number("joined")?, roster(number("roster_version")?, fields.get("roster")?)?);
    let heard = match fields.get("heard") {
        Some(heard) => list(heard)?,
        None => (1..=joined.try_into().ok()?).collect(),
    };
    let run = FleetRun {
        id: fields.get("id")?.clone(),
        state: state(number("state")?),
        awaited: number("awaited")?.try_into().ok()?,
        frames: Frames {
            frame_ns: number("frame_us")?.checked_mul(1_000).filter(|&frame_ns| frame_ns > 0)?,
            tracks: number("tracks")?.try_into().ok().filter(|&tracks| tracks > 0)?,
        },
        lead: number("lead")?,
        origin_us: fields.get("origin_us")?.parse().ok()?,
        floor: number("floor")?,
        epoch: number("epoch")?,
        arrivals: fields.get("arrivals")?.clone(),
        seed: number("seed")?,
        ends: number("ends"),
        versions: versions.iter().map(|text| version(text)).collect::<Option<_>>()?,
        joined,
        heard: heard.into_iter().chain(roster.nodes.iter().copied()).collect(),
        roster,
        left: number("left").unwrap_or(0),
        counted: counted(number("counted")?, fields.get("counts")?)?,
    };
    Some((node, run))
}

fn version(text: &str) -> Option<Version> {
    let mut lines = text.splitn(4, '\n');
    let (change, from) = (lines.next()?.parse().ok()?, lines.next()?.parse().ok()?);
    let mut shape = || lines.next().filter(|shape| !shape.is_empty()).map(str::to_owned);
    Some(Version { change, from, shape: shape(), rest: shape() })
}

fn counted(until: u64, counts: &str) -> Option<Counted> {
    let count = |count: &str| {
        let (node, slots) = count.split_once(':')?;
        Some((Some(node.parse().ok()?).filter(|&node| node > 0), slots.parse().ok()?))
    };
    let slots = counts.split_ascii_whitespace().map(count).collect::<Option<_>>()?;
    Some(Counted { until, slots })
}

fn roster(version: u64, text: &str) -> Option<Roster> {
    Some(Roster { version, nodes: list(text)? })
}

fn list(text: &str) -> Option<Vec<NodeId>> {
    text.split(',').filter(|node| !node.is_empty()).map(|node| node.parse().ok()).collect()
}

fn claimed(values: &mut impl Iterator<Item = Value>) -> Option<Claimed> {
    let (running, floor, epoch) = (next(values)?, next(values)?, next(values)?);
    let (lead, known_versions) = (next(values)?, next(values)?);
    let versions: Vec<String> = next(values)?;
    let (mut roster, mut counted) = (news(values, roster)?, news(values, counted)?);
    Some(Claimed {
        state: state(running),
        floor,
        epoch,
        lead,
        known: known_versions,
        versions: versions.iter().map(|text| version(text)).collect::<Option<_>>()?,
        roster: roster.pop(),
        counted: counted.pop(),
        owners: owners(values)?,
    })
}

fn news<T>(
    values: &mut impl Iterator<Item = Value>,
    read: impl Fn(u64, &str) -> Option<T>,
) -> Option<Vec<T>> {
    let news: Vec<(u64, String)> = next(values)?;
    news.into_iter().map(|(number, text)| read(number, &text)).collect()
}

fn owners(values: impl Iterator<Item = Value>) -> Option<Vec<Owners>> {
    values.map(|value| Vec::<u8>::from_redis_value(value).ok().map(Owners)).collect()
}

/// Parses the reports of nodes. The name of each field consists of a letter and the node's number.
fn nodes(values: &mut impl Iterator<Item = Value>) -> Option<Vec<NodeText>> {
    let fields: Fields = next(values)?;
    let results: Vec<String> = next(values)?;
    let mut nodes = BTreeMap::<NodeId, NodeText>::new();
    for (field, value) in fields {
        let node = field.get(1..)?.parse().ok()?;
        let text = nodes.entry(node).or_default();
        text.node = node;
        text.has_results = results.iter().any(|of| of == &field[1..]);
        match field.as_bytes()[0] {
            b'n' => text.name = value,
            b's' => text.seen_us = value.parse().ok()?,
            b'p' => text.progress = value,
            b'k' => text.members = value.parse().ok(),
            b'f' => text.is_finished = true,
            _ => {}
        }
    }
    Some(nodes.into_values().collect())
}

/// Parses the results of nodes. The name of each field is the node's number. The letter `t` before the number marks
/// interim results of a node that has not finished.
fn results(values: &mut impl Iterator<Item = Value>) -> Option<Vec<NodeResults>> {
    let fields: BTreeMap<String, Vec<u8>> = next(values)?;
    let read = |(field, bytes): (String, Vec<u8>)| {
        let so_far = field.strip_prefix('t');
        let number = so_far.unwrap_or(&field).parse().ok()?;
        Some(NodeResults { number, bytes, is_final: so_far.is_none() })
    };
    let mut all: Vec<_> = fields.into_iter().map(read).collect::<Option<_>>()?;
    all.sort_unstable_by_key(|results| results.number);
    Some(all)
}

fn portions(values: impl Iterator<Item = Value>) -> Option<Vec<Portion>> {
    let numbers: Option<Vec<u64>> = values.map(|value| u64::from_redis_value(value).ok()).collect();
    let mut frames = BTreeMap::<u64, Vec<u32>>::new();
    for pair in numbers?.chunks_exact(2) {
        frames.entry(pair[0]).or_default().push(pair[1].try_into().ok()?);
    }
    let portion =
        |(frame, tracks): (u64, Vec<u32>)| Portion { frame, tracks: tracks.into_iter().collect() };
    Some(frames.into_iter().map(portion).collect())
}
