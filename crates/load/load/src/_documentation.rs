//! Documentation pages beyond the API reference.
//!
//! * [Your own load generator](own): how to write one, from the first file to the HTML report, and the rules for calls.

// The page's own links work only in the repository. Rustdoc uses the first definition of a link, so these definitions
// come before the page and replace its own.
/// [`BlockingTarget`]: crate::BlockingTarget
/// [`Done::bytes`]: crate::Done::bytes
/// [`Done::items`]: crate::Done::items
/// [`Done::label`]: crate::Done::label
/// [`Done::status`]: crate::Done::status
/// [`Failure::broken`]: crate::Failure::broken
/// [`Failure::new`]: crate::Failure::new
/// [`Failure::with`]: crate::Failure::with
/// [`Load`]: crate::Load
/// [`Load::run`]: crate::Load::run
/// [`LoadArgs`]: crate::LoadArgs
/// [`Report::labels`]: crate::Report::labels
/// [`Report`]: crate::Report
/// [`SearchArgs`]: crate::SearchArgs
/// [`Slot::number`]: crate::Slot::number
///
#[doc = include_str!("../docs/own.md")]
pub mod own {}
