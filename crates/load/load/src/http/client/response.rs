//! Reads responses: retains headers and bodies, extracts values from them, and times the items of streams.

pub(crate) mod extraction;
pub(crate) mod item_times;
pub(crate) mod observer;
pub(crate) mod retained;
pub(crate) mod stream_items;
