//! Generates the types of `proto/numbers.proto`, without the program `protoc`.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=proto");
    let files = protox::compile(["proto/numbers.proto"], ["proto"])?;
    Ok(tonic_prost_build::configure().compile_fds(files)?)
}
