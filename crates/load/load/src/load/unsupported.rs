//! Lists the options that a kind of run does not support.

use std::collections::BTreeSet;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunKind {
    ClosedLoop,
    PerConnection,
    Node,
    SeveralLoads,
    /// A file of `--load`. It cannot contain the options of the whole run.
    LoadFile,
    TwoSides,
}

use RunKind::{ClosedLoop, LoadFile, Node, PerConnection, SeveralLoads, TwoSides};

/// The options that these kinds of runs reject. `invitation` lists further options that a node of a fleet rejects.
pub(crate) const UNSUPPORTED: &[(&str, &[RunKind])] = &[
    ("again", &[Node, SeveralLoads, TwoSides]),
    ("arrivals", &[ClosedLoop, PerConnection]),
    ("baseline", &[Node, SeveralLoads, TwoSides]),
    ("control", &[LoadFile]),
    ("control-token-file", &[LoadFile]),
    ("csv", &[TwoSides]),
    ("fail-below", &[LoadFile]),
    ("fail-fast", &[Node, SeveralLoads, TwoSides]),
    ("fail-if", &[LoadFile]),
    ("fleet", &[SeveralLoads, TwoSides]),
    ("har", &[ClosedLoop, PerConnection]),
    ("hdr", &[TwoSides]),
    ("html", &[LoadFile]),
    ("json", &[LoadFile]),
    ("junit", &[LoadFile]),
    ("load", &[Node, LoadFile]),
    ("longest", &[SeveralLoads]),
    ("max-backlog", &[ClosedLoop, PerConnection]),
    ("no-tui", &[LoadFile]),
    ("otlp", &[LoadFile]),
    ("otlp-interval", &[LoadFile]),
    ("per-connection", &[Node, TwoSides]),
    ("pin", &[LoadFile]),
    ("quiet", &[LoadFile]),
    ("rate", &[PerConnection]),
    ("realtime", &[LoadFile]),
    ("run", &[ClosedLoop, PerConnection, SeveralLoads, TwoSides]),
    ("shape", &[PerConnection]),
    ("shard", &[ClosedLoop, PerConnection, Node, TwoSides]),
    ("skip-later-than", &[ClosedLoop, PerConnection]),
    ("slowest", &[SeveralLoads, TwoSides]),
    ("start-at", &[Node, SeveralLoads, TwoSides]),
    ("strictness", &[ClosedLoop, PerConnection]),
    ("summary", &[LoadFile]),
    ("threads", &[LoadFile]),
    ("until-confident", &[Node, SeveralLoads, TwoSides]),
    ("verbose", &[LoadFile]),
    ("versus", &[Node, SeveralLoads]),
];

impl RunKind {
    pub(crate) fn supports(self, option: &str) -> bool {
        !UNSUPPORTED.iter().any(|(name, kinds)| *name == option && kinds.contains(&self))
    }

    pub(crate) fn unsupported(self, given: &BTreeSet<String>) -> Option<&str> {
        given.iter().map(String::as_str).find(|option| !self.supports(option))
    }
}
