//! Any keys that are pressed while a load runs ask for something, or for nothing, or are no rate.

#![no_main]

use libfuzzer_sys::fuzz_target;
use nanopace_load::instruments::press_keys;

fuzz_target!(|typed: &str| press_keys(typed));
