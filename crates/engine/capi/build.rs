//! Sets the name of the shared library, so that programs find it by name and not by the path that they were linked
//! with. `cargo cinstall`, which sets the feature, sets the name itself.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is_linux = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux");
    if is_linux && env::var_os("CARGO_FEATURE_CAPI").is_none() {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libnanopace_capi.so");
    }
}
