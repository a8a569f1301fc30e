//! Converts requests into keys and arguments of the scripts.

use super::CHUNK;
use crate::message::{Ask, Counted, FleetRun, LoadText, Portion, Request, State, Take, Version};
use crate::track_ownership::NodeId;
use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct Text {
    pub(super) keys: Vec<String>,
    pub(super) arguments: Vec<Vec<u8>>,
}

impl Text {
    #[expect(clippy::needless_pass_by_value, reason = "callers pass numbers and strings")]
    fn arg(&mut self, argument: impl ToString) -> &mut Text {
        self.arguments.push(argument.to_string().into_bytes());
        self
    }

    fn chunk(&mut self, (run, id): Names<'_>, frame: u64) -> usize {
        let key = owners_key((run, id), frame / CHUNK);
        let known = self.keys.iter().position(|other| *other == key);
        known.unwrap_or_else(|| {
            self.keys.push(key);
            self.keys.len() - 1
        }) - 3
    }

    fn portions(&mut self, names: Names<'_>, portions: &[Portion]) {
        for Portion { frame, tracks } in portions {
            let chunk = self.chunk(names, *frame);
            let tracks: Vec<String> = tracks.iter().map(|track| track.to_string()).collect();
            self.arg(chunk).arg(frame).arg(tracks.join(","));
        }
    }

    fn ask(&mut self, names: Names<'_>, ask: &Ask) {
        let chunk = self.chunk(names, ask.frame);
        self.arg(chunk).arg(ask.frame);
        let (take, a, b, most) = match ask.take {
            Take::Own { rank, nodes, most } => ("own", rank, nodes, most),
            Take::Share { nodes, most } => ("share", nodes, 0, most),
            Take::Missed => ("missed", 1, 0, u32::MAX),
            Take::Nothing => ("nothing", 0, 0, 0),
        };
        self.arg(take).arg(a).arg(b).arg(most);
    }

    fn load(&mut self, load: Option<&LoadText>) {
        let Some(load) = load else {
            self.arg(0).arg("").arg("").arg("");
            return;
        };
        let version = Version::first(load.shape.clone());
        self.arg(1).arg(version_text(&version)).arg(&load.arrivals).arg(load.seed);
    }

    fn run(&mut self, run: &FleetRun) {
        let state = match run.state {
            State::Waiting => 0,
            State::Running => 1,
            State::Ended => 2,
        };
        // More nodes may have joined than this node knows of. Their numbers must not be used again.
        let joined = run.joined + 64;
        let from = run.versions.last().map_or(0, |version| version.from);
        let fields = [
            ("id", run.id.clone()),
            ("state", state.to_string()),
            ("awaited", run.awaited.to_string()),
            ("frame_us", (run.frames.frame_ns / 1_000).to_string()),
            ("tracks", run.frames.tracks.to_string()),
            ("lead", run.lead.to_string()),
            ("origin_us", run.origin_us.to_string()),
            ("floor", run.floor.to_string()),
            ("epoch", run.epoch.to_string()),
            ("version", run.versions.len().max(1).to_string()),
            ("from", from.to_string()),
            ("change", run.change().to_string()),
            ("arrivals", run.arrivals.clone()),
            ("seed", run.seed.to_string()),
            ("ends", or_nothing(run.ends)),
            ("roster", list(&run.roster.nodes)),
            // No node knows a roster with this version, so the store sends its roster to every node.
            ("roster_version", (run.roster.version + 1_000).to_string()),
            ("joined", joined.to_string()),
            ("heard", list(&run.heard)),
            ("left", run.left.to_string()),
            ("counted", run.counted.until.to_string()),
            ("counts", counts(&run.counted)),
        ];
        for (field, value) in fields {
            self.arg(field).arg(value);
        }
        self.arg("");
        for version in &run.versions {
            self.arg(version_text(version));
        }
    }
}

