//! Presses any keys while a load runs: they are a command, an invalid rate, or ignored.

#![no_main]

use libfuzzer_sys::fuzz_target;
use nanopace_load::instruments::press_keys;

fuzz_target!(|typed: &str| press_keys(typed));
