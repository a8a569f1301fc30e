//! Implements the `fleet` commands: the status, changes and the report of a run.

pub(crate) mod args;
mod live_status;
pub(crate) mod report;

use super::member::address::RunAddress;
use crate::console::Output;
use crate::shown::fleet::status::StatusObject;
use args::{FleetCommand, RunAt};
use nanopace_fleet::{Control, FleetError};
use report::Places;
use std::io;

/// Whether the output of a command was written, and whether the requirements hold.
pub(crate) type Shown = (io::Result<()>, bool);

pub(crate) fn perform(command: &FleetCommand) -> anyhow::Result<Shown> {
    match command {
        FleetCommand::Status { run, watch: true, .. } => {
            let at = run.address()?;
            let control = Control::open(at.url(), &at.name).map_err(|error| at.told(error))?;
            Ok((live_status::show(&control, &at)?, true))
        }
        FleetCommand::Status { run, json, .. } => {
            let output = Output::create(json.json.as_deref())?;
            let status = ask(run, |control, at| live_status::status(control, &at.name))?;
            let written = output.write_json(|| StatusObject::new(&status));
            Ok((written.and(output.write_text(&status)), true))
        }
        FleetCommand::Report(args) => {
            let places = Places::new(args)?;
            let mut whole = ask(&args.run, |control, at| report::whole(control, &at.name))?;
            whole.require(&args.fail_if);
            Ok((places.write(&whole), whole.is_well()))
        }
        FleetCommand::Rate { run, rate } => change(run, |control| control.set_rate(*rate)),
        FleetCommand::Shape { run, shape } => {
            change(run, |control| control.set_shape(&shape.shape))
        }
        FleetCommand::Pause(run) => change(run, Control::pause),
        FleetCommand::Resume(run) => change(run, Control::resume),
        FleetCommand::Stop(run) => change(run, Control::stop),
    }
}

fn ask<T>(
    run: &RunAt,
    question: impl FnOnce(&Control, &RunAddress) -> Result<T, FleetError>,
) -> anyhow::Result<T> {
    let at = run.address()?;
    let control = Control::open(at.url(), &at.name);
    control.and_then(|control| question(&control, &at)).map_err(|error| at.told(error))
}

fn change(
    run: &RunAt,
    change: impl FnOnce(&Control) -> Result<(), FleetError>,
) -> anyhow::Result<Shown> {
    ask(run, |control, _| change(control))?;
    Ok((Ok(()), true))
}