fn list<'a>(nodes: impl IntoIterator<Item = &'a NodeId>) -> String {
    nodes.into_iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// Formats the counts of owners. The number 0 stands for slots without an owner.
fn counts(counted: &Counted) -> String {
    let slots = counted.slots.iter();
    slots
        .map(|(node, slots)| format!("{}:{slots}", node.unwrap_or(0)))
        .collect::<Vec<_>>()
        .join(" ")
}

fn or_nothing(number: Option<u64>) -> String {
    number.map_or_else(String::new, |number| number.to_string())
}

/// The name of a run, and its ID. The ID distinguishes the keys of this run's owners from those of a later run with the
/// same name.
type Names<'a> = (&'a str, &'a str);

fn owners_key((run, id): Names<'_>, chunk: u64) -> String {
    key(run, &format!("owners:{id}:{chunk}"))
}

/// Returns the name of a key. All keys of a run have the same hash tag, so that a cluster stores them on one server.
pub(super) fn key(run: &str, part: &str) -> String {
    format!("nanopace:{{{run}}}:{part}")
}

fn version_text(Version { change, from, shape, rest }: &Version) -> String {
    let [shape, rest] = [shape, rest].map(|shape| shape.as_deref().unwrap_or_default());
    format!("{change}\n{from}\n{shape}\n{rest}")
}

pub(super) fn write(run: &str, keep: Duration, request: &Request) -> Text {
    let mut text = Text::default();
    text.keys.extend(["run", "nodes", "versions", "results"].map(|part| key(run, part)));
    text.arg(keep.as_millis());
    match request {
        Request::Join(join) => {
            text.arg("join").arg(&join.name).arg(&join.id).arg(join.awaited);
            text.arg(join.frames.frame_ns / 1_000).arg(join.frames.tracks);
            text.load(join.load.as_ref());
            text.arg(or_nothing(join.ends)).arg(join.lead);
        }
        Request::Look { node } => {
            text.arg("look");
            if let Some((id, node)) = node {
                text.arg(id).arg(node);
            }
        }
        Request::Nodes => {
            text.arg("nodes");
        }
        Request::Results => {
            text.arg("results");
        }
        Request::Owners { id, chunks } => {
            text.arg("owners").arg(id);
            text.keys.extend(chunks.clone().map(|chunk| owners_key((run, id), chunk)));
        }
        Request::Claim(claim) => {
            text.arg("claim").arg(&claim.id).arg(claim.node).arg(claim.sequence);
            text.arg(claim.versions).arg(claim.change).arg(claim.roster).arg(&claim.progress);
            text.arg(claim.answered).arg(claim.epoch).arg(claim.lead);
            text.arg(claim.until_us).arg(claim.counted);
            claim.asks.iter().for_each(|ask| text.ask((run, &claim.id), ask));
        }
        Request::Mark { id, node, sequence, answered, epoch, portions } => {
            text.arg("mark").arg(id).arg(node).arg(sequence).arg(answered).arg(epoch);
            text.portions((run, id), portions);
        }
        Request::Count { id, from, firsts } => {
            text.arg("count").arg(id).arg(from);
            text.keys.push(owners_key((run, id), from / CHUNK));
            for first in firsts {
                text.arg(first);
            }
        }
        Request::Leave { id, node, from, portions } => {
            text.arg("leave").arg(id).arg(node).arg(from).portions((run, id), portions);
        }
        Request::Restore { node, run } => {
            text.arg("restore").arg(&run.id).arg(node).arg(run.epoch).run(run);
        }
        Request::Change { id, known, behind, version, ends } => {
            text.arg("change").arg(id).arg(known).arg(version.from).arg(version_text(version));
            text.arg(or_nothing(*ends)).arg(version.change).arg(behind);
        }
        Request::Tell { id, node, results } => {
            text.arg("tell").arg(id).arg(node).arguments.push(results.clone());
        }
        Request::Finish { id, node, progress, results } => {
            text.arg("finish").arg(id).arg(node).arg(progress).arguments.push(results.clone());
        }
    }
    text
}
