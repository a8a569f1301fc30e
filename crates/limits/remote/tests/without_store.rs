//! When the tests run without `--include-ignored`, prints how to run the tests that need a store.

use std::env;

fn main() {
    let runs_all = |word: String| ["--include-ignored", "--ignored", "--list"].contains(&&*word);
    if !env::args().any(runs_all) {
        println!(
            "\nMost tests of nanopace-remote need Redis and Valkey and were not run. Run them with: \
             eval \"$(cargo xtask services)\" && cargo test -p nanopace-remote -- --include-ignored"
        );
    }
}
