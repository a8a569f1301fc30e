//! Checks that any sequence of keys during a run gives a command, no command, or an invalid rate.

#![no_main]

use libfuzzer_sys::fuzz_target;
use nanopace_load::instruments::press_keys;

fuzz_target!(|typed: &str| press_keys(typed));
