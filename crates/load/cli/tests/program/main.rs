//! The program as its users run it. One test program, so that tests that wait do so side by side; those
//! with a terminal have their own, because terminals are inherited by whatever else is started.

mod addresses;
mod asked;
mod beside;
mod calibrate;
mod client;
mod compare;
mod config;
mod control;
mod data;
mod endless;
mod farewell;
mod faults;
mod files;
mod forms;
mod frames;
mod habits;
mod identity;
mod idle;
mod intervals;
#[cfg(unix)]
mod jobs;
mod loads;
mod open_files;
mod otlp;
mod plan;
mod proxied;
mod reference;
mod refusal;
mod replayed;
mod resets;
mod run;
mod scenarios;
mod search;
mod shortages;
mod stack;
#[cfg(target_os = "linux")]
mod stamped;
mod steered;
#[cfg(unix)]
mod stopped;
mod streams;
mod sums;
