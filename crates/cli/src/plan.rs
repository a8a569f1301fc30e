//! `nanopace plan`: a load, drawn before anything runs.

pub(crate) mod args;
mod axis;
mod chart;
mod list;
mod outline;
mod plot;
mod summary;

use crate::interrupt::Interrupt;
use anyhow::{bail, ensure};
use args::PlanArgs;
use chart::Chart;
use nanopace::{Shape, Shard};
use nanopace_console::create_file;
use outline::Outline;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use summary::Summary;

/// How much is shown of a load that never ends.
const STRETCH: Duration = Duration::from_secs(60);

/// A plan that is ready: the load can be made, and the files are open.
pub(crate) struct Plan {
    args: PlanArgs,
    shape: Shape,
    shard: Shard,
    outline: Outline,
    svg: Option<Box<dyn Write>>,
    csv: Option<Box<dyn Write>>,
    interrupt: Arc<Interrupt>,
}
