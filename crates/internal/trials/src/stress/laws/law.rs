//! Turns a condition into a law.

/// Returns an error with the text unless the law `holds`.
pub(super) fn law(holds: bool, text: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(text()) }
}
