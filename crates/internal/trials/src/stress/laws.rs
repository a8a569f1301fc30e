//! Checks the laws, which are the guarantees of the documentation.

mod calls;
mod law;
mod slots;
mod totals;

use crate::stress::evidence::Evidence;

pub(crate) fn check(evidence: &Evidence) -> Result<(), String> {
    calls::check(evidence)?;
    slots::check(evidence)?;
    totals::check(evidence)
}
