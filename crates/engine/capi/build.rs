//! Sets the `soname` of the shared library on Linux, so that programs find the library by name and not by the path with
//! which they were linked. `cargo cinstall` sets the name itself, so with its feature `capi` this script does nothing.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is_linux = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux");
    if is_linux && env::var_os("CARGO_FEATURE_CAPI").is_none() {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libnanopace_capi.so");
    }
}
