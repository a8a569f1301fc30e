//! Returns an error with the text of a law that does not hold.

pub(super) fn law(holds: bool, text: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(text()) }
}
