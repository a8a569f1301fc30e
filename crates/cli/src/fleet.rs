//! Fleets: many machines that issue one load. What the program does besides being a node.

pub(crate) mod address;
pub(crate) mod args;
mod demo;
pub(crate) mod results;
mod status;
pub(crate) mod whole;

use address::RunAddress;
use args::{FleetCommand, Json, RunAt};
use nanopace_console::Output;
use nanopace_fleet::{Control, FleetError};
use serde::Serialize;
use status::{Status, StatusObject};
use std::fmt::Display;
use std::io;
use whole::{Whole, WholeObject};

/// What a command has come to: what it shows has been written or not, and whether all is well.
pub(crate) type Shown = (io::Result<()>, bool);

/// Does what a command asks for.
pub(crate) fn perform(command: &FleetCommand) -> anyhow::Result<Shown> {
    match command {
        FleetCommand::Status { run, json } => {
            let status = ask(run, |control, at| Status::read(control, &at.name))?;
            Ok((show(json, &status, || StatusObject::new(&status))?, true))
        }
        FleetCommand::Report { run, json } => {
            let whole = ask(run, |control, at| Whole::read(control, &at.name))?;
            Ok((show(json, &whole, || WholeObject::new(&whole))?, whole.account.is_exact()))
        }
        FleetCommand::Rate { run, rate } => change(run, |control| control.set_rate(*rate)),
        FleetCommand::Shape { run, shape } => {
            change(run, |control| control.set_shape(&shape.shape))
        }
        FleetCommand::Pause(run) => change(run, Control::pause),
        FleetCommand::Resume(run) => change(run, Control::resume),
        FleetCommand::Stop(run) => change(run, Control::stop),
        FleetCommand::Demo(args) => demo::perform(args),
        FleetCommand::DemoNode { run, rate } => {
            demo::node::work(&run.address()?, *rate)?;
            Ok((Ok(()), true))
        }
    }
}

/// Asks about a run.
fn ask<T>(
    run: &RunAt,
    question: impl FnOnce(&Control, &RunAddress) -> Result<T, FleetError>,
) -> anyhow::Result<T> {
    let at = run.address()?;
    let control = Control::open(at.url(), &at.name);
    control.and_then(|control| question(&control, &at)).map_err(|error| at.told(error))
}

/// Changes a run. There is nothing to show.
fn change(
    run: &RunAt,
    change: impl FnOnce(&Control) -> Result<(), FleetError>,
) -> anyhow::Result<Shown> {
    ask(run, |control, _| change(control))?;
    Ok((Ok(()), true))
}

fn show<T: Serialize>(
    json: &Json,
    text: &impl Display,
    object: impl FnOnce() -> T,
) -> anyhow::Result<io::Result<()>> {
    let output = Output::create(json.json.as_deref())?;
    Ok(output.write_json(object).and(output.write_text(text)))
}
