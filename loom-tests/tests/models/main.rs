//! Contains all models in one program, which is linked once and runs several models in parallel. Models start in
//! alphabetical order, so `acquire_path`, which takes the longest, comes first.

#![cfg(loom)]

mod acquire_path;
mod changes;
mod claims;
mod ends;
mod lanes;
mod ledger;
mod limits_keyed;
mod limits_pool;
mod limits_queue;
mod limits_words;
mod pauses;
mod policies;
mod shapes;
mod tasks;
mod uneven;
mod watches;
