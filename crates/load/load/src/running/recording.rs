//! Recording: what threads write down while they run, and how it is collected from all of them.

#[cfg(test)]
mod causes;
pub(crate) mod collector;
mod in_flight;
pub(crate) mod recorder;
mod schedule_shift;
pub(crate) mod steps;
