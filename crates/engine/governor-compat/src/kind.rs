//! The type parameters that say which kind of limiter it is. They hold nothing.

/// A limiter without keys: one schedule for all callers.
#[derive(Debug, PartialEq, Eq)]
pub enum NotKeyed {
    /// The only key there is.
    NonKey,
}

/// A limiter whose state is in memory. The state itself is inside the limiter's pacer.
#[derive(Debug, Default)]
pub struct InMemoryState {
    _private: (),
}
