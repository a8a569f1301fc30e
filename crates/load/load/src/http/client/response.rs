//! What is read from a response after its head: retained headers and body, values in them, and the items of a stream.

pub(crate) mod extraction;
pub(crate) mod item_times;
pub(crate) mod observer;
pub(crate) mod retained;
pub(crate) mod stream_items;
