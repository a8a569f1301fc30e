//! The limiters that this crate has: without keys.

pub use crate::kind::NotKeyed;
