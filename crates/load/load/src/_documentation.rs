//! Pages beyond the reference.
//!
//! * [Your own load generator](own): from nothing to a page with figures, and what a call may do.

// The page's own links are for readers of the file; these come first, for rustdoc.
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
