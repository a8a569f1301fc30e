//! Turns a condition into a law.

/// An error with the text, unless `holds`.
pub(super) fn law(holds: bool, text: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(text()) }
}
