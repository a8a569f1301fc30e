//! Any keys that are pressed while a load runs ask for something, or for nothing, or are no rate.

#![no_main]

use libfuzzer_sys::fuzz_target;
use nanopace_cli::fuzzing;

fuzz_target!(|typed: &str| fuzzing::press_keys(typed));
