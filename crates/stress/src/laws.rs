//! The laws, each with what the documentation says.

mod books;
mod calls;
mod slots;

use crate::round::Evidence;

/// The first law that the evidence breaks.
pub(crate) fn check(evidence: &Evidence) -> Result<(), String> {
    calls::check(evidence)?;
    slots::check(evidence)?;
    books::check(evidence)
}

/// The text where `holds` is false.
fn law(holds: bool, text: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(text()) }
}
