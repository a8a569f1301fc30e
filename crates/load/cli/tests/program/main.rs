//! Tests of the program that can run in parallel.

mod addresses;
mod calibrate;
mod client;
#[path = "../shared/command.rs"]
mod command;
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
#[path = "../shared/intervals.rs"]
mod intervals;
#[cfg(unix)]
mod jobs;
#[cfg(target_os = "linux")]
mod kernel_timestamps;
mod loads;
mod merge;
mod open_files;
mod otlp;
mod plan;
mod proxied;
mod reference;
mod replayed;
mod resets;
mod run;
mod running;
mod scenarios;
mod search;
mod server;
mod several;
mod shortages;
mod slow;
mod stalls;
mod steered;
#[cfg(unix)]
mod stopped;
mod streams;
#[path = "../shared/sums.rs"]
mod sums;
mod tls;
mod versus;
#[cfg(unix)]
mod witness;
