//! Reads responses: retains and searches them, and records when the items of streams arrive.

pub(crate) mod extraction;
pub(crate) mod item_times;
pub(crate) mod observer;
pub(crate) mod retained;
pub(crate) mod stream_items;
