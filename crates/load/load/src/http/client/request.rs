//! Builds requests from targets, templates, forms and bodies, and stores all requests of a run.

pub(crate) mod body;
pub(crate) mod form;
pub(crate) mod request_parts;
pub(crate) mod requests;
pub(crate) mod rotation;
pub(crate) mod targets;
pub(crate) mod templates;
