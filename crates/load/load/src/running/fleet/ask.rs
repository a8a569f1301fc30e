//! What the store of a fleet is asked.

use crate::judged::whole::Whole;
use crate::shown::fleet::status::Status;
use nanopace_fleet::{Control, FleetError};

/// How a run is now.
pub(crate) fn status(control: &Control, name: &str) -> Result<Status, FleetError> {
    let run = control.status()?;
    let account = run.has_started.then(|| control.account()).transpose()?;
    Ok(Status::new(name, run, account))
}

/// All that is known of a run.
pub(crate) fn whole(control: &Control, name: &str) -> Result<Whole, FleetError> {
    let (status, account) = (control.status()?, control.account()?);
    Ok(Whole::new(name, status, account, &control.results()?))
}
