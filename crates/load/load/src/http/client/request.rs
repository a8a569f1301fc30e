//! Builds requests from targets, templates, forms and bodies, and stores all requests of a run.

pub(crate) mod body;
pub(crate) mod buffer;
pub(crate) mod form;
pub(crate) mod parts;
pub(crate) mod rotation;
pub(crate) mod targets;
pub(crate) mod templates;
