//! Runs with random faults.
