//! Describes one part of a merged load.

use super::verdict::Verdict;
use crate::results::started_at::clock;
use serde::Serialize;
use std::fmt::{self, Display, Formatter};

#[derive(Clone, Debug, Serialize)]
pub(crate) struct MergedPart {
    pub(crate) file: String,
    pub(crate) shard: String,
    pub(crate) started: u64,
    pub(crate) verdict: Verdict,
    pub(crate) clock_error_seconds: Option<f64>,
}

impl Display for MergedPart {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let MergedPart { file, shard, started, verdict, .. } = self;
        let (verdict, clock) = (verdict.name(), clock(self.clock_error_seconds));
        write!(f, "{shard} {file}: {started} started, {verdict}, {clock}")
    }
}
